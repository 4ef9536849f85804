package projections

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

func TestADutyThatLapsesIsCounted(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	period := w.Due(slot, 1)
	w.MustSale(slot, sale.ReportProofExcused{At: w.Now, Period: period, Reason: "the challenge moved"})
	w.Due(slot, 2)
	w.Finish(slot, 131072)
	v := built(t, store)
	want := Proofs{Due: 2, Excused: 1, Lapsed: 1}
	if got := v.Sales().Sales[0].Proofs; got != want {
		t.Fatalf("proofs %+v", got)
	}
	if got := v.Earnings().Earnings[0].Proofs; got != want {
		t.Fatalf("proofs in all %+v", got)
	}
	ledger := v.Proofs().Slots
	if len(ledger) != 1 || ledger[0].Totals != want || !ledger[0].Over || ledger[0].Forgotten != 0 {
		t.Fatalf("ledger %+v", ledger)
	}
	var told []string
	for _, p := range ledger[0].Periods {
		told = append(told, fmt.Sprintf("%s: %s", p.Outcome, p.Reason))
	}
	if diff := cmp.Diff([]string{"excused: the challenge moved", "lapsed: The request has ended; the payout is due."}, told); diff != "" {
		t.Fatalf("periods (-want +got):\n%s", diff)
	}
}

// A duty that is owed again, because an end was taken back or its challenge moved again, is one
// duty, and counts by its last outcome.
func TestADutyThatIsOwedAgainIsCountedOnce(t *testing.T) {
	for name, again := range map[string]func(*history.Writer, events.SlotID){
		"its end was taken back": func(w *history.Writer, slot events.SlotID) {
			w.MustSale(slot, w.Facts(slot, true, events.SlotFinished, events.RequestFinished),
				w.Facts(slot, true, events.SlotFilled, events.RequestStarted),
				sale.ReportExtended{At: w.Now, Until: w.Sales[slot].EndsAt})
		},
		"its loss was taken back": func(w *history.Writer, slot events.SlotID) {
			w.MustSale(slot, w.Facts(slot, false, events.SlotRepair, events.RequestStarted),
				w.Facts(slot, true, events.SlotFilled, events.RequestStarted),
				sale.ReportExtended{At: w.Now, Until: w.Sales[slot].EndsAt})
		},
		"its fill was taken back": func(w *history.Writer, slot events.SlotID) {
			w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestNew),
				w.Facts(slot, true, events.SlotFilled, events.RequestStarted),
				sale.ReportExtended{At: w.Now, Until: w.Sales[slot].EndsAt})
		},
		"it was excused": func(w *history.Writer, slot events.SlotID) {
			w.MustSale(slot, sale.ReportProofExcused{
				At: w.Now, Period: w.Sales[slot].Duties[0].Period, Reason: "the challenge moved",
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := storetest.NewMemory()
			w := history.New(t, store, me)
			w.Offer(1)
			slot := w.Begin(w.Request(1))
			w.Fill(slot)
			w.Due(slot, 1)
			again(w, slot)
			if v := built(t, store).Sales().Sales[0].Proofs; v.Open != 0 || v.Lapsed+v.Excused != 1 {
				t.Fatalf("before it is owed again: %+v", v)
			}
			period := w.Due(slot, 1)
			for _, want := range []Proofs{{Due: 1, Open: 1}, {Due: 1, Submitted: 1}} {
				v := built(t, store)
				l := v.Proofs().Slots[0]
				if got := v.Sales().Sales[0].Proofs; got != want || l.Totals != want {
					t.Fatalf("proofs %+v, in the ledger %+v, want %+v", got, l.Totals, want)
				}
				if got := v.Earnings().Earnings[0].Proofs; got != want {
					t.Fatalf("proofs in all %+v, want %+v", got, want)
				}
				if len(l.Periods) != 1 || l.Periods[0].Period != period || l.Forgotten != 0 {
					t.Fatalf("periods %+v", l.Periods)
				}
				w.MustSale(slot, sale.ReportProofSubmitted{At: w.Now, Period: period, Receipt: w.Receipt("proof")})
			}
		})
	}
}

func TestThePeriodsOfASlotAreKeptUpToALimitAndAllCounted(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.Miss(slot, 1, 100_000)
	for n := range uint64(5) {
		w.Prove(slot, n+2)
	}
	open := w.Due(slot, 7)
	v, err := ViewsAt(ctx, store, Scope{Limits: Limits{ClosedPeriods: 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := v.Proofs().Slots[0]
	want := Proofs{Due: 7, Open: 1, Submitted: 5, Missed: 1}
	if l.Totals != want || l.Forgotten != 3 || len(l.Periods) != 4 || l.Periods[3].Period != open {
		t.Fatalf("ledger %+v", l)
	}
	if p := l.Periods[2]; p.Outcome != ProofSubmitted || p.TxHash == "" || p.TookMilliseconds != 1000 {
		t.Fatalf("period %+v", p)
	}
	miss := built(t, store).Proofs().Slots[0].Periods[0]
	if miss.Outcome != ProofMissed || miss.Slashed != "31072" || !miss.ClosedAt.After(miss.Deadline) {
		t.Fatalf("miss %+v", miss)
	}
}
