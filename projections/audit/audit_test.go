package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var me = events.Address{0xaa}

// record is a store whose events can be forged. Only its log can be read.
type record struct {
	events.Store
	list    []events.Recorded
	damaged map[events.Position]bool
}

func (r *record) ReadAll(_ context.Context, after events.Position, _ int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for _, e := range r.list {
			if e.Position <= after && after > 0 {
				continue
			} else if r.damaged[e.Position] {
				yield(events.Recorded{}, fmt.Errorf("position %d: %w", e.Position, events.ErrDamaged))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r *record) ReadStream(_ context.Context, name string, q events.ReadStream) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		list := slices.Clone(r.list)
		if q.Backward {
			slices.Reverse(list)
		}
		for _, e := range list { // One is all that is asked for: the newest, or that of a revision.
			if e.Stream == name && (q.Backward || e.Revision >= q.From) {
				yield(e, nil)
				return
			}
		}
		yield(events.Recorded{}, events.ErrStreamNotFound)
	}
}

// recorded is all that a store holds.
func recorded(t testing.TB, store events.Store) []events.Recorded {
	t.Helper()
	var list []events.Recorded
	for r, err := range store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// aYear is a history with everything that the audit checks.
func aYear(t testing.TB) *record {
	t.Helper()
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.BeginSector(1)
	w.SealSector(1)
	w.EndSector(1, 1000)
	w.BeginSector(2)
	w.Life(1, 3)
	slashed := w.Begin(w.Request(2))
	w.Fill(slashed)
	w.Miss(slashed, 1, 100_000)
	w.Prove(slashed, 2)
	w.Finish(slashed, 100_000)
	w.Stop()
	w.Start()
	hosting := w.Begin(w.Request(3))
	w.Fill(hosting)
	w.Due(hosting, 5)
	w.Stop()
	return &record{list: recorded(t, store)}
}

func audited(t testing.TB, store events.Store, o Options) Report {
	t.Helper()
	if o.filterBits == 0 {
		o.filterBits = 1 << 16 // Tests make many audits of small records.
	}
	report, err := Run(context.Background(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// at is the index of the n-th event of a type, from 0; negative counts from the end.
func (r *record) at(name string, n int) int {
	var all []int
	for i, e := range r.list {
		if e.Type == name {
			all = append(all, i)
		}
	}
	if n < 0 {
		n += len(all)
	}
	return all[n]
}

// renumber assigns positions, revisions and ids as if the record had been written like that.
func (r *record) renumber() {
	next := map[string]uint64{}
	for i := range r.list {
		e := &r.list[i]
		e.Position, e.Revision = events.Position(i+1), next[e.Stream]
		next[e.Stream]++
	}
	r.derive()
}

// derive assigns the ids that follow from the events. Each event is a decision of its own,
// except that the events of one step of a sector are one decision.
func (r *record) derive() {
	first, cause := map[string]uint64{}, map[string]string{}
	for i := range r.list {
		e := &r.list[i]
		because := e.Meta.CauseKey()
		if events.Category(e.Stream) != events.CategorySector || because != cause[e.Stream] {
			first[e.Stream] = e.Revision
		}
		cause[e.Stream] = because
		if m, err := catalog.Codec().Decode(*e); err == nil {
			n := first[e.Stream]
			e.ID = history.IDOf(e.Stream, m, e.Meta, n, int(e.Revision-n))
		}
	}
}

func (r *record) remove(i int) {
	r.list = slices.Delete(r.list, i, i+1)
	r.renumber()
}

// insert puts an event of a stream before the event at an index.
func (r *record) insert(i int, stream string, m proto.Message) {
	e := events.Recorded{Stream: stream, Meta: events.Metadata{Version: 1, Epoch: r.list[max(0, i-1)].Meta.Epoch}}
	switch events.Category(stream) {
	case events.CategoryCapacity, events.CategorySlotQueue:
		e.Meta.Cause = "operator"
	case events.CategorySector:
		e.Meta.Cause = "look"
	case events.CategorySale:
		e.Meta.Cause = "look"
	case events.CategoryMarket:
		e.Meta.Cause = history.CauseOf(m)
	}
	for _, before := range r.list[:i] {
		if before.Stream == stream && events.Category(stream) == events.CategorySale {
			e.Meta.Correlation = before.Meta.Correlation
		}
	}
	if of, ok := m.(interface{ GetRequestId() string }); ok {
		e.Meta.Correlation = of.GetRequestId()
	}
	e.ID = events.NewEventID(stream, "forged", len(r.list))
	r.list = slices.Insert(r.list, i, e)
	r.forge(i, m)
	r.renumber()
}

// forge replaces an event's data.
func (r *record) forge(i int, m proto.Message) {
	name, _, data, err := catalog.Codec().Encode(m)
	if err != nil {
		panic(err)
	}
	r.list[i].Type, r.list[i].Data = name, data
	r.derive()
}

// change edits an event's data.
func change[M proto.Message](r *record, n int, edit func(M)) {
	var zero M
	i := r.at(string(zero.ProtoReflect().Descriptor().Name()), n)
	m, err := catalog.Codec().Decode(r.list[i])
	if err != nil {
		panic(err)
	}
	edit(m.(M))
	r.forge(i, m)
}

func TestARecordInOrderIsClean(t *testing.T) {
	report := audited(t, aYear(t), Options{})
	if !report.Clean() || len(report.Findings) > 0 {
		t.Fatalf("findings: %v", report.Findings)
	}
	want := Report{
		AsOf: report.AsOf, Events: uint64(report.AsOf), Streams: 9, Sales: 3, SalesFinished: 2,
		Sectors: &SectorTotals{
			States: map[string]uint64{"Packing": 1, "Removed": 1}, Over: 1, Bytes: 8292, Deposits: "5000",
			Returned: "4000", Lost: "1000", Withdrawn: "0",
		},
		Findings: []Finding{},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Fatalf("counts (-want +got):\n%s", diff)
	}
}

func breaches() []breach {
	return slices.Concat(formBreaches(), truncateBreaches(), originBreaches(), saleBreaches(), moneyBreaches(), ledgerBreaches(),
		sectorBreaches())
}

func TestEachBreachIsFoundAndNothingElse(t *testing.T) {
	for _, b := range breaches() {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) { findsOnly(t, aYear(t), b) })
	}
}

// findsOnly breaks a record and demands that this is found, and nothing else.
func findsOnly(t *testing.T, r *record, b breach) {
	t.Helper()
	b.forge(r)
	report := audited(t, r, Options{})
	if len(report.Findings) != 1 {
		t.Fatalf("want one finding, %s; got %d: %v", b.rule, len(report.Findings), report.Findings)
	}
	f := report.Findings[0]
	if f.Rule != b.rule || f.Sentence == "" || (f.Severity == Warning) != warnings[b.rule] {
		t.Fatalf("want %s; got %v", b.rule, f)
	}
	if report.Clean() != warnings[b.rule] {
		t.Fatalf("clean: %t, with %v", report.Clean(), f)
	}
	if b.shows == "" {
		return
	}
	i := slices.IndexFunc(r.list, func(e events.Recorded) bool {
		return e.Stream == f.Stream && e.Revision == f.Revision && e.Position == f.Position
	})
	if i < 0 || r.list[i].Type != b.shows {
		t.Fatalf("want it shown at a %s; got %v", b.shows, f)
	}
}

// What the host is at work on is no warning, until it takes too long.
func TestAYoungTransactionIsCountedAndNotWarnedOf(t *testing.T) {
	for age, young := range map[time.Duration]bool{underWay - time.Second: true, underWay: false} {
		r := aYear(t)
		r.insert(len(r.list), txStream, &messages.TxIntended{Key: "free:1", To: me.String(), Data: "0x"})
		last := len(r.list) - 1
		r.list[last].Recorded = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)
		r.list[0].Recorded = r.list[last].Recorded.Add(age)
		report := audited(t, r, Options{})
		if warned := len(report.Findings) == 1 && report.Findings[0].Rule == TransactionOpen; warned == young ||
			young != (report.TransactionsUnderWay == 1) {
			t.Errorf("%s old: %d under way, %v", age, report.TransactionsUnderWay, report.Findings)
		}
	}
}

// elsewhere are the rules that the tests below break one by one.
var elsewhere = []Rule{
	QueueInconsistent, ReceiptsUnchecked, ViewDiffers, AuditIncomplete,
	MoneyMismatch, MoneyUnrecorded, CollateralHeld, MarketElsewhere, ChainAhead, MissedProven, AbandonedMined,
	MarkingContradiction, MarkingOwnSlot, MarkingWithoutTransaction,
	FileUnheld, SectorFileMissing, PieceFileMissing,
}

func TestEveryRuleHasABreach(t *testing.T) {
	tested := map[Rule]bool{}
	for _, b := range slices.Concat(breaches(), memberBreaches()) {
		tested[b.rule] = true
	}
	for _, rule := range elsewhere {
		tested[rule] = true
	}
	for _, r := range ruleTable {
		if !tested[r.Rule] {
			t.Errorf("no test breaks %s", r.Rule)
		}
	}
	if len(tested) != len(ruleTable) {
		t.Errorf("%d rules are tested, there are %d", len(tested), len(ruleTable))
	}
}

func TestAForeignStreamWithAnIDTwiceInOneAppendIsNoError(t *testing.T) {
	store := storetest.NewMemory()
	e := events.NewEvent{ID: events.EventID{1}, Type: "thing", Data: []byte("{}")}
	if _, err := store.Append(t.Context(), "foreign-1", events.Any(), []events.NewEvent{e, e}); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), store, Options{})
	if err != nil || !report.Clean() || report.Events != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestDamageInTheMiddleLeavesTheOtherStreamsAudited(t *testing.T) {
	r := aYear(t)
	i := r.at("HostStopped", 0)
	r.damaged = map[events.Position]bool{r.list[i].Position: true}
	change(r, 0, func(m *messages.CollateralSlashed) { m.Slashed = "1" })
	report := audited(t, r, Options{})
	var rules []Rule
	for _, f := range report.Findings {
		rules = append(rules, f.Rule)
	}
	if diff := cmp.Diff([]Rule{CollateralCheck, StoreDamaged, RevisionGap}, rules); diff != "" {
		t.Fatalf("rules (-want +got):\n%s\n%v", diff, report.Findings)
	}
	if want := uint64(len(r.list) - 1); report.Events != want || report.SalesFinished != 2 {
		t.Fatalf("read %d of %d events, %d finished sales", report.Events, want, report.SalesFinished)
	}
}

