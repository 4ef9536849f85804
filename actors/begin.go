package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file begins the sale of a slot on offer: the chain is asked about the slot, and the host judges whether it can
// take one more beside those that it has.

// beginnings begin the sales of slots, of which workers ask for most.
type beginnings struct {
	*roster
	handout     *handout
	panics      *panics
	root, queue *shell.Part
	reads       *shell.Pool
	failEvery   uint32
}

// Messages about sales that begin.
type (
	// saleReady is the chain's answer about a slot whose sale may begin.
	saleReady struct {
		slot    events.SlotID
		start   sale.Start
		balance events.Balance
		paid    []events.Head // roster.paid, from before the balance was read
		refused *admission.Refusal
	}
	// examineFailed: examining a slot on offer panicked.
	examineFailed struct {
		slot events.SlotID
		err  error
	}
)

func (s *beginnings) onBegin(a *shell.Turn, m sales.Begin) {
	slot, worker := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex), s.RT.At(m.Worker)
	if ag := s.agents[slot]; ag != nil {
		if ag.Left != "" {
			worker.Tell(admission.Refusal{
				Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + ag.Left,
			})
			return
		}
		s.watch(ag, worker)
		return
	}
	if q, ok := s.quarantined.Has(shell.Subject{Kind: shell.SubjectSlot, Key: slot.String()}); ok {
		worker.Tell(admission.Refusal{
			Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + q.Reason, Requeue: true,
		})
		return
	}
	s.candidate(a, slot, m.Work.RequestID, m.Work.SlotIndex, worker, m.By)
	s.beginning[slot].member = m.Work.Member
}

// candidate asks the chain about a slot before its sale begins. The zero worker means that the
// slot is to be adopted.
func (s *beginnings) candidate(
	a *shell.Turn, slot events.SlotID, request events.RequestID, index uint64, worker shell.Ref,
	by events.EventID,
) {
	if c := s.beginning[slot]; c != nil {
		c.request, c.index, c.by = request, index, by
		c.workers = append(c.workers, worker)
		return
	}
	c := &candidate{request: request, index: index, by: by, workers: []shell.Ref{worker}}
	s.beginning[slot] = c
	s.examineBeside(a, slot, c)
}

// examineBeside examines a slot beside the actor; the answer is saleReady.
func (s *beginnings) examineBeside(a *shell.Turn, slot events.SlotID, c *candidate) {
	request, index, paid := c.request, c.index, s.paid()
	a.Do(func(ctx context.Context) {
		var ready saleReady
		err := s.RT.Guarded("begin a sale", func() (err error) {
			ready, err = s.examine(ctx, slot, request, index, paid)
			return err
		})
		switch {
		case err == nil:
			s.root.Tell(ready)
		case ctx.Err() == nil:
			s.root.Tell(examineFailed{slot, err})
		}
	})
}

// examine asks the chain, before anything is recorded, whether a sale of the slot can begin:
// the request is known and sound, its client is not avoided, the slot is free or in repair,
// there is enough time, and the dispersal window is open. What depends on other sales is
// checked by admit. The balance is one from after these payments. It waits until the chain and the event store
// answer, and fails only when the host ends.
func (s *beginnings) examine(
	ctx context.Context, slot events.SlotID, request events.RequestID, index uint64, paid []events.Head,
) (saleReady, error) {
	var ready saleReady
	entry := s.Log.WithField("slot", slot.String())
	err := untilDone(ctx, s.Base, "begin/"+slot.String(), entry, "waiting to begin a sale", never,
		func(ctx context.Context) (err error) {
			ready, err = shell.In(ctx, s.reads, time.Time{}, func() (saleReady, error) {
				return s.examineOnce(ctx, slot, request, index, paid)
			})
			return err
		})
	return ready, err
}

