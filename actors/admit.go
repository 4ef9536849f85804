package actors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file decides whether the host can take one more slot besides those that it has.

// admit compares a slot on offer with all other sales. It runs in the supervisor's turn; the
// candidate itself is no longer counted among the others.
func (s *supervisor) admit(m saleReady) *admission.Refusal {
	r := m.start.Request
	n := admission.Affordable{
		MaxSame: s.SlotsPerRequest(r), MaxProofLoad: s.ProofLoad, Balance: m.balance,
		Days: s.WalletDays, MinWei: s.MinWei,
	}
	n.Collateral, _ = r.Ask.CollateralPerSlot()
	for _, ag := range s.agents {
		if ag.request == r.ID && (ag.starting || !ag.state.Ended()) { // An ended sale gives its space back.
			n.SameRequest++
		}
		if ag.inWork() {
			n.InWork++
		}
	}
	for _, c := range s.onTheirWay() {
		if c.request == r.ID {
			n.SameRequest++
		}
		if !c.start.Adopted {
			n.InWork++
		}
	}
	if s.Cluster == nil { // In a cluster, the member that is to sell the slot judges that.
		if no := s.fits(r); no != nil {
			return no
		}
		n.ProofLoad, n.ProofDetail = s.BusyWith(r)
	}
	n.Unpaid = s.unpaid()
	n.Proofs = s.ProofsWithin(n.Days, s.ProofsOfAll()+s.ExpectedProofs(r))
	return n.Judge()
}

// fits judges whether the disk of this machine has room for one more slot.
func (s *supervisor) fits(r events.Request) *admission.Refusal {
	size := r.Ask.SlotSize + s.Overhead(r.Ask.SlotSize)
	if why := s.Room.Fits(size, s.promised()); why != "" {
		return &admission.Refusal{Criterion: slotqueue.CriterionDisk, Reason: why, Requeue: true}
	}
	return nil
}

// admitHere judges what only the member knows that is to sell a slot: its disk and its prover.
func (s *supervisor) admitHere(r events.Request) *admission.Refusal {
	if no := s.fits(r); no != nil {
		return no
	}
	n := admission.Affordable{MaxSame: 1, MaxProofLoad: s.ProofLoad}
	n.ProofLoad, n.ProofDetail = s.BusyWith(r)
	return n.Judge()
}

// inWork reports whether the sale has yet to pay its collateral.
func (ag *agent) inWork() bool {
	if ag.starting {
		return !ag.start.Adopted
	}
	return ag.state.BeforeFill() && !ag.state.Adopted
}

// asked is the request of the sale.
func (ag *agent) asked() events.Request {
	if ag.starting {
		return ag.start.Request
	}
	return ag.state.Request
}

// collateral is what the slot of the sale costs.
func (ag *agent) collateral() events.Amount {
	collateral, _ := ag.asked().Ask.CollateralPerSlot()
	return collateral
}

// seller is the member that runs the sale, given the name of this one.
func (ag *agent) seller(here events.Member) events.Member {
	if ag.far != "" {
		return ag.far
	}
	return here
}

// onTheirWay are the slots that are being handed out, or were by a former owner, and whose sales have not begun: what
// bounds the sales bounds them together with these.
func (s *supervisor) onTheirWay() iter.Seq2[events.SlotID, *candidate] {
	return func(yield func(events.SlotID, *candidate) bool) {
		for slot, c := range s.beginning {
			if s.agents[slot] == nil && (c.asked != "" || c.member != "") && !yield(slot, c) {
				return
			}
		}
	}
}

// unpaid is the collateral that sales in work have not paid yet. The queue counts slots on their way, when it hands
// one out.
func (s *supervisor) unpaid() (sum events.Amount) {
	for _, ag := range s.agents {
		if ag.inWork() {
			sum = sum.AddSaturating(ag.collateral())
		}
	}
	return sum
}

// unpaidSales are the sales in work, which have not paid yet, and those that are about to begin because a former owner
// handed their slots out: it may have released them after this one read the queue.
func (s *supervisor) unpaidSales() (list []slotqueue.Unpaid) {
	for _, slot := range s.slots() {
		if ag := s.agents[slot]; ag.inWork() {
			list = append(list, slotqueue.Unpaid{
				RequestID: ag.request, SlotIndex: ag.index, Collateral: ag.collateral(),
			})
		}
	}
	for _, c := range s.onTheirWay() {
		if c.handing && c.member != "" {
			list = append(list, c.unpaid())
		}
	}
	return list
}

// unpaid is what the slot will cost once it is handed out; nothing if it is adopted, or not known yet.
func (c *candidate) unpaid() slotqueue.Unpaid {
	var collateral events.Amount
	if !c.start.Adopted {
		collateral, _ = c.start.Request.Ask.CollateralPerSlot()
	}
	return slotqueue.Unpaid{RequestID: c.request, SlotIndex: c.index, Collateral: collateral}
}

