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
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var me = events.Address{0xaa}

// record is a store whose events can be forged. Only reading all is possible.
type record struct {
	events.Store
	list    []events.Recorded
	damaged map[events.Position]bool
}

func (r *record) ReadAll(_ context.Context, after events.Position, _ int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for i, e := range r.list {
			if at := events.Position(i + 1); at <= after {
				continue
			} else if r.damaged[at] {
				yield(events.Recorded{}, fmt.Errorf("position %d: %w", at, events.ErrDamaged))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
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

// aYear is a history in which everything happens that the audit looks at.
func aYear(t testing.TB) *record {
	t.Helper()
	store := events.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
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

// renumber gives positions and revisions as if the record had been written so.
func (r *record) renumber() {
	next := map[string]uint64{}
	for i := range r.list {
		e := &r.list[i]
		e.Position, e.Revision = events.Position(i+1), next[e.Stream]
		next[e.Stream]++
	}
}

func (r *record) remove(i int) {
	r.list = slices.Delete(r.list, i, i+1)
	r.renumber()
}

// insert puts an event of a stream before the event at an index.
func (r *record) insert(i int, stream string, m proto.Message) {
	e := events.Recorded{Stream: stream, Meta: events.Metadata{Version: 1, Epoch: r.list[max(0, i-1)].Meta.Epoch}}
	e.ID = events.NewEventID(stream, "forged", len(r.list))
	r.list = slices.Insert(r.list, i, e)
	r.forge(i, m)
	r.renumber()
}

// forge replaces what an event says.
func (r *record) forge(i int, m proto.Message) {
	name, _, data, err := catalog.Codec().Encode(m)
	if err != nil {
		panic(err)
	}
	r.list[i].Type, r.list[i].Data = name, data
}

// change edits what an event says.
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
		AsOf: report.AsOf, Events: uint64(report.AsOf), Streams: 7, Sales: 3, SalesFinished: 2,
		Findings: []Finding{},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Fatalf("counts (-want +got):\n%s", diff)
	}
}

// breach is one way to break one rule.
type breach struct {
	name   string
	rule   Rule
	type_  string // of the event at which it shows; "" for none
	break_ func(r *record)
}

const zeros = "0x0000000000000000000000000000000000000000000000000000000000000000"

var (
	hostStream     = events.HostStream(me)
	capacityStream = events.CapacityStream(me)
	queueStream    = events.SlotQueueStream(me)
	txStream       = events.TxStream(me)
)

func formBreaches() []breach {
	return []breach{
		{"damaged bytes", StoreDamaged, "", func(r *record) {
			r.damaged = map[events.Position]bool{events.Position(len(r.list)): true}
		}},
		{"positions go back", PositionOrder, "HostStopped", func(r *record) {
			i := r.at("HostStopped", 1)
			r.list[i].Position = r.list[i-1].Position
		}},
		{"an event is missing", RevisionGap, "HostStarted", func(r *record) {
			i := r.at("HostStopped", 0)
			r.list = slices.Delete(r.list, i, i+1)
		}},
		{"a revision comes twice", RevisionRepeated, "HostStopped", func(r *record) {
			i := r.at("HostStopped", 1)
			r.list[i].Revision--
		}},
		{"an id comes twice", EventIDRepeated, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].ID = r.list[r.at("HostStarted", 0)].ID
		}},
		{"an unknown type", EventUnknown, "HostPondered", func(r *record) {
			r.list[r.at("HostStopped", 1)].Type = "HostPondered"
		}},
		{"a newer version", EventNewer, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Meta.Version = 2
		}},
		{"no JSON", EventMalformed, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Data = []byte("{")
		}},
		{"an event of another machine", EventMisplaced, "QuotaSet", func(r *record) {
			r.insert(len(r.list), hostStream, &messages.QuotaSet{Bytes: 1})
		}},
		{"the epoch goes back", EpochDecreased, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Meta.Epoch = 1
		}},
		{"a machine of the future", StreamUnknown, "SectorPledged", func(r *record) {
			r.insert(len(r.list), "sector-1", &messages.QuotaSet{Bytes: 1})
			r.list[len(r.list)-1].Type = "SectorPledged"
		}},
		{"an epoch is left out", HostEpoch, "HostStarted", func(r *record) {
			change(r, 1, func(m *messages.HostStarted) { m.Epoch = 3 })
			change(r, 1, func(m *messages.HostStopped) { m.Epoch = 3 })
		}},
		{"another epoch is stopped", HostEpoch, "HostStopped", func(r *record) {
			change(r, 1, func(m *messages.HostStopped) { m.Epoch = 7 })
		}},
		{"an intent without an outcome", TransactionOpen, "TxIntended", func(r *record) {
			r.insert(len(r.list), txStream, &messages.TxIntended{Key: "free:1", To: me.String(), Data: "0x"})
		}},
	}
}

