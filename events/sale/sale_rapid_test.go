package sale

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Any commands in any order; half of them are such as the state waits for. A failing run prints
// how to repeat it.
func TestAnyOrderOfCommandsKeepsTheRules(t *testing.T) { rapid.Check(t, anyOrder) }

// FuzzAnyOrderOfCommands is the same property, steered by coverage.
func FuzzAnyOrderOfCommands(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyOrder)) }

func anyOrder(t *rapid.T) {
	w := witness{codec: events.NewCodec(Table()), duties: map[uint64]string{}}
	for range rapid.IntRange(1, 60).Draw(t, "commands") {
		w.give(t, drawCommand(t, w.live))
	}
	w.checkPast(t)
}

// witness follows one sale and keeps its record as a store would.
type witness struct {
	codec  *events.Codec
	live   State
	record []events.Recorded
	past   []memory
	wasOn  bool              // some fill of this attempt stands on chain
	duties map[uint64]string // of this attempt: open, submitted, missed, excused, lapsed
	opened []uint64          // the periods of duties, in the order in which they were opened
	// excused is the last period that was excused; only that one may be due again.
	excused       uint64
	reopened      map[uint64]bool
	lapsed, again []uint64 // open when the hosting ended; owed again since it was taken back
}

func (w *witness) give(t *rapid.T, c Command) {
	before := w.live
	shadow := copyOf(before)
	batch, err := Decide(before, c)
	if err != nil {
		if len(batch) > 0 {
			t.Fatalf("%T: an error and %d events", c, len(batch))
		}
		return
	}
	for _, e := range batch {
		w.append(t, e)
	}
	if diff := differ(shadow, before); diff != "" {
		t.Fatalf("%T changed the state it was decided on (-before +after):\n%s", c, diff)
	}
	w.giveAgain(t, c)
	if diff := differ(w.live, w.replay(t)); diff != "" {
		t.Fatalf("replay differs from the live state (-live +replayed):\n%s", diff)
	}
	w.checkState(t)
}

// giveAgain: a command given twice changes nothing. A report of the chain is
// compared with the record step by step (a reverted fill, then the end of the
// request), so it comes to rest after at most two more.
func (w *witness) giveAgain(t *rapid.T, c Command) {
	more := 0
	if _, isChain := c.(ReportChain); isChain {
		more = 2
	}
	for range more {
		batch, err := Decide(w.live, c)
		if err != nil {
			t.Fatalf("%T given again in %s: %v", c, w.live.Phase, err)
		}
		for _, e := range batch {
			w.append(t, e)
		}
	}
	if again, err := Decide(w.live, c); err != nil || len(again) > 0 {
		t.Fatalf("%T given again in %s: %d further events, error %v", c, w.live.Phase, len(again), err)
	}
}

// append stores an event and checks the step it makes.
func (w *witness) append(t *rapid.T, e Event) {
	name, version, data, err := w.codec.Encode(e)
	if err != nil {
		t.Fatalf("Decide emitted what cannot be stored: %v", err)
	}
	if len(data) > events.MaxEventBytes {
		t.Fatalf("%s of %d bytes does not fit in the store", name, len(data))
	}
	if Sentence(e) == "" {
		t.Fatalf("no sentence for %s", name)
	}
	w.record = append(w.record, events.Recorded{
		Stream: "sale", Revision: uint64(len(w.record)), Type: name, Data: data,
		Meta: events.Metadata{Version: version},
	})
	before, shadow := w.live, copyOf(w.live)
	w.past = append(w.past, memory{before, shadow})
	w.live = Evolve(before, e)
	if !mayMove(before.Phase, w.live.Phase) {
		t.Fatalf("%s leads from %s to %s, which the table does not allow", name, before.Phase, w.live.Phase)
	}
	w.checkStep(t, before, e)
}

func (w *witness) replay(t *rapid.T) State {
	var s State
	for _, r := range w.record {
		m, err := w.codec.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		s = Evolve(s, m.(Event))
	}
	return s
}

