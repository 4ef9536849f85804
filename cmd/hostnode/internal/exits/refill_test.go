package exits

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// The rows of this file are slots that the contract took from us for missed proofs,
// and that we fill again with the data that is still here.

// refilled is a market with longer periods, a host that has repaired slot 0 of a
// request and proves it, and a watchdog that marks some misses of it: with the second one
// the slot is in repair once more.
func refilled(t *testing.T, marks int) (*host, events.SlotCall, *watchdog, purses) {
	w := newWorldOf(t, func(m *events.MarketConfig) {
		m.Proofs.Period, m.Proofs.Timeout = time.Minute, 30*time.Second
		m.Proofs.Downtime = 1 // A proof is owed in nearly every period.
	})
	h := w.newHost(options{noOffer: true, slots: 3})
	r, rivals := h.running(terms{
		probability: 1, expiry: 150 * time.Second, duration: 700 * time.Second, maxLoss: 1,
	})
	before := w.count("validator")
	c := callOf(r, 0)
	rivals[0].frees(c)
	h.comesTo(c, sale.Proving)
	return h, c, w.watchdog(c.Slot, marks), before
}

// paidAfterRefill compares the end of a slot that was filled twice with the matrix: the first
// collateral is lost, and the second attempt is paid in full.
func (h *host) paidAfterRefill(c events.SlotCall, before purses) {
	h.t.Helper()
	h.settles(c, outcome{
		phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
	})
	s := h.sale(c.Slot)
	if s.Attempt != 2 || s.Refills != 1 || !s.Repair || s.Missed > 0 || s.Submitted == 0 {
		h.t.Errorf("attempt %d, refilled %d times, repair %t, proved %d periods and missed %d",
			s.Attempt, s.Refills, s.Repair, s.Submitted, s.Missed)
	}
	// Both fills had the discount; the first is lost whole.
	paid := collateral - collateral/10
	gain := earned(s.FilledAt, s.EndsAt) + collateral/10 - paid
	h.nothingLeft(collateral)
	h.w.moved(before, map[string]int64{
		"host": gain, "validator": 2*reward + 1, "contract": -gain - 2*reward,
	})
}

func (w *world) period() uint64 { return duty.Period(w.config.Proofs, w.now()) }

// proved reports whether the record has the proof of a period.
func (h *host) proved(slot events.SlotID, period uint64) bool {
	for _, e := range h.events(slot) {
		if e, submitted := e.(*messages.ProofSubmitted); submitted && e.GetPeriod() == period {
			return true
		}
	}
	return false
}

// The second miss is marked in a period that has its proof already, in which the
// contract takes no fill.
func TestASlotThatWasTakenFromUsIsFilledAgainAndPaid(t *testing.T) {
	h, c, dog, before := refilled(t, 2)
	w, taken := h.w, uint64(0)
	h.sealed = func() { // Even periods are missed, odd ones are proven, until the slot is lost.
		now, next := w.period(), duty.Period(w.config.Proofs, w.now().Add(time.Second))
		switch {
		case dog.marks == dog.most:
			h.prover.stop(nil)
			return
		case next%2 == 0:
			h.prover.stop(errBusy)
		case now%2 == 1:
			h.prover.stop(nil)
		}
		if dog.marks == 0 || now%2 == 1 && h.proved(c.Slot, now) {
			if dog.look(); dog.marks == dog.most {
				taken = now
			}
		}
	}
	h.until("the slot is taken from us", func() bool { return taken > 0 })
	h.until("the slot is filled again", func() bool {
		s := h.sale(c.Slot)
		return s.Attempt == 2 && s.Phase == sale.Proving
	})
	if filled := duty.Period(w.config.Proofs, h.sale(c.Slot).FilledAt); filled <= taken {
		t.Errorf("filled again in period %d, want one after %d, which had its proof", filled, taken)
	}
	facts, err := h.market.Slot(t.Context(), c.Request, c.Index)
	ok(t, err)
	if want := events.NewAmount(uint64(collateral)); facts.Host != w.account("host") || facts.Collateral != want {
		t.Errorf("the slot is of %s with %s, want ours with %s", facts.Host, facts.Collateral, want)
	}
	h.paidAfterRefill(c, before)
}

// goesDown stops the host until the watchdog has marked all its misses, and starts it again
// from its record. It says how the slot was before.
func (h *host) goesDown(c events.SlotCall, dog *watchdog) (*host, sale.State) {
	h.t.Helper()
	h.until("a proof is submitted", func() bool { return h.sale(c.Slot).Submitted > 0 })
	was := h.sale(c.Slot)
	h.stop()
	for n := 0; dog.marks < dog.most; n++ {
		if n > maxBlocks {
			h.t.Fatalf("%d blocks, and only %d misses are marked", n, dog.marks)
		}
		h.w.seal(1)
		dog.look()
	}
	return h.w.start("host", h.options), was
}

// The host hears of nothing until the slot is lost.
func TestASlotThatWasTakenWhileTheHostWasDownIsFilledAgainAndPaid(t *testing.T) {
	furtherExit(t)
	h, c, dog, before := refilled(t, 2)
	h, was := h.goesDown(c, dog)
	h.paidAfterRefill(c, before)
	var lost bool
	for _, e := range h.events(c.Slot) {
		switch e := e.(type) {
		case *messages.SlotForfeited:
			lost = true
		case *messages.SaleSettled:
			if want := was.Collateral.String(); !lost || e.GetCollateralLost() != want {
				t.Errorf("settled with a loss of %s, the slot told as lost: %t; want %s", e.GetCollateralLost(), lost, want)
			}
			return // The next attempt lost nothing, as the ledger shows.
		}
	}
	t.Error("the first attempt was never settled")
}

// Misses while the host was down are reported when it is back, with what they cost.
func TestMissesWhileTheHostWasDownAreToldWithWhatTheyCost(t *testing.T) {
	furtherExit(t)
	h, c, dog, before := refilled(t, 1)
	h, was := h.goesDown(c, dog)
	down := h.w.period()
	h.settles(c, outcome{
		phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
	})
	var missed, slashed uint64
	for _, e := range h.events(c.Slot) {
		switch e := e.(type) {
		case *messages.ProofMissed:
			if p := e.GetPeriod(); p <= was.LastPeriod-1 || p > down {
				t.Errorf("period %d is missed, want periods from %d to %d only", p, was.LastPeriod, down)
			}
			missed++
		case *messages.CollateralSlashed:
			slashed += events.Must(events.ParseAmount(e.GetSlashed())).Big().Uint64()
		}
	}
	if s := h.sale(c.Slot); missed == 0 || s.Missed != missed || s.Attempt != 1 {
		t.Errorf("%d misses are told in attempt %d, and %d counted", missed, s.Attempt, s.Missed)
	}
	if slashed != uint64(slash) {
		t.Errorf("the record says that %d was slashed, want %d", slashed, slash)
	}
	s := h.sale(c.Slot)
	gain := earned(s.FilledAt, s.EndsAt) + collateral/10 - slash
	h.nothingLeft(slash)
	h.w.moved(before, map[string]int64{"host": gain, "validator": reward + 1, "contract": -gain - reward})
}
