package exits

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/audit"
)

var paidOut = []string{"PayoutReceived", "DataDeleted", "SaleSettled"}

func TestAFinishedSaleBringsItsRewardAndItsCollateral(t *testing.T) {
	w := newWorldOf(t, func(m *events.MarketConfig) { m.Proofs.Period = time.Minute })
	h := w.newHost(options{slots: 3})
	before := w.count()
	r := w.post(terms{probability: 1, expiry: 300 * time.Second, duration: 600 * time.Second, maxLoss: 1})
	var reward int64
	for index := range r.Ask.Slots {
		h.settles(callOf(r, index), outcome{
			phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
		})
		s := h.sale(events.SlotIDOf(r.ID, index))
		if s.Missed > 0 || s.Submitted == 0 {
			t.Errorf("slot %d proved %d periods and missed %d", index, s.Submitted, s.Missed)
		}
		reward += earned(s.FilledAt, s.EndsAt)
	}
	h.nothingLeft(0)
	w.moved(before, map[string]int64{
		"client": -3 * seconds(600), "host": reward, "contract": 3*seconds(600) - reward,
	})
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -reward, "host": reward})
}

func TestARewardGoesToItsRecipientAndTheCollateralToTheHost(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{slots: 3, recipient: w.account("treasury")})
	before := w.count("treasury")
	r := w.post(terms{probability: noProofs, expiry: 160 * time.Second, duration: 300 * time.Second, maxLoss: 1})
	var reward int64
	for index := range r.Ask.Slots {
		h.settles(callOf(r, index), outcome{
			phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
		})
		s := h.sale(events.SlotIDOf(r.ID, index))
		reward += earned(s.FilledAt, s.EndsAt)
	}
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -reward, "treasury": reward})
}

func TestACancelledRequestPaysUntilItsExpiry(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	before := w.count()
	r := w.post(terms{probability: noProofs, expiry: 160 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	c := h.picks(r)
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotPaid, story: append([]string{"SaleCancelled"}, paidOut...),
	})
	s := h.sale(c.Slot)
	reward := earned(s.FilledAt, s.ExpiresAt)
	h.nothingLeft(0)
	w.moved(before, map[string]int64{
		"client": -3 * seconds(400), "host": reward, "contract": 3*seconds(400) - reward,
	})
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -reward, "host": reward})
}

func TestACancelledRequestPaysItsRecipient(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{recipient: w.account("treasury")})
	before := w.count("treasury")
	r := w.post(terms{probability: noProofs, expiry: 160 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	c := h.picks(r)
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotPaid, story: append([]string{"SaleCancelled"}, paidOut...),
	})
	s := h.sale(c.Slot)
	reward := earned(s.FilledAt, s.ExpiresAt)
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -reward, "treasury": reward})
}

// running is a request that has started: rivals a, b and c have its slots. The host offers
// nothing before that.
func (h *host) running(o terms) (events.Request, []rival) {
	h.t.Helper()
	r := h.w.post(o)
	rivals := []rival{h.w.rival("a"), h.w.rival("b"), h.w.rival("c")}
	for i, rival := range rivals {
		rival.takes(callOf(r, uint64(i)))
	}
	h.offer()
	return r, rivals
}

func TestARepairIsPaidWithItsDiscount(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{noOffer: true, slots: 3})
	r, rivals := h.running(terms{
		probability: noProofs, expiry: 200 * time.Second, duration: 500 * time.Second, maxLoss: 1,
	})
	before := w.count()
	c := callOf(r, 0)
	rivals[0].frees(c) // It gives up, and loses what it had there.
	h.settles(c, outcome{
		phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
	})
	s := h.sale(c.Slot)
	if !s.Repair {
		t.Error("the sale does not know that it was a repair")
	}
	reward := earned(s.FilledAt, s.EndsAt) + collateral/10
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"host": reward, "contract": -reward})
}

func TestASlotThatTheRecordDoesNotKnowIsAdoptedAndPaid(t *testing.T) {
	w := newWorld(t)
	w.give("host", hostTokens)
	before := w.count()
	ours := w.brute("host") // The former host, whose record is lost.
	r := w.post(terms{probability: noProofs, expiry: 200 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	ours.takes(callOf(r, 0))
	filledAt := w.now()
	w.rival("b").takes(callOf(r, 1))
	w.rival("c").takes(callOf(r, 2))
	h := w.newHost(options{poor: true, takeOver: true})
	c := callOf(r, 0)
	h.settles(c, outcome{
		phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
	})
	s := h.sale(c.Slot)
	if !s.Adopted {
		t.Error("the sale does not know that it was adopted")
	}
	reward := earned(filledAt, s.EndsAt)
	h.nothingLeft(0)
	w.moved(before, map[string]int64{
		"client": -3 * seconds(400), "host": reward, "contract": 3*seconds(400) - reward + 2*collateral,
	})
}

func TestASlotThatEndedBeforeItWasAdoptedIsPaid(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	w.give("host", hostTokens)
	before := w.count()
	ours := w.brute("host")
	r := w.post(terms{probability: noProofs, expiry: 100 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	ours.takes(callOf(r, 0))
	filledAt := w.now()
	c := callOf(r, 0)
	w.seal(200)
	h := w.newHost(options{poor: true, takeOver: true})
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotPaid, story: append([]string{"SlotFilled", "SaleCancelled"}, paidOut...),
	})
	reward := earned(filledAt, h.sale(c.Slot).ExpiresAt)
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -reward, "host": reward})
}

// A wallet with our key frees the slot before the host thinks that the end is final.
func TestAPayoutOfAnotherProgramWithOurKeyIsToldOnce(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	before := w.count()
	r := w.post(terms{probability: noProofs, expiry: 160 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	c := h.picks(r)
	h.comesTo(c, sale.Proving)
	wallet, freed := rival{w, "host"}, false
	expires := h.sale(c.Slot).ExpiresAt
	h.sealed = func() {
		if !freed && w.now().After(expires) {
			freed = true
			wallet.frees(c)
		}
	}
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotPaid, story: append([]string{"SaleCancelled"}, paidOut...),
	})
	if !freed {
		t.Fatal("the host was paid before the other program came")
	}
	s := h.sale(c.Slot)
	gain := earned(s.FilledAt, s.ExpiresAt)
	for _, e := range h.events(c.Slot) {
		if e, paid := e.(*messages.PayoutReceived); paid {
			want := []string{events.NewAmount(uint64(gain)).String(), events.NewAmount(uint64(collateral)).String()}
			if got := []string{e.GetReward(), e.GetCollateral()}; !slices.Equal(got, want) {
				t.Errorf("the record says reward and collateral are %v, want %v", got, want)
			}
		}
	}
	h.nothingLeft(0, audit.ReceiptWithoutTransaction) // The operator should know of that program.
	w.withdraws(r)
	w.moved(before, map[string]int64{"host": gain, "client": -gain})
}