func (w *witness) checkStep(t *rapid.T, before State, e Event) {
	lapse := func() {
		for p, how := range w.duties {
			if how == "open" {
				w.duties[p] = "lapsed"
				w.lapsed = append(w.lapsed, p)
			}
		}
	}
	closeAs := func(p uint64, how string) {
		if w.duties[p] != "open" {
			t.Fatalf("period %d is %s, but it was %q, not open", p, how, w.duties[p])
		}
		w.duties[p] = how
	}
	switch e := e.(type) {
	case *messages.SaleStarted:
		w.wasOn, w.duties, w.opened, w.excused = false, map[uint64]string{}, nil, 0
		w.reopened, w.lapsed, w.again = map[uint64]bool{}, nil, nil
	case *messages.SlotFilled:
		w.wasOn = true
		if !before.Hosting() { // What lapsed with an end is owed again when that is taken back.
			w.again = slices.Clone(w.lapsed)
		}
	case *messages.FillReverted, *messages.RequestEnded, *messages.SaleCancelled, *messages.SaleFailed,
		*messages.SlotForfeited:
		if _, gone := e.(*messages.FillReverted); gone {
			w.wasOn = false
		}
		lapse()
	case *messages.SaleErrored, *messages.SaleIgnored:
		if before.OnChain {
			t.Fatalf("%T while the slot is ours on chain", e)
		}
		lapse() // An adopted slot owes before its data is here.
	case *messages.ProofDue:
		how, known := w.duties[e.GetPeriod()]
		lapsed := how == "lapsed" && slices.Contains(w.again, e.GetPeriod())
		if known && how != "open" && !lapsed && (how != "excused" || w.excused != e.GetPeriod()) {
			t.Fatalf("period %d was %s and is due again", e.GetPeriod(), how)
		}
		if !known {
			w.opened = append(w.opened, e.GetPeriod())
		}
		w.reopened[e.GetPeriod()] = w.reopened[e.GetPeriod()] || how == "excused" || lapsed
		w.duties[e.GetPeriod()] = "open"
	case *messages.ProofSubmitted:
		closeAs(e.GetPeriod(), "submitted")
	case *messages.ProofMissed:
		closeAs(e.GetPeriod(), "missed")
	case *messages.ProofExcused:
		closeAs(e.GetPeriod(), "excused")
		w.excused = e.GetPeriod()
	case *messages.SaleSettled:
		w.checkSettlement(t, before, e)
	}
}

func (w *witness) checkSettlement(t *rapid.T, before State, e *messages.SaleSettled) {
	if before.OnChain || !before.Deleted && !before.Refillable() {
		t.Fatalf("settled with the slot on chain %t, data deleted %t", before.OnChain, before.Deleted)
	}
	back, lost := amount(e.GetCollateralReturned()), amount(e.GetCollateralLost())
	if sum := back.Add(lost); sum != before.Committed {
		t.Fatalf("%s returned and %s lost of %s committed", back, lost, before.Committed)
	}
	if w.wasOn && !before.Paid && back != (events.Amount{}) {
		t.Fatalf("%s of collateral returned, but the contract paid nothing back", back)
	}
}

func (w *witness) checkState(t *rapid.T) {
	s := w.live
	open := Next(s)
	if Waiting(s) == "" {
		t.Fatalf("nobody knows what %s waits for", s.Phase)
	}
	waits := s.Phase != Unknown && s.Phase != Proving && s.Phase != ProvingSimulated && !s.Settled
	if waits && len(open) == 0 {
		t.Fatalf("%s waits for an effect of ours, but none is open", s.Phase)
	}
	if s.Over() && len(open) > 0 {
		t.Fatalf("a settled sale wants %s", open[0].Key())
	}
	if s.OnChain != (s.Hosting() || s.Phase == Payout) && s.Phase != Cancelled && s.Phase != Failed {
		t.Fatalf("%s with the slot on chain %t", s.Phase, s.OnChain)
	}
	if s.Settled && (s.OnChain || !s.Deleted) {
		t.Fatalf("settled with the slot on chain %t, data deleted %t", s.OnChain, s.Deleted)
	}
	if s.Damaged() && !slices.ContainsFunc(open, func(e Effect) bool { _, ok := e.(Repair); return ok }) {
		t.Fatalf("the data is damaged in %s, and nobody repairs it", s.Phase)
	}
	keys := map[string]bool{}
	for _, e := range open {
		if keys[e.Key()] {
			t.Fatalf("two open effects with key %s", e.Key())
		}
		keys[e.Key()] = true
		if f, ok := e.(Fill); ok && f.Proof.Invalid() {
			t.Fatalf("a fill without a proof")
		}
	}
	if !slices.IsSortedFunc(s.Duties, func(a, b Duty) int { return int(a.Period) - int(b.Period) }) {
		t.Fatalf("duties are not in the order of their periods: %v", s.Duties)
	}
	w.checkDuties(t)
}