func (s *beginnings) examineOnce(
	ctx context.Context, slot events.SlotID, request events.RequestID, index uint64, paid []events.Head,
) (saleReady, error) {
	refused := func(r admission.Refusal) (saleReady, error) { return saleReady{slot: slot, refused: &r}, nil }
	r, err := s.Market.Request(ctx, request)
	if errors.Is(err, events.ErrUnknownRequest) {
		return refused(admission.Refusal{
			Criterion: slotqueue.CriterionUnknown, Reason: "the chain does not know the request",
		})
	}
	if err != nil {
		return saleReady{}, fmt.Errorf("read the request: %w", err)
	}
	if err := events.CheckRequest(r); err != nil {
		// It was sound when it entered the queue, so the chain contradicts itself.
		return refused(admission.Refusal{
			Criterion: slotqueue.CriterionUnsound, Reason: err.Error(), Requeue: true,
			RetryAt: s.ChainTime().Add(queue.LookAgainAfter),
		})
	}
	facts, err := s.Market.Slot(ctx, request, index)
	if err != nil {
		return saleReady{}, fmt.Errorf("read the slot: %w", err)
	}
	ready := saleReady{slot: slot, paid: paid, start: sale.Start{
		At: facts.At.Time, Slot: slot, Index: index, Request: r,
		Repair: facts.SlotState == events.SlotRepair, ExpiresAt: facts.RequestExpiry,
		EndsAt: facts.RequestEnd, FailEvery: s.failEvery,
	}}
	if facts.Host == s.Me && facts.SlotState != events.SlotPaid { // Over, too: it must be freed.
		dropped, err := s.dropped(ctx, slot, facts)
		if err != nil {
			return saleReady{}, err
		}
		if !dropped {
			ready.start.Adopted = true
			return ready, nil
		}
	}
	if refusal := s.JudgeFacts(facts, ready.start); refusal != nil {
		return refused(*refusal)
	}
	client := queue.AvoidedClient{Client: r.Client, At: facts.At.Time}
	avoided, err := shell.Ask[*slotqueue.AvoidedClient](s.queue, client).Wait(ctx)
	if err != nil {
		return saleReady{}, err
	}
	if avoided != nil {
		return refused(admission.Refusal{
			Criterion: slotqueue.CriterionClient, Reason: queue.WhyAvoided(*avoided), Requeue: true,
			RetryAt: avoided.Until,
		})
	}
	ready.balance, err = s.Market.Balance(ctx, paid...)
	if errors.Is(err, events.ErrBeforePayment) {
		return refused(*s.beforePayment(err))
	}
	if err != nil {
		return saleReady{}, fmt.Errorf("read the balance: %w", err)
	}
	return ready, nil
}

// dropped reports whether the contract has let go of a slot of ours whose request failed. It
// goes on naming the host of such a slot, but does not list it any more: a sale of it would
// count the collateral as lost once more.
func (s *beginnings) dropped(ctx context.Context, slot events.SlotID, facts events.SlotFacts) (bool, error) {
	if facts.SlotState != events.SlotFailed {
		return false, nil
	}
	owned, err := s.Market.MySlots(ctx)
	if err != nil {
		return false, fmt.Errorf("read which slots are ours: %w", err)
	}
	return !slices.ContainsFunc(owned, func(o events.OwnedSlot) bool { return o.Slot == slot }), nil
}

func (s *beginnings) onReady(a *shell.Turn, m saleReady) {
	c := s.beginning[m.slot]
	if c == nil {
		return
	}
	if s.agents[m.slot] == nil && m.refused == nil && !m.start.Adopted && s.paidSince(m.paid) {
		s.examineBeside(a, m.slot, c) // The balance may be that before the payment.
		return
	}
	delete(s.beginning, m.slot)
	if ag := s.agents[m.slot]; ag != nil { // Another member began meanwhile.
		s.watch(ag, c.workers...)
		return
	}
	if m.refused == nil && !m.start.Adopted {
		m.refused = s.admit(m)
	}
	if m.refused != nil {
		for _, w := range c.workers {
			w.Tell(*m.refused)
			// A slot of ours is not given up for unsound terms: with them nobody could have
			// filled it.
			s.askOwned = s.askOwned || w.Nobody() && m.refused.Criterion == slotqueue.CriterionUnsound
		}
		return
	}
	s.logTerms(m.start, m.balance)
	if s.handout.cluster != nil {
		c.start = m.start
		if c.handing = true; m.start.Adopted {
			s.handout.placeAdopted(a, m.slot, c)
		} else {
			s.handout.handOut(a, m, c)
		}
		return
	}
	s.begin(a, m.start, c.by, c.workers)
}

// onExamineFailed puts a slot back into the queue, or refuses it when it failed twice.
func (s *beginnings) onExamineFailed(m examineFailed) {
	c := s.beginning[m.slot]
	delete(s.beginning, m.slot)
	if c == nil {
		return
	}
	leftAlone := s.panics.count(shell.Subject{Kind: shell.SubjectSlot, Key: m.slot.String()}, m.err)
	refused := admission.Refusal{
		Criterion: slotqueue.CriterionQuarantined, Reason: m.err.Error(), Requeue: true,
	}
	if !leftAlone {
		refused.RetryAt = s.ChainTime().Add(queue.LookAgainAfter)
	}
	for _, w := range c.workers {
		w.Tell(refused)
		s.askOwned = s.askOwned || w.Nobody() // A slot of ours is never given up: it must be proven.
	}
}

// admit compares a slot on offer with all other sales. It runs in the supervisor's turn; the
// candidate itself is no longer counted among the others.
func (s *beginnings) admit(m saleReady) *admission.Refusal {
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
	if s.handout.cluster == nil { // In a cluster, the member that is to sell the slot judges that.
		if no := s.fits(r); no != nil {
			return no
		}
		n.ProofLoad, n.ProofDetail = s.BusyWith(r)
	}
	n.Unpaid = s.outstanding()
	n.Proofs = s.ProofsWith(n.Days, s.ExpectedProofs(r), m.start.EndsAt)
	return n.Judge()
}

// logTerms logs what a new sale pays and what it will cost. Tokens and coins cannot be
// compared, so the operator decides what is a profit, with the minimum price of an
// availability.
func (s *beginnings) logTerms(start sale.Start, balance events.Balance) {
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
