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
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections"
)

const (
	// DefaultMaxFindings is the most findings of a report: more would help nobody.
	DefaultMaxFindings = 10_000
	// maxDamaged is how many damaged events are skipped before the audit gives
	// up: with more, the problem is the store, not the events.
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
	// empty when there is no such event.
	Stream   string          `json:"stream,omitempty"`
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
	Sentence string          `json:"sentence"`
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s at log position %d (%s revision %d): %s",
		f.Severity, f.Rule, f.Position, f.Stream, f.Revision, f.Sentence)
}

// Report is what an audit found, in order of positions.
type Report struct {
	// AsOf is the position of the last event that was read.
	AsOf    events.Position `json:"asOf"`
	Events  uint64          `json:"events"`
	Streams uint64          `json:"streams"`
	// Sales counts attempts, SalesFinished those that are settled.
	Sales         uint64 `json:"sales"`
	SalesFinished uint64 `json:"salesFinished"`
	// Sectors are those of all hosts; nil: there are none.
	Sectors  *SectorTotals `json:"sectors,omitempty"`
	Findings []Finding     `json:"findings"`
	Errors   uint64        `json:"errors"`
	Warnings uint64        `json:"warnings"`
	// Files are those that were compared with the ledger; nil: none were.
	Files *FilesCompared `json:"files,omitempty"`
	// ChainCompared says that the tokens on chain were compared with the record.
	ChainCompared bool `json:"chainCompared,omitempty"`
	// TransactionsUnderWay counts the transactions without an outcome that are so young that none is due.
	TransactionsUnderWay uint64 `json:"transactionsUnderWay,omitempty"`
	// ContinuedFrom is the position of the checkpoint from which the audit
	// continued; CheckpointIgnored says why an existing one could not be used.
	ContinuedFrom     events.Position `json:"continuedFrom,omitempty"`
	CheckpointIgnored string          `json:"checkpointIgnored,omitempty"`
}

// Clean reports whether no rule was broken; warnings do not count.
func (r Report) Clean() bool { return r.Errors == 0 }

// Options are what an audit may be told.
type Options struct {
	// From leaves out findings up to this position, because they were reported
	// before. All events are read all the same, because the rules need them.
	From events.Position
	// Views are compared with views that are built from the events up to the
	// same position; nil: they are not compared.
	Views *projections.Snapshot
	// MaxFindings is the most findings in the report; further ones are only
	// counted. 0 means DefaultMaxFindings.
	MaxFindings int
	// Chain connects to a contract, whose tokens are then compared with the
	// events; nil: they are not compared. It is called once for each contract
	// that the events name. Its error, or one of the chain, ends the audit; only ErrNotHere does not, if the
	// chain has the contract of another host.
	Chain func(context.Context, Market) (Chain, error)
	// Checkpoint is a file for the state of the audit. It is written now and
	// then, at an interrupt, and when everything is read; an audit that finds it
	// continues from there. Empty: none.
	Checkpoint string
	// Files lists the files of sectors and pieces of one host, which are then compared with the
	// ledger; nil: they are not. It is called before and after the events are read.
	Files func() (Files, error)
	// CheckpointEvery is after how many events it is written; 0 means
	// DefaultCheckpointEvery.
	CheckpointEvery uint64
	// filterBits is the size of the filter of ids; 0 means defaultFilterBits.
	filterBits uint64
}

// Run audits a store, up to what is durable while it reads. Everything that is
// wrong with the events is in the report. The error is about reading them: the
// context's, the store's, the chain's, or that of a checkpoint that cannot be
// written.
func Run(ctx context.Context, store events.Store, o Options) (Report, error) {
	if o.filterBits == 0 && o.Checkpoint == "" { // Nobody will continue it with more events.
		head, err := store.Head(ctx)
		if err != nil {
			return Report{}, fmt.Errorf("audit: %w", err)
		}
		o.filterBits = filterFor(head)
	}
	a := newAuditor(o)
	if o.Checkpoint != "" {
		if b, ignored := resume(ctx, store, a.options); b != nil {
			a = b
		} else {
			a.report.CheckpointIgnored = ignored
		}
	}
	return a.run(ctx, store)
}

