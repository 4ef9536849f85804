package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// A checkpoint is the state of an audit at a position, in a file: a line of
// JSON that describes it, and the state as gob. It may be deleted. If it is
// damaged, or of another build, another store or other options, it is ignored,
// and the audit begins at the first event.
const (
	// DefaultCheckpointEvery is after how many events a checkpoint is written:
	// reading so many takes some seconds, writing the state less than one.
	DefaultCheckpointEvery = 1_000_000
	checkpointFormat       = "hostnode-audit " + capacity.StateSchema + " " + slotqueue.StateSchema
	// checkpointSchema is the version of the state. Every change of the state's form needs
	// a new version, and a test demands it (testdata/shape.golden). A change of the rules
	// makes a checkpoint useless in any case.
	checkpointSchema = 17
	// maxCheckpointBytes is the largest file that is read: with a larger one it
	// is better to begin again.
	maxCheckpointBytes = 4 << 30
)

// header is the first line of a checkpoint.
type header struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
	// Rules is a digest of the rules that were applied, including the table of
	// phases: so the numbers of phases in the state are those of this build.
	Rules string `json:"rules"`
	// Position and EventID are those of the last event that was read, After is
	// the position of the one before. A store in which a different event follows
	// After is a different store.
	Position events.Position `json:"position"`
	EventID  string          `json:"eventId"`
	After    events.Position `json:"after"`
	// From, MaxFindings, Chain and Scope are the options of the audit.
	From        events.Position `json:"from"`
	MaxFindings int             `json:"maxFindings"`
	Chain       bool            `json:"chain"`
	Scope       string          `json:"scope,omitempty"`
}

// header describes a checkpoint of this audit.
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
	fmt.Fprintf(sum, "%+v %v %v %v %v", ruleTable, table, phases, sectorTable, stepsOfState)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// save writes the checkpoint. After a crash there is either the old file or the
// new one.
func (a *auditor) save() error {
	var file []byte
	known, err := a.remember()
	if err == nil {
		file, err = saved.Encode(a.header(), known)
	}
	if err == nil {
		err = durable.Replace(a.options.Checkpoint, file)
	}
	if err != nil {
		return fmt.Errorf("save the checkpoint of the audit: %w", err)
	}
	return nil
}

// resume returns the audit of a checkpoint; or nil, with the reason if there is
// one that cannot be used.
func resume(ctx context.Context, store events.Store, o Options) (a *auditor, ignored string) {
	file, err := saved.Read(o.Checkpoint, maxCheckpointBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err == nil {
		a, err = decodeCheckpoint(file, o)
	}
	if err == nil {
		err = fits(ctx, store, a)
	}
	if err != nil {
		return nil, err.Error()
	}
	a.report.ContinuedFrom = a.last.position
	return a, ""
}

// decodeCheckpoint restores the audit of a checkpoint.
func decodeCheckpoint(file []byte, o Options) (*auditor, error) {
	a := newAuditor(o)
	var known memory
	h, err := saved.Decode(file, a.header().fit, &known)
	if err != nil {
		return nil, err
	}
	id, err := events.ParseEventID(h.EventID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", saved.ErrUnusable, err)
	}
	a.last, a.before = seen{h.Position, id}, seen{position: h.After}
	if err := a.recall(known); err != nil {
		return nil, fmt.Errorf("%w: %w", saved.ErrUnusable, err)
	}
	return a, nil
}

// fit refuses a checkpoint from which this audit cannot continue.
func (h header) fit(other header) error {
	if other.Format != h.Format || other.Schema != h.Schema || other.Rules != h.Rules {
		return errors.New("another build of hostnode made it")
	}
	if other.From != h.From || other.MaxFindings != h.MaxFindings || other.Chain != h.Chain || other.Scope != h.Scope {
		return errors.New("it was made with other options")
	}
	return nil
}

// fits reports whether a checkpoint is of this store.
func fits(ctx context.Context, store events.Store, a *auditor) error {
	if a.last.position == 0 {
		return nil
	}
	for r, err := range store.ReadAll(ctx, a.before.position, 1) {
		if err != nil {
			return fmt.Errorf("read the event of the checkpoint: %w", err)
		}
		if r.Position == a.last.position && r.ID == a.last.id {
			return nil
		}
	}
	return fmt.Errorf("%w: it belongs to another store", saved.ErrUnusable)
}

// keepViews folds an event into the views, and prints them at the position of
// the given ones. With a checkpoint they are folded further, for the next audit
// to compare. An event that could not be decoded has no message.
func (a *auditor) keepViews(r events.Recorded, m proto.Message) {
	if a.views == nil {
		return
	}
	if r.Position > a.options.Views.AsOf {
		a.printViews()
		if a.options.Checkpoint == "" {
			return
		}
	}
	a.views.ApplyDecoded(r, m)
}

// printViews prints the rebuilt views, once.
func (a *auditor) printViews() {
	if a.rebuilt == nil && a.views.AsOf() <= a.options.Views.AsOf {
		printed, err := a.views.Snapshot()
		a.rebuilt, a.unprinted = &printed, err
	}
}

// endOfViews compares the views with those that the record makes.
func (a *auditor) endOfViews() {
	if a.views == nil {
		return
	}
	given := a.options.Views
	if given.AsOf > a.report.AsOf {
		a.find(ViewDiffers, place{Position: given.AsOf},
			"the views are as of log position %d, the store ends at %d", given.AsOf, a.report.AsOf)
		return
	}
	a.printViews()
	switch {
	case a.rebuilt == nil:
		a.find(AuditIncomplete, place{Position: given.AsOf},
			"the views are as of log position %d, before the checkpoint; they were not compared", given.AsOf)
		return
	case a.unprinted != nil:
		a.find(AuditIncomplete, place{Position: given.AsOf}, "the views cannot be printed: %v", a.unprinted)
		return
	}
	byName := map[string]string{}
	for _, t := range given.Tables {
		byName[t.Name] = string(t.JSON)
	}
	for _, t := range a.rebuilt.Tables {
		if byName[t.Name] != string(t.JSON) {
			a.cross(ViewDiffers, place{Position: given.AsOf},
				"the view %s is not what the events up to log position %d say; rebuild the views", t.Name, given.AsOf)
		}
	}
}
