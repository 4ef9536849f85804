package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/internal/durable"
)

const (
	// checkpointFile is the name of the checkpoint in the caller's directory.
	checkpointFile = "views.json"
	// checkpointFormat says what the file is, and in which form the cores' states are.
	checkpointFormat = "hostnode-views " + capacity.StateSchema + " " + slotqueue.StateSchema
	// checkpointSchema is the version of the payload. A file of any other is
	// ignored and the views are built again, so there is no upgrade path and
	// needs none. Every change of a view or of a core's state raises it; for what can
	// be seen in the types a test demands that (testdata/shape.golden).
	checkpointSchema = 9
	// maxCheckpointBytes is the largest file that is read: beyond it, building
	// the views again is the lesser evil.
	maxCheckpointBytes = 2 << 30
)

// errCheckpoint: the file is damaged, of another version, or not ours. It is
// ignored and the views are built again.
var errCheckpoint = errors.New("checkpoint is not usable")

// checkpoint is a file of saved views.
type checkpoint struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
	// The anchor of the views: a store in which another event is there is
	// another store.
	Stream     string          `json:"stream"`
	Revision   uint64          `json:"revision"`
	Position   events.Position `json:"position"`
	EventID    string          `json:"eventId"`
	RecordedAt time.Time       `json:"recordedAt"`
	Checksum   string          `json:"checksum"` // sha256 of all else
	Views      json.RawMessage `json:"views"`
}

func (c checkpoint) sum() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%q\n%d\n%d\n%s\n%s\n", c.Format, c.Schema,
		c.Stream, c.Revision, c.Position, c.EventID, c.RecordedAt.Format(time.RFC3339Nano))
	h.Write(c.Views)
	return hex.EncodeToString(h.Sum(nil))
}

// encodeCheckpoint makes the bytes of the file. Views that are loaded again are
// as of the anchor: what the system wrote behind it is read once more, because
// nothing proves that the store still has it.
func encodeCheckpoint(v *Views) ([]byte, error) {
	payload, err := v.encode()
	if err != nil {
		return nil, err
	}
	c := checkpoint{
		Format: checkpointFormat, Schema: checkpointSchema,
		Stream: v.anchor.stream, Revision: v.anchor.revision, Position: v.anchor.position,
		EventID: v.anchor.id.String(), RecordedAt: v.anchor.recorded.UTC(), Views: payload,
	}
	c.Checksum = c.sum()
	file, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	return file, nil
}

// decodeCheckpoint reads the bytes of a file. All its errors are errCheckpoint.
func decodeCheckpoint(file []byte) (*Views, error) {
	var c checkpoint
	if err := json.Unmarshal(file, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	id, err := events.ParseEventID(c.EventID)
	switch {
	case c.Format != checkpointFormat:
		return nil, fmt.Errorf("%w: its format is not %q", errCheckpoint, checkpointFormat)
	case c.Schema != checkpointSchema:
		return nil, fmt.Errorf("%w: its schema is %d, this build knows %d",
			errCheckpoint, c.Schema, checkpointSchema)
	case !strings.EqualFold(c.Checksum, c.sum()):
		return nil, fmt.Errorf("%w: its checksum does not match", errCheckpoint)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	v, err := decodeViews(c.Views)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	v.anchor = anchor{c.Stream, c.Revision, c.Position, id, c.RecordedAt}
	v.asOf, v.recorded = c.Position, c.RecordedAt
	return v, nil
}

// loadCheckpoint reads the file of a directory. No file is fs.ErrNotExist.
func loadCheckpoint(dir string) (*Views, error) {
	path := filepath.Join(dir, checkpointFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	if info.Size() > maxCheckpointBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", errCheckpoint, info.Size(), maxCheckpointBytes)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	return decodeCheckpoint(file)
}

// saveCheckpoint replaces the file of a directory.
func saveCheckpoint(dir string, file []byte) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = durable.Replace(filepath.Join(dir, checkpointFile), file)
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}