func (a *auditor) run(ctx context.Context, store events.Store) (Report, error) {
	a.metadata = func(stream string) (events.StreamMetadata, error) { return readMetadata(ctx, store, stream) }
	for _, step := range []func() error{
		a.lookAtFiles,
		func() error { return a.readOn(ctx, store) },
		func() error { return a.recheck(ctx, store) },
		func() error { return a.atTheEnd(ctx) },
		func() error { return a.endOfMoney(ctx) },
	} {
		if err := step(); err != nil {
			return a.report, fmt.Errorf("audit: %w", err)
		}
	}
	slices.SortStableFunc(a.report.Findings, func(x, y Finding) int {
		return cmp.Compare(x.Position, y.Position)
	})
	return a.report, nil
}

// readOn reads all further events, and writes checkpoints.
func (a *auditor) readOn(ctx context.Context, store events.Store) error {
	since := uint64(0)
	err := a.read(ctx, store, a.report.AsOf, func(r events.Recorded) error {
		a.event(r)
		since++
		if err := a.compare(ctx, false); err != nil {
			return err
		}
		if a.options.Checkpoint == "" || since < a.options.CheckpointEvery {
			return nil
		}
		since = 0
		return a.save()
	})
	if a.options.Checkpoint != "" && (err == nil || ctx.Err() != nil) {
		return errors.Join(err, a.save())
	}
	return err
}

// auditor is one run.
type auditor struct {
	options Options
	codec   *events.Codec
	// versions are the current schema versions by stored names.
	versions map[string]uint32
	// cut are the queues whose beginning may be removed, as far as it was asked.
	cut map[string]bool
	// metadata reads that of a stream as it is now.
	metadata func(stream string) (events.StreamMetadata, error)
	report   Report
	streams  map[string]*stream // that are not at rest
	resting  map[restKey]rest
	hosts    map[string]*host
	markets  map[string]*host // the only host in a market; nil: there are several
	ids      *idFilter
	txs      receipts
	chains   map[Market]Chain
	notHere  error // of the first contract that is not on the chain
	claims   int   // that wait for the chain, of all hosts
	views    *projections.Views
	// rebuilt are the views as of the position of the given ones; unprinted
	// says why they could not be printed.
	rebuilt   *projections.Snapshot
	unprinted error
	// damage lists the positions that could not be read. If there are any,
	// streams may only seem to contradict each other.
	damage map[events.Position]bool
	// now is the newest block's time in the market streams.
	now time.Time
	// newest is when the newest event was recorded, by the machine's clock.
	newest time.Time
	// correlation and recorded are those of the event that is judged.
	correlation string
	recorded    time.Time
	// files are those that lay there before the record was read.
	files Files
	// last is the last event that was read and that nothing may remove: a store that has it is the one that was read.
	last snapshot.Event
}

// place is where an event stands.
type place struct {
	Stream   string
	Revision uint64
	Position events.Position
}

func placeOf(r events.Recorded) place { return place{r.Stream, r.Revision, r.Position} }

func newAuditor(o Options) *auditor {
	if o.MaxFindings <= 0 {
		o.MaxFindings = DefaultMaxFindings
	}
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, DefaultCheckpointEvery)
	o.filterBits = cmp.Or(o.filterBits, defaultFilterBits)
	a := &auditor{
		options: o, codec: catalog.Codec(), versions: map[string]uint32{}, report: Report{Findings: []Finding{}},
		streams: map[string]*stream{}, resting: map[restKey]rest{}, hosts: map[string]*host{},
		markets: map[string]*host{},
		ids:     newIDFilter(o.filterBits, maxSuspects), txs: newReceipts(keptMined, maxAwaited),
		chains: map[Market]Chain{}, damage: map[events.Position]bool{}, cut: map[string]bool{},
		metadata: func(string) (events.StreamMetadata, error) { return events.StreamMetadata{}, nil },
	}
	for e := range a.codec.Entries() {
		a.versions[e.Name] = e.Version
	}
	if o.Views != nil {
		a.views = projections.NewViews(o.Views.Scope)
	}
	return a
}