func saleBreaches() []breach {
	return []breach{
		{"a phase is left out", SaleTransition, "SlotStored", func(r *record) { r.remove(r.at("SlotReserved", 0)) }},
		{"an attempt is left out", SaleAttempt, "SaleStarted", func(r *record) {
			change(r, 0, func(m *messages.SaleStarted) { m.Attempt = 2 })
			var id string
			change(r, 0, func(m *messages.ReservationCreated) {
				m.Attempt = 2
				id = capacity.ReservationIDOf(events.Must(events.ParseSlotID(m.GetSlotId())), 2).String()
				m.ReservationId = id
			})
			change(r, 0, func(m *messages.CapacityReserved) { m.ReservationId = id })
			change(r, 0, func(m *messages.BytesReleased) { m.ReservationId = id })
			change(r, 0, func(m *messages.ReservationDeleted) { m.ReservationId = id })
		}},
		{"another slot's sale", SaleSlot, "SaleStarted", func(r *record) {
			change(r, 0, func(m *messages.SaleStarted) { m.SlotId = zeros })
		}},
		{"more is lost than was committed", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralReturned = "131073" })
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralLost = "0" })
		}},
		{"a loss that the contract knows nothing of", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
		}},
		{"the ledger settles otherwise", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
		}},
		{"a proof that was not owed", ProofNotDue, "ProofSubmitted", func(r *record) { r.remove(r.at("ProofDue", 0)) }},
		{"a period owes twice", ProofDueAgain, "ProofDue", func(r *record) {
			m, _ := catalog.Codec().Decode(r.list[r.at("ProofDue", 0)])
			i := r.at("ProofSubmitted", 0)
			r.insert(i+1, r.list[i].Stream, m)
		}},
		{"missed before the deadline", ProofMissedEarly, "ProofMissed", func(r *record) {
			change(r, 0, func(m *messages.ProofMissed) { m.At = events.TimeToMessage(history.Begin) })
		}},
		{"a proof is overdue", ProofOverdue, "ProofDue", func(r *record) {
			r.insert(len(r.list), "market-1337-0x02", &messages.BlocksScanned{
				Hash: zeros, Time: events.TimeToMessage(history.Begin.Add(time.Hour)),
			})
		}},
		{"a slash that does not add up", CollateralCheck, "CollateralChecked", func(r *record) {
			change(r, 0, func(m *messages.CollateralChecked) { m.Slashed = "1" })
		}},
		{"a reading without a miss", CollateralCheck, "CollateralChecked", func(r *record) {
			change(r, 0, func(m *messages.CollateralChecked) { m.Period++ })
		}},
		{"a proof was never mined", ProofWithoutTransaction, "ProofSubmitted", func(r *record) {
			change(r, 0, func(m *messages.ProofSubmitted) { m.Receipt.TxHash = zeros })
		}},
		{"a proof's transaction failed", ProofWithoutTransaction, "ProofSubmitted", func(r *record) {
			change(r, 2, func(m *messages.TxMined) { m.Succeeded = false })
		}},
		{"a fill was never mined", ReceiptWithoutTransaction, "SlotFilled", func(r *record) {
			change(r, 0, func(m *messages.SlotFilled) { m.Receipt.TxHash = zeros })
		}},
	}
}

