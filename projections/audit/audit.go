package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/projections"
)

const (
	// DefaultMaxFindings is the most findings of a report: more help nobody.
	DefaultMaxFindings = 10_000
	// maxDamaged is how many damaged events are passed over before the audit
	// gives up on a store: by then it is not the record that is in question.
	maxDamaged = 1_000
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one breach of a rule.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	// Stream and Revision name the event at which the breach shows. Stream is
	// empty when no event can be named.
	Stream   string          `json:"stream,omitempty"`
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
	Sentence string          `json:"sentence"`
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s at position %d (%s revision %d): %s",
		f.Severity, f.Rule, f.Position, f.Stream, f.Revision, f.Sentence)
}

// Report is what an audit found, in order of positions.
type Report struct {
	// AsOf is the position of the last event that was read.
	AsOf    events.Position `json:"asOf"`
	Events  uint64          `json:"events"`
	Streams uint64          `json:"streams"`
	// Sales counts attempts, SalesFinished those that are settled.
	Sales         uint64    `json:"sales"`
	SalesFinished uint64    `json:"salesFinished"`
	Findings      []Finding `json:"findings"`
	Errors        uint64    `json:"errors"`
	Warnings      uint64    `json:"warnings"`
}

// Clean reports whether no rule was broken; warnings are none.
func (r Report) Clean() bool { return r.Errors == 0 }

// Options are what an audit may be told.
type Options struct {
	// From leaves out findings at positions up to this one, because they were
	// reported before. All events are read even so: every rule needs what came
	// before.
	From events.Position
	// Views are compared with views that are built from the events up to the
	// same position; nil: there are none to compare.
	Views *projections.Snapshot
	// MaxFindings is the most findings of the report; all are counted. 0 means
	// DefaultMaxFindings.
	MaxFindings int
}

// Run audits a store, up to what is durable while it reads. Everything that is
// wrong with the record is in the report; the error is about the reading
// itself: the context's, or the store's.
func Run(ctx context.Context, store events.Store, o Options) (Report, error) {
	return newAuditor(o).run(ctx, store)
}

func (a *auditor) run(ctx context.Context, store events.Store) (Report, error) {
	if err := a.read(ctx, store, 0, a.event); err != nil {
		return a.report, fmt.Errorf("audit: %w", err)
	}
	if err := a.recheck(ctx, store); err != nil {
		return a.report, fmt.Errorf("audit: %w", err)
	}
	a.atTheEnd()
	slices.SortStableFunc(a.report.Findings, func(x, y Finding) int {
		return cmp.Compare(x.Position, y.Position)
	})
	return a.report, nil
}

// auditor is one run.
type auditor struct {
	options Options
	codec   *events.Codec
	report  Report
	streams map[string]*stream
	hosts   map[string]*host
	ids     *idFilter
	txs     receipts
	views   *projections.Views
	// damage is where something could not be read. When there is any, one stream
	// may seem to contradict another.
	damage map[events.Position]bool
	// now is the newest block's time in the market streams.
	now time.Time
}

// place is where an event stands.
type place struct {
	stream   string
	revision uint64
	position events.Position
}

func placeOf(r events.Recorded) place { return place{r.Stream, r.Revision, r.Position} }

func newAuditor(o Options) *auditor {
	if o.MaxFindings <= 0 {
		o.MaxFindings = DefaultMaxFindings
	}
	a := &auditor{
		options: o, codec: catalog.Codec(), report: Report{Findings: []Finding{}},
		streams: map[string]*stream{}, hosts: map[string]*host{},
		ids: newIDFilter(filterBits, maxSuspects), txs: newReceipts(keptMined, maxAwaited),
		damage: map[events.Position]bool{},
	}
	if o.Views != nil {
		a.views = projections.NewViews(o.Views.Scope)
	}
	return a
}

