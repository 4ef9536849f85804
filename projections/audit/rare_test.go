package audit

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

func TestRareLivesAreInOrder(t *testing.T) {
	for name, live := range map[string]func(w *history.Writer){
		"a fill is reverted, given up, and stands after all": func(w *history.Writer) {
			slot := w.Begin(w.Request(1))
			w.Fill(slot)
			w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestNew),
				sale.GiveUp{At: w.Now, Reason: "no more"},
				w.Facts(slot, true, events.SlotFilled, events.RequestNew))
			w.MustSale(slot, sale.ReportExtended{At: w.Now, Until: w.Now})
			w.Finish(slot, 131072)
		},
		"a slot leaves the market while it is taken, and comes back": func(w *history.Writer) {
			r := w.Request(1)
			w.Enqueue(r)
			w.AskQueue(slotqueue.Remove{At: w.Now, RequestID: r.ID})
			w.Enqueue(r)
			w.AskQueue(slotqueue.Remove{At: w.Now, RequestID: r.ID})
			w.Enqueue(r)
			w.Dequeue(r, "ignored")
			w.AskQueue(slotqueue.Take{At: w.Now, MaxWorkers: 1})
			w.Dequeue(r, "ignored")
		},
		"a sale ends before it learns of its reservation": func(w *history.Writer) {
			r := w.Request(1)
			slot := events.SlotIDOf(r.ID, 1)
			w.MustSale(slot, sale.Start{At: w.Now, Slot: slot, Index: 1, Request: r, EndsAt: w.Now.Add(time.Hour)})
			if err := w.Claim(slot); err != nil {
				w.T.Fatalf("claim: %v", err)
			}
			w.MustSale(slot, sale.GiveUp{At: w.Now, LetGo: true})
			w.Settle(slot)
			if again := w.Begin(r); w.Sales[again].Attempt != 2 {
				w.T.Fatalf("attempt %d", w.Sales[again].Attempt)
			}
		},
	} {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Offer(4)
		live(w)
		if report := audited(t, store, Options{}); len(report.Findings) > 0 {
			t.Errorf("%s: %v", name, report.Findings)
		}
	}
}
