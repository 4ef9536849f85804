package audit

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// Periods of a long gap may be recorded after the first duty that follows it, but none twice.
func TestAGapThatIsToldLateIsInOrder(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(4)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.Prove(slot, 1)
	last := w.Due(slot, 4*sale.RememberedPeriods)
	for _, period := range []uint64{last - 2, last - 3*sale.RememberedPeriods, last - 2*sale.RememberedPeriods} {
		end := events.Unix((period + 1) * uint64(history.Period/time.Second))
		w.MustSale(slot, sale.ReportSilentPeriod{
			At: end.Add(time.Hour), Period: period, Challenge: events.Challenge{7}, Deadline: end.Add(-time.Second),
			Reason: "the host did not run",
		})
	}
	r := &record{list: recorded(t, store)}
	if report := audited(t, r, Options{}); len(report.Findings) > 0 {
		t.Fatalf("in order: %v", report.Findings)
	}
	due, missed := r.list[r.at("ProofDue", 3)], r.list[r.at("ProofMissed", 1)]
	for _, e := range []events.Recorded{due, missed} {
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		r.insert(len(r.list), e.Stream, m)
	}
	if found := audited(t, r, Options{}).Findings; len(found) != 1 || found[0].Rule != ProofDueAgain {
		t.Fatalf("a period that is told twice: %v", found)
	}
}

// A fill that is taken back takes both ends with it.
func TestWhatLapsedBeforeTwoEndsMayBeDueAgain(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.Due(slot, 5)
	w.MustSale(slot, w.Facts(slot, true, events.SlotCancelled, events.RequestCancelled))
	w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestNew))
	receipt := w.Receipt("fill again")
	w.MustSale(slot, sale.ReportFilled{At: w.Now, Fill: events.Fill{
		Receipt: receipt, FilledAt: w.Now, Block: receipt.Block.Number, Collateral: w.Sales[slot].Committed,
	}})
	w.Due(slot, 5)
	for _, f := range audited(t, &record{list: recorded(t, store)}, Options{}).Findings {
		if f.Rule == ProofDueAgain {
			t.Error(f)
		}
	}
}
