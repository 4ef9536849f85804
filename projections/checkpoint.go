package projections

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

const (
	// checkpointFile is the name of the checkpoint in the caller's directory. It was JSON
	// as a whole once; the name stays, so that an older one is replaced.
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

// HasCheckpoint reports whether views were saved in a directory; whether they can be used is
// seen when they are loaded.
func HasCheckpoint(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, checkpointFile))
	return err == nil
}

// checkpoint is the header of saved views.
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
}

// encodeCheckpoint makes the bytes of the file. Views that are loaded again are
// as of the anchor: what the system wrote behind it is read once more, because
// nothing proves that the store still has it.
func encodeCheckpoint(v *Views) ([]byte, error) {
	file, err := saved.Encode(checkpoint{
		Format: checkpointFormat, Schema: checkpointSchema,
		Stream: v.anchor.stream, Revision: v.anchor.revision, Position: v.anchor.position,
		EventID: v.anchor.id.String(), RecordedAt: v.anchor.recorded.UTC(),
	}, v.save())
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	return file, nil
}

// fit refuses a checkpoint of another form.
func (c checkpoint) fit() error {
	if c.Format != checkpointFormat {
		return fmt.Errorf("its format is not %q", checkpointFormat)
	}
	if c.Schema != checkpointSchema {
		return fmt.Errorf("its schema is %d, this build knows %d", c.Schema, checkpointSchema)
	}
	return nil
}

// decodeCheckpoint reads the bytes of a file. All its errors are saved.ErrUnusable.
func decodeCheckpoint(file []byte) (*Views, error) {
	var state savedViews
	c, err := saved.Decode(file, checkpoint.fit, &state)
	if err != nil {
		return nil, err
	}
	id, err := events.ParseEventID(c.EventID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", saved.ErrUnusable, err)
	}
	v, err := state.restore()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", saved.ErrUnusable, err)
	}
	v.anchor = anchor{c.Stream, c.Revision, c.Position, id, c.RecordedAt}
	v.asOf, v.recorded = c.Position, c.RecordedAt
	return v, nil
}

// loadCheckpoint reads the file of a directory. No file is fs.ErrNotExist.
func loadCheckpoint(dir string) (*Views, error) {
	file, err := saved.Read(filepath.Join(dir, checkpointFile), maxCheckpointBytes)
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

// Save is all that the views hold, for a file of the caller's: a fold of another package
// that is kept as the views are. LoadViews is the reverse.
func (v *Views) Save() ([]byte, error) { return encodeCheckpoint(v) }

// LoadViews are saved views. asOf is the position up to which the caller knows
// that only the system wrote behind what the views saw last.
func LoadViews(file []byte, asOf events.Position) (*Views, error) {
	v, err := decodeCheckpoint(file)
	if err != nil {
		return nil, fmt.Errorf("load views: %w", err)
	}
	v.asOf = max(v.asOf, asOf)
	return v, nil
}