func TestAStoreThatIsAllDamageIsGivenUp(t *testing.T) {
	r := &record{damaged: map[events.Position]bool{}}
	for i := range maxDamaged + 5 {
		r.list = append(r.list, events.Recorded{Position: events.Position(i + 1)})
		r.damaged[events.Position(i+1)] = true
	}
	report := audited(t, r, Options{MaxFindings: 10})
	if report.Errors != maxDamaged || report.Warnings != 1 || len(report.Findings) != 10 {
		t.Fatalf("%d errors, %d warnings, %d findings", report.Errors, report.Warnings, len(report.Findings))
	}
	if report := audited(t, r, Options{}); report.Findings[len(report.Findings)-1].Rule != AuditIncomplete {
		t.Fatalf("the last finding is %v", report.Findings[len(report.Findings)-1])
	}
}

func TestAFailedReadIsAnErrorOfTheAudit(t *testing.T) {
	store := storetest.NewMemory()
	history.New(t, store, me).Start()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, store, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

func TestFindingsUpToFromAreLeftOut(t *testing.T) {
	r := aYear(t)
	change(r, 0, func(m *messages.CollateralSlashed) { m.Slashed = "1" })
	at := r.list[r.at("CollateralSlashed", 0)].Position
	if report := audited(t, r, Options{From: at}); len(report.Findings) > 0 || report.Sales != 3 {
		t.Fatalf("from %d: %v", at, report.Findings)
	}
	if report := audited(t, r, Options{From: at - 1}); len(report.Findings) != 1 {
		t.Fatalf("from %d: %v", at-1, report.Findings)
	}
}

func TestViewsAreComparedAtTheirPosition(t *testing.T) {
	r := aYear(t)
	v := projections.NewViews(projections.Scope{})
	for _, e := range r.list[:60] {
		v.Apply(e)
	}
	given, err := v.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if report := audited(t, r, Options{Views: &given}); len(report.Findings) > 0 {
		t.Fatalf("equal views: %v", report.Findings)
	}
	given.Tables[2].JSON = []byte(strings.Replace(string(given.Tables[2].JSON), `"131072"`, `"131073"`, 1))
	report := audited(t, r, Options{Views: &given})
	if len(report.Findings) != 1 || report.Findings[0].Rule != ViewDiffers ||
		!strings.Contains(report.Findings[0].Sentence, "sales") {
		t.Fatalf("a forged view of the sales: %v", report.Findings)
	}
	given.AsOf = 1000
	if report := audited(t, r, Options{Views: &given}); len(report.Findings) != 1 || report.Findings[0].Rule != ViewDiffers {
		t.Fatalf("views ahead of the store: %v", report.Findings)
	}
}
