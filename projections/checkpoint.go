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
	// checkpointFile is the name of the checkpoint in the caller's directory. The file
	// was once plain JSON; it keeps its name, so that an older one is replaced.
	checkpointFile = "views.json"
	// checkpointFormat names the kind of file, and the form of the cores' states in it.
	checkpointFormat = "hostnode-views " + capacity.StateSchema + " " + slotqueue.StateSchema
	// checkpointSchema is the version of the payload. A file of another version is
	// ignored and the views are built again, so no upgrade is needed. Every change of
	// a view or of a core's state needs a new version; where the types show the
	// change, a test demands it (testdata/shape.golden).
	checkpointSchema = 19
	// maxCheckpointBytes is the largest file that is read: with a larger one it
	// is better to build the views again.
	maxCheckpointBytes = 2 << 30
)

// checkpoint is the header of saved views.
type checkpoint struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
	// The anchor of the views: a store with a different event at this place is
	// a different store.
	Stream     string          `json:"stream"`
	Revision   uint64          `json:"revision"`
	Position   events.Position `json:"position"`
	EventID    string          `json:"eventId"`
	RecordedAt time.Time       `json:"recordedAt"`
}

// Save returns everything that the views hold, also for a file of a caller that has its own
// folds to save with them. LoadViews is the reverse. Loaded views are as of the
// anchor: later events of the system are read again, because nothing proves
// that the store still has them.
func (v *Views) Save() ([]byte, error) {
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

// LoadViews restores saved views. The caller knows that up to asOf only the
// system wrote after the last event that the views saw.
func LoadViews(file []byte, asOf events.Position) (*Views, error) {
	v, err := decodeCheckpoint(file)
	if err != nil {
		return nil, fmt.Errorf("load views: %w", err)
	}
	v.asOf = max(v.asOf, asOf)
	return v, nil
}