// read hands out all events behind a position. Damaged ones are passed over.
func (a *auditor) read(
	ctx context.Context, store events.Store, after events.Position, take func(events.Recorded),
) error {
	for range maxDamaged {
		err := readUntil(ctx, store, &after, take)
		if !errors.Is(err, events.ErrDamaged) {
			return err
		}
		after++ // The store reads event by event: the next one is damaged.
		if !a.damage[after] {
			a.damage[after] = true
			a.find(StoreDamaged, place{position: after}, "the event cannot be read: %v", err)
		}
	}
	a.find(AuditIncomplete, place{position: after}, "after %d damaged events nothing more was read", maxDamaged)
	return nil
}

func readUntil(
	ctx context.Context, store events.Store, after *events.Position, take func(events.Recorded),
) error {
	for r, err := range store.ReadAll(ctx, *after, 0) {
		if err != nil {
			return err
		}
		take(r)
		*after = r.Position
	}
	return nil
}

// event looks at one event: first at its form, then at what it says.
func (a *auditor) event(r events.Recorded) {
	a.report.Events++
	s := a.stream(r.Stream)
	a.checkOrder(s, r)
	a.checkEpoch(s, r)
	a.ids.add(s.hash, r)
	m, err := a.decode(s, r)
	if a.views != nil && r.Position <= a.options.Views.AsOf {
		if err != nil {
			a.views.Apply(r)
		} else {
			a.views.ApplyDecoded(r, m)
		}
	}
	if err == nil {
		a.judge(s, r, m)
	}
}

// find adds a finding.
func (a *auditor) find(rule Rule, at place, format string, args ...any) {
	a.add(rule, warnings[rule], at, fmt.Sprintf(format, args...))
}

// cross adds a finding about two streams that contradict each other. When a
// part of the store cannot be read, that may be all there is to it.
func (a *auditor) cross(rule Rule, at place, format string, args ...any) {
	a.add(rule, warnings[rule] || len(a.damage) > 0, at, fmt.Sprintf(format, args...))
}

func (a *auditor) add(rule Rule, warning bool, at place, sentence string) {
	if at.position != 0 && at.position <= a.options.From {
		return
	}
	f := Finding{Error, rule, at.stream, at.revision, at.position, sentence}
	if warning {
		f.Severity = Warning
		a.report.Warnings++
	} else {
		a.report.Errors++
	}
	if len(a.report.Findings) < a.options.MaxFindings {
		a.report.Findings = append(a.report.Findings, f)
	}
}

// atTheEnd looks at what only the end can show.
func (a *auditor) atTheEnd() {
	for _, name := range sortedKeys(a.hosts) {
		h := a.hosts[name]
		a.endOfLedger(h)
		a.endOfQueue(h)
		a.endOfTransactions(h)
		a.endOfSales(h)
	}
	a.endOfReceipts()
	a.endOfViews()
}

func (a *auditor) endOfViews() {
	if a.views == nil {
		return
	}
	given := a.options.Views
	if given.AsOf > a.report.AsOf {
		a.find(ViewDiffers, place{position: given.AsOf},
			"the views are as of position %d, the store ends at %d", given.AsOf, a.report.AsOf)
		return
	}
	rebuilt, err := a.views.Snapshot()
	if err != nil {
		a.find(AuditIncomplete, place{position: given.AsOf}, "the views cannot be printed: %v", err)
		return
	}
	byName := map[string]string{}
	for _, t := range given.Tables {
		byName[t.Name] = string(t.JSON)
	}
	for _, t := range rebuilt.Tables {
		if byName[t.Name] != string(t.JSON) {
			a.cross(ViewDiffers, place{position: given.AsOf},
				"the view %s is not what the events up to position %d say; rebuild the views", t.Name, given.AsOf)
		}
	}
}

// judge looks at what an event says.
func (a *auditor) judge(s *stream, r events.Recorded, m proto.Message) {
	if s.judge == nil {
		return
	}
	if !s.judge(placeOf(r), m) {
		a.find(EventMisplaced, placeOf(r), "%s does not belong into this stream", r.Type)
		s.giveUp()
	}
}
