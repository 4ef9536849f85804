package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// examineBeside examines a slot beside the actor; the answer is saleReady.
func (s *supervisor) examineBeside(a *shell.Turn, slot events.SlotID, c *candidate) {
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
func (s *supervisor) examine(
	ctx context.Context, slot events.SlotID, request events.RequestID, index uint64, paid []events.Head,
) (saleReady, error) {
	var ready saleReady
	entry := s.Log.WithField("slot", slot.String())
	err := s.untilDone(ctx, "begin/"+slot.String(), entry, "waiting to begin a sale", never,
		func(ctx context.Context) (err error) {
			ready, err = shell.In(ctx, s.reads, time.Time{}, func() (saleReady, error) {
				return s.examineOnce(ctx, slot, request, index, paid)
			})
			return err
		})
	return ready, err
}

func (s *supervisor) examineOnce(
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
		EndsAt: facts.RequestEnd, FailEvery: s.FailEveryNProofs,
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
func (s *supervisor) dropped(ctx context.Context, slot events.SlotID, facts events.SlotFacts) (bool, error) {
	if facts.SlotState != events.SlotFailed {
		return false, nil
	}
	owned, err := s.Market.MySlots(ctx)
	if err != nil {
		return false, fmt.Errorf("read which slots are ours: %w", err)
	}
	return !slices.ContainsFunc(owned, func(o events.OwnedSlot) bool { return o.Slot == slot }), nil
}