// checkDuties compares the state's books with what the events said.
func (w *witness) checkDuties(t *rapid.T) {
	open, count := 0, map[string]uint64{}
	for _, how := range w.duties {
		count[how]++
		if how == "open" {
			open++
		}
	}
	s := w.live
	if open != len(s.Duties) || count["submitted"] != s.Submitted || count["missed"] != s.Missed {
		t.Fatalf("open %d, submitted %d, missed %d; the events say %v", len(s.Duties), s.Submitted, s.Missed, count)
	}
	if s.DutyCount != uint64(len(w.duties)) {
		t.Fatalf("%d duties counted, %d opened", s.DutyCount, len(w.duties))
	}
	if len(s.Duties) > 0 && !s.Owes() {
		t.Fatalf("%d duties open in %s", len(s.Duties), s.Phase)
	}
	for _, d := range s.Duties {
		spoiled := s.FailEvery > 0 && w.ordinal(d.Period)%uint64(s.FailEvery) == 0 && !w.reopened[d.Period]
		if d.Spoil != spoiled {
			t.Fatalf("duty %d of the sale has spoil %t with every %d spoiled", w.ordinal(d.Period), d.Spoil, s.FailEvery)
		}
	}
}

// ordinal numbers the duties of an attempt as they were opened, from 1.
func (w *witness) ordinal(period uint64) uint64 { return uint64(slices.Index(w.opened, period) + 1) }

// differ is empty when two states are the same, to the last bit.
func differ(want, got State) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateComparable(events.Amount{}))
}

func copyOf(s State) State {
	s.Duties, s.Unchecked = slices.Clone(s.Duties), slices.Clone(s.Unchecked)
	s.Gap.From, s.Gap.Told = slices.Clone(s.Gap.From), slices.Clone(s.Gap.Told)
	s.Damage.Blocks = slices.Clone(s.Damage.Blocks)
	return s
}

// memory is a state, and what it was when it was made.
type memory struct{ state, asMade State }

// checkPast: states may share slices, so no later step may write into one.
func (w *witness) checkPast(t *rapid.T) {
	for i, m := range w.past {
		if diff := differ(m.asMade, m.state); diff != "" {
			t.Fatalf("state %d was changed by a later step (-was +is):\n%s", i, diff)
		}
	}
}

// mayMove is the diagram in docs/architecture.md, with the backward arcs.
func mayMove(from, to Phase) bool {
	exits := []Phase{Ignored, Cancelled, Failed, Errored}
	again := []Phase{Preparing, SlotReserving, InitialProving, Filling} // Its fill was taken back.
	allowed := map[Phase][]Phase{
		Unknown:          {Preparing},
		Preparing:        append(exits, SlotReserving, Downloading /* adopted */, Filled /* found ours */),
		SlotReserving:    append(exits, Downloading, Filled),
		Downloading:      append(exits, InitialProving, Filled),
		InitialProving:   append(exits, Filling, Filled),
		Filling:          append(exits, Filled, InitialProving /* outdated */),
		Filled:           {Proving, ProvingSimulated, Payout, Cancelled, Failed, Errored, Filling, InitialProving},
		Proving:          {Payout, Cancelled, Failed, Errored, Filling, InitialProving},
		ProvingSimulated: {Payout, Cancelled, Failed, Errored, Filling, InitialProving},
		Payout:           append([]Phase{Finished, Errored, Filled /* the end was taken back */}, again...),
		Finished:         {Preparing},
		Ignored:          {Preparing, Filled /* late fill */},
		Cancelled:        append([]Phase{Filled, Errored}, again...),
		Failed:           append([]Phase{Filled, Errored /* dropped */}, again...),
		Errored:          {Preparing, Filled},
	}
	return from == to || slices.Contains(allowed[from], to)
}

// ------------------------------------------------------------------- commands