func ledgerBreaches() []breach {
	return []breach{
		{"an availability comes twice", LedgerContradiction, "AvailabilityCreated", func(r *record) {
			i := r.at("AvailabilityCreated", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"an unknown availability changes", LedgerContradiction, "AvailabilityUpdated", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.AvailabilityUpdated{
				AvailabilityId: zeros, TotalSize: 1, DurationSeconds: 1, MinPricePerBytePerSecond: "1", TotalCollateral: "1",
			})
		}},
		{"an availability in use is deleted", LedgerContradiction, "AvailabilityDeleted", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.AvailabilityDeleted{
				AvailabilityId: events.AvailabilityID{0xa1}.String(),
			})
		}},
		{"a reservation comes twice", LedgerContradiction, "ReservationCreated", func(r *record) {
			i := r.at("ReservationCreated", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"more is stored than was reserved", LedgerContradiction, "BytesReleased", func(r *record) {
			change(r, 0, func(m *messages.BytesReleased) { m.Bytes = 65537 })
		}},
		{"a settlement that is not the commitment", LedgerContradiction, "ReservationDeleted", func(r *record) {
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned = "1" })
			r.remove(r.at("SaleSettled", 0)) // Else the reservation is open at the settlement, too.
		}},
		{"a quota below what is on offer", LedgerUnbalanced, "AvailabilityCreated", func(r *record) {
			change(r, 0, func(m *messages.QuotaSet) { m.Bytes = 1 })
		}},
		{"more collateral committed than offered", LedgerUnbalanced, "ReservationCreated", func(r *record) {
			change(r, 0, func(m *messages.AvailabilityCreated) { m.TotalCollateral = "131071" })
		}},
		{"a reservation for nobody", ReservationOwner, "ReservationCreated", func(r *record) {
			r.remove(r.at("CapacityReserved", 2))
			i := r.at("SaleStarted", 2)
			start := r.list[i]
			r.list = slices.Delete(r.list, i, i+1)
			r.list = slices.DeleteFunc(r.list, func(e events.Recorded) bool { return e.Stream == start.Stream })
			r.renumber()
		}},
		{"a reservation of another size", ReservationMismatch, "ReservationCreated", func(r *record) {
			change(r, 2, func(m *messages.ReservationCreated) { m.Bytes = 131072 })
			change(r, 2, func(m *messages.CapacityReserved) { m.Bytes = 131072 })
		}},
		{"a reservation with a foreign id", ReservationMismatch, "ReservationCreated", func(r *record) {
			change(r, 2, func(m *messages.ReservationCreated) { m.ReservationId = zeros })
			change(r, 2, func(m *messages.BytesReleased) { m.ReservationId = zeros })
			change(r, 2, func(m *messages.CapacityReserved) { m.ReservationId = zeros })
		}},
		{"a sale with more than the ledger gave", ReservationMismatch, "CapacityReserved", func(r *record) {
			change(r, 2, func(m *messages.CapacityReserved) { m.Bytes = 131072 })
		}},
		{"a sale with a reservation of its own", ReservationMismatch, "CapacityReserved", func(r *record) {
			change(r, 2, func(m *messages.CapacityReserved) { m.ReservationId = zeros })
		}},
		{"released before the data was deleted", ReservationEarly, "ReservationDeleted", func(r *record) {
			i := r.at("ReservationDeleted", 0)
			r.list[i-1], r.list[i] = r.list[i], r.list[i-1]
			r.renumber()
		}},
		{"released twice", ReservationNotOpen, "ReservationDeleted", func(r *record) {
			i := r.at("ReservationDeleted", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"never released", ReservationUnreleased, "SaleSettled", func(r *record) { r.remove(r.at("ReservationDeleted", 0)) }},
		{"a slot is queued twice", QueueContradiction, "SlotsQueued", func(r *record) {
			i := r.at("SlotsQueued", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
		{"a slot is taken twice", QueueContradiction, "SlotTaken", func(r *record) {
			i := r.at("SlotTaken", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
		{"a slot is released twice", QueueContradiction, "SlotReleased", func(r *record) {
			i := r.at("SlotReleased", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
	}
}

func breaches() []breach {
	return slices.Concat(formBreaches(), saleBreaches(), ledgerBreaches())
}

func TestEachBreachIsFoundAndNothingElse(t *testing.T) {
	for _, b := range breaches() {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			r := aYear(t)
			b.break_(r)
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
			if b.type_ == "" {
				return
			}
			i := slices.IndexFunc(r.list, func(e events.Recorded) bool {
				return e.Stream == f.Stream && e.Revision == f.Revision && e.Position == f.Position
			})
			if i < 0 || r.list[i].Type != b.type_ {
				t.Fatalf("want it shown at a %s; got %v", b.type_, f)
			}
		})
	}
}

// elsewhere are the rules that the tests below break one by one.
var elsewhere = []Rule{QueueInconsistent, ReceiptsUnchecked, ViewDiffers, AuditIncomplete}

func TestEveryRuleHasABreach(t *testing.T) {
	tested := map[Rule]bool{}
	for _, b := range breaches() {
		tested[b.rule] = true
	}
	for _, rule := range elsewhere {
		tested[rule] = true
	}
	for _, rule := range Rules() {
		if !tested[rule] {
			t.Errorf("no test breaks %s", rule)
		}
	}
	if len(tested) != len(Rules()) {
		t.Errorf("%d rules are tested, there are %d", len(tested), len(Rules()))
	}
}

func TestDamageInTheMiddleLeavesTheOtherStreamsAudited(t *testing.T) {
	r := aYear(t)
	i := r.at("HostStopped", 0)
	r.damaged = map[events.Position]bool{r.list[i].Position: true}
	change(r, 0, func(m *messages.CollateralChecked) { m.Slashed = "1" })
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
		r.list = append(r.list, events.Recorded{})
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
	store := events.NewMemory()
	history.New(t, store, me).Start()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, store, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

func TestFindingsUpToFromAreLeftOut(t *testing.T) {
	r := aYear(t)
	change(r, 0, func(m *messages.CollateralChecked) { m.Slashed = "1" })
	at := r.list[r.at("CollateralChecked", 0)].Position
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