// paid are the blocks in which sales paid their collateral, as far as is recorded, but for those that are final: only
// the newest of these, which a node that is behind may not know. On a chain without one of them the account still
// holds the tokens of a sale that is not counted as unpaid.
func (s *supervisor) paid() (blocks []events.Head) {
	final, newest := s.View.Now().Number, events.Head{}
	final -= min(final, s.FinalBlocks)
	for _, slot := range s.slots() {
		ag := s.agents[slot]
		b := events.Head{Number: ag.state.FilledBlock, Hash: ag.state.FilledHash}
		if newest.Number < b.Number {
			newest = b
		}
		if b.Number > final && !slices.Contains(blocks, b) {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 && newest.Number > 0 {
		blocks = append(blocks, newest)
	}
	return blocks
}

// paidSince reports whether a slot was paid, by the record, that is not among these. It is not counted as unpaid, and
// the balance may be that before it was paid.
func (s *supervisor) paidSince(known []events.Head) bool {
	return slices.ContainsFunc(s.paid(), func(p events.Head) bool { return !slices.Contains(known, p) })
}

// beforePayment refuses a slot until the balance is one from after all payments.
func (s *supervisor) beforePayment(why error) *admission.Refusal {
	return &admission.Refusal{
		Criterion: slotqueue.CriterionTokens, Requeue: true, RetryAt: s.ChainTime().Add(queue.FundsEvery),
		Reason: why.Error(),
	}
}

// candidate is a slot whose sale is about to begin.
type candidate struct {
	request events.RequestID
	index   uint64
	by      events.EventID // what took the slot; zero: it is adopted, or not known
	workers []shell.Ref
	// member is to whom the slot was handed out before; start is the sale's. handing: it is being
	// handed out now, and asked is the member that is asked first.
	member  events.Member
	start   sale.Start
	handing bool
	asked   events.Member
	held    bool // it begins when the leftovers of an earlier sale are deleted
	// over is the sale's end, if that came before the answer of the member that sold the slot.
	over *sales.Changed
}

// forget drops a sale that is over.
func (s *supervisor) forget(m sales.Changed) {
	delete(s.agents, m.Slot)
	if c := s.beginning[m.Slot]; c != nil && c.handing && m.State.BeganAt.Equal(c.start.At) {
		c.over = &m
	}
}

// listUnpaid asks for the sales in work, which have not paid yet; the answer is unpaid.
type (
	listUnpaid struct{}
	unpaid     struct {
		sales     []slotqueue.Unpaid
		paid      []events.Head
		handedOut uint64 // how many slots were, by this process
	}
)

// free returns what the account holds, and the sales that have yet to pay. They are listed only now, because other
// slots were handed out while members were asked; and the balance is read after that: what was paid in between is then
// missing in both, and not counted as free. A slot that was handed out in between may be paid already, so then both
// are read again. It refuses while the node's chain does not have what was paid.
func (s *supervisor) free(ctx context.Context) (
	events.Amount, []slotqueue.Unpaid, *admission.Refusal, error,
) {
	before, err := shell.Ask[unpaid](s.root, listUnpaid{}).Wait(ctx)
	for {
		if err != nil {
			return events.Amount{}, nil, nil, err
		}
		balance, failed := s.Market.Balance(ctx, before.paid...)
		if errors.Is(failed, events.ErrBeforePayment) {
			return events.Amount{}, nil, s.beforePayment(failed), nil
		}
		if failed != nil {
			return events.Amount{}, nil, nil, fmt.Errorf("read the balance: %w", failed)
		}
		var after unpaid
		after, err = shell.Ask[unpaid](s.root, listUnpaid{}).Wait(ctx)
		if err == nil && after.handedOut == before.handedOut {
			return balance.Tokens, before.sales, nil, nil
		}
		before = after
	}
}

// needs is what the account must hold for the slots that are hosted or in work.
func (s *supervisor) needs() health.Funds {
	n := health.Funds{MinWei: s.MinWei, Days: s.WalletDays, Unpaid: s.unpaid()}
	n.Proofs = s.ProofsWithin(n.Days, s.ProofsOfAll())
	return n
}

// tellTerms logs what a new sale pays and what it will cost. Tokens and coins cannot be
// compared, so the operator decides what is a profit, with the minimum price of an
// availability.
func (s *supervisor) tellTerms(start sale.Start, balance events.Balance) {
	ask := start.Request.Ask
	price, _ := ask.PricePerSecond()
	left := max(0, start.EndsAt.Sub(start.At))
	seconds, day := uint64(left/time.Second), uint64(24*time.Hour/time.Second)
	perDay := s.ProofsWithin(1, s.ExpectedProofs(start.Request))
	proofs := events.NewAmount(perDay).MulSaturating(seconds).AddSaturating(events.NewAmount(day - 1)).Div(day)
	gas := balance.SaleWei.AddSaturating(balance.ProofWei.MulSaturating(perDay).MulSaturating(seconds).Div(day))
	s.Log.WithField("slot", start.Slot.String()).Infof(
		"a sale begins: it pays at most %s base units in %s, and needs about %s proofs and %s wei of gas in all",
		price.MulSaturating(seconds), left, proofs, gas)
}
