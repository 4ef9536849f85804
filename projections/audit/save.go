package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/projections"
)

// A checkpoint is all that an audit knows at a position, in a file: a line of
// JSON that says what it is, and the state as gob. It is disposable. One that
// is damaged, of another build, of another store or made with other options is
// ignored, and the audit begins at the first event.
const (
	// DefaultCheckpointEvery is after how many events a checkpoint is written:
	// reading so many takes some seconds, writing what is known of them less
	// than one.
	DefaultCheckpointEvery = 1_000_000
	checkpointFormat       = "hostnode-audit " + capacity.StateSchema + " " + slotqueue.StateSchema
	// checkpointSchema is the version of the state. Every change of what an audit
	// remembers raises it, and a test holds it to that (testdata/shape.golden); a change of
	// the rules makes a checkpoint useless by itself.
	checkpointSchema = 6
	// maxCheckpointBytes is the largest file that is read: beyond it, to begin
	// again is the lesser evil.
	maxCheckpointBytes = 4 << 30
	maxHeaderBytes     = 4 << 10
)

// header is the first line of a checkpoint.
type header struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
	// Rules is a digest of the rules that were kept up to here, of the life of a sale
	// among them: so the numbers of phases in the state are those of this build.
	Rules string `json:"rules"`
	// Position and EventID are of the last event that was read, After is the
	// position of the one before: a store in which the next event behind After is
	// another one is another store.
	Position events.Position `json:"position"`
	EventID  string          `json:"eventId"`
	After    events.Position `json:"after"`
	// From, MaxFindings, Chain and Scope are the options of the audit.
	From        events.Position `json:"from"`
	MaxFindings int             `json:"maxFindings"`
	Chain       bool            `json:"chain"`
	Scope       string          `json:"scope,omitempty"`
	Bytes       int             `json:"bytes"`
	Checksum    string          `json:"checksum"` // sha256 of the rest of the line and the state
}

func (h header) sum(state []byte) string {
	h.Checksum = ""
	line, _ := json.Marshal(h) // Numbers and text always encode.
	sum := sha256.New()
	sum.Write(line)
	sum.Write(state)
	return hex.EncodeToString(sum.Sum(nil))
}

// header is that of a checkpoint of this audit.
func (a *auditor) header() header {
	h := header{
		Format: checkpointFormat, Schema: checkpointSchema, Rules: rulesDigest(),
		Position: a.last.position, EventID: a.last.id.String(), After: a.before.position,
		From: a.options.From, MaxFindings: a.options.MaxFindings, Chain: a.options.Chain != nil,
	}
	if a.views != nil {
		h.Scope = fmt.Sprintf("%+v", a.views.Scope())
	}
	return h
}

func rulesDigest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%+v %v %v", ruleTable, table, phases)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// save writes the checkpoint. After a crash at any moment there is the old file
// or the new one.
func (a *auditor) save() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the checkpoint of the audit: %w", err)
		}
	}()
	var state bytes.Buffer
	known, err := a.remember()
	if err != nil {
		return err
	}
	if err := gob.NewEncoder(&state).Encode(known); err != nil {
		return err
	}
	h := a.header()
	h.Bytes = state.Len()
	h.Checksum = h.sum(state.Bytes())
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return durable.Replace(a.options.Checkpoint, append(line, '\n'), state.Bytes())
}

// resume is the audit that a checkpoint holds; nil and the reason when there is
// none that can be used. No file is no reason.
func resume(ctx context.Context, store events.Store, o Options) (a *auditor, ignored string) {
	h, state, err := readCheckpoint(o.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err == nil {
		a, err = decodeCheckpoint(h, state, o)
	}
	if err == nil {
		err = fits(ctx, store, h)
	}
	if err != nil {
		return nil, err.Error()
	}
	a.report.ContinuedFrom = a.last.position
	return a, ""
}

// errCheckpoint: the file is damaged, of another build, or made otherwise.
var errCheckpoint = errors.New("the checkpoint is of no use")

func readCheckpoint(path string) (h header, state []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, nil, fmt.Errorf("read the checkpoint of the audit: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxHeaderBytes)
	line, err := r.ReadSlice('\n')
	if err != nil || json.Unmarshal(line, &h) != nil || h.Format != checkpointFormat {
		return h, nil, fmt.Errorf("%w: %s is no checkpoint of an audit", errCheckpoint, path)
	}
	if h.Bytes < 0 || h.Bytes > maxCheckpointBytes {
		return h, nil, fmt.Errorf("%w: it says that it has %d bytes", errCheckpoint, h.Bytes)
	}
	state, err = io.ReadAll(io.LimitReader(r, int64(h.Bytes)+1))
	if err != nil {
		return h, nil, fmt.Errorf("read the checkpoint of the audit: %w", err)
	}
	return h, state, nil
}

// decodeCheckpoint makes the audit that a checkpoint holds.
func decodeCheckpoint(h header, state []byte, o Options) (*auditor, error) {
	a := newAuditor(o)
	want := a.header()
	switch {
	case h.Format != want.Format || h.Schema != want.Schema || h.Rules != want.Rules:
		return nil, fmt.Errorf("%w: another build of hostnode made it", errCheckpoint)
	case len(state) != h.Bytes || h.sum(state) != h.Checksum:
		return nil, fmt.Errorf("%w: its checksum does not match", errCheckpoint)
	case h.From != want.From || h.MaxFindings != want.MaxFindings || h.Chain != want.Chain || h.Scope != want.Scope:
		return nil, fmt.Errorf("%w: it was made with other options", errCheckpoint)
	}
	var known memory
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&known); err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	id, err := events.ParseEventID(h.EventID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	a.last, a.before = seen{h.Position, id}, seen{position: h.After}
	if err := a.recall(known); err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	return a, nil
}

// fits says whether a checkpoint is of this store.
func fits(ctx context.Context, store events.Store, h header) error {
	if h.Position == 0 {
		return nil
	}
	for r, err := range store.ReadAll(ctx, h.After, 1) {
		if err != nil {
			return fmt.Errorf("read the event of the checkpoint: %w", err)
		}
		if r.Position == h.Position && r.ID.String() == h.EventID {
			return nil
		}
	}
	return fmt.Errorf("%w: it belongs to another store", errCheckpoint)
}

// keepViews folds an event into the views, and prints them when they are where
// the given ones are. With a checkpoint they go on: the next audit compares
// later ones.
func (a *auditor) keepViews(r events.Recorded, fold func(*projections.Views)) {
	if a.views == nil {
		return
	}
	if r.Position > a.options.Views.AsOf {
		a.printViews()
		if a.options.Checkpoint == "" {
			return
		}
	}
	fold(a.views)
}

// printViews prints the rebuilt views, once.
func (a *auditor) printViews() {
	if a.rebuilt == nil && a.views.AsOf() <= a.options.Views.AsOf {
		printed, err := a.views.Snapshot()
		a.rebuilt, a.unprinted = &printed, err
	}
}