// read yields all events after a position. Damaged ones are skipped.
func (a *auditor) read(
	ctx context.Context, store events.Store, after events.Position, take func(events.Recorded) error,
) error {
	for range maxDamaged {
		err := readUntil(ctx, store, &after, take)
		if !errors.Is(err, events.ErrDamaged) {
			return err
		}
		// Only our own stores report damage. Their positions have no gaps and they
		// read event by event, so the next one is the damaged one.
		after++
		if !a.damage[after] {
			a.damage[after] = true
			a.find(StoreDamaged, place{Position: after}, "the event cannot be read: %v", err)
		}
	}
	a.find(AuditIncomplete, place{Position: after}, "after %d damaged events nothing more was read", maxDamaged)
	return nil
}

// event checks one event: first its form, then its contents.
func (a *auditor) event(r events.Recorded) {
	if r.Position <= a.report.AsOf {
		a.find(PositionOrder, placeOf(r), "it follows position %d", a.report.AsOf)
	}
	a.report.AsOf = max(a.report.AsOf, r.Position)
	if catalog.Streams().InRecord(r.Stream) && !catalog.Streams().MayTruncate(r.Stream) {
		a.last = snapshot.EventOf(r)
	}
	if r.Recorded.After(a.newest) {
		a.newest = r.Recorded
	}
	if events.IsSystem(r.Stream) {
		a.keepViews(r, nil)
		a.system(r)
		return
	}
	a.report.Events++ // What a server writes for itself is not audited.
	s := a.stream(r.Stream)
	if r.Type == events.TypeTombstone {
		a.keepViews(r, nil)
		if s.kind != kindUnknown && s.kind != kindDisposable {
			a.find(StreamTruncated, placeOf(r), "the stream was deleted for good; the record must stay whole")
		}
		return
	}
	a.checkOrder(s, r)
	a.checkEpoch(s, r)
	if s.kind != kindUnknown { // In streams of other programs an append may have an id twice.
		a.ids.add(s.hash, r)
	}
	m, err := a.decode(s, r)
	a.keepViews(r, m)
	if err == nil {
		a.judge(s, r, m)
	}
	a.layToRest(s)
}

// find adds a finding.
func (a *auditor) find(rule Rule, at place, format string, args ...any) {
	a.add(rule, warnings[rule], at, fmt.Sprintf(format, args...))
}

// cross adds a finding about two streams that contradict each other. If a part
// of the store cannot be read, that may be the only reason.
func (a *auditor) cross(rule Rule, at place, format string, args ...any) {
	a.add(rule, warnings[rule] || len(a.damage) > 0, at, fmt.Sprintf(format, args...))
}

func (a *auditor) add(rule Rule, warning bool, at place, sentence string) {
	if at.Position != 0 && at.Position <= a.options.From {
		return
	}
	f := Finding{Error, rule, at.Stream, at.Revision, at.Position, sentence}
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

// withdraw takes back the last warning of a rule about a stream.
func (a *auditor) withdraw(rule Rule, stream string) {
	for i, f := range slices.Backward(a.report.Findings) {
		if f.Rule == rule && f.Stream == stream {
			a.report.Findings = slices.Delete(a.report.Findings, i, i+1)
			a.report.Warnings--
			return
		}
	}
}

// atTheEnd checks what can be checked only at the end.
func (a *auditor) atTheEnd(ctx context.Context) error {
	for _, name := range sortedKeys(a.hosts) {
		h := a.hosts[name]
		a.endOfLedgers(h)
		a.endOfQueue(h)
		a.endOfTransactions(h)
		a.endOfSales(h)
		a.endOfSectors(h)
	}
	a.countSectors()
	a.endOfOwn()
	if err := a.endOfReceipts(ctx); err != nil {
		return err
	}
	a.endOfViews()
	return a.endOfFiles()
}

// judge checks where an event comes from and what it says.
func (a *auditor) judge(s *stream, r events.Recorded, m proto.Message) {
	if s.judge == nil {
		return
	}
	a.correlation, a.recorded = r.Meta.Correlation, r.Recorded
	a.checkOrigin(s, r, m)
	a.checkWriter(s, r, m)
	if !s.judge(placeOf(r), m) {
		a.find(EventMisplaced, placeOf(r), "%s does not belong in this stream", r.Type)
		s.giveUp()
	}
}
