package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file judges what the market offers: which slots enter the queue, and by which criterion
// the others are refused.

// judge turns an event of the market into commands for the queue. It waits until the ledger and
// the chain answer, and fails only when the host ends.
func (q *Queue) judge(ctx context.Context, n MarketNews) ([]slotqueue.Command, error) {
	at := q.ChainTime()
	remove := func(id string, reason string, indices ...uint64) ([]slotqueue.Command, error) {
		return []slotqueue.Command{slotqueue.Remove{
			At: at, RequestID: events.Must(events.ParseRequestID(id)), SlotIndices: indices,
			Reason: reason, MarketRevision: n.Revision,
		}}, nil
	}
	switch e := n.Event.(type) {
	case *messages.ChainStorageRequested:
		r := events.RequestFromMessage(e.GetRequest())
		return q.judgeSlots(ctx, n, r, shuffled(q.Me, r), false, events.TimeFromMessage(e.GetExpiresAt()))
	case *messages.ChainSlotFreed:
		return q.judgeFreed(ctx, n, e)
	case *messages.ChainRequestFulfilled:
		return remove(e.GetRequestId(), "all slots are filled")
	case *messages.ChainRequestFailed:
		return remove(e.GetRequestId(), "the request failed")
	case *messages.ChainRequestCancelled:
		return remove(e.GetRequestId(), "the request was cancelled")
	case *messages.ChainSlotFilled:
		return remove(e.GetRequestId(), "the slot is filled", e.GetSlotIndex())
	case *messages.ChainSlotReservationsFull:
		return q.judgeFull(ctx, n, e)
	case *messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
		return nil, nil
	}
	panic(fmt.Sprintf("actors: unknown market event %T", n.Event))
}

func (q *Queue) judgeFreed(
	ctx context.Context, n MarketNews, e *messages.ChainSlotFreed,
) ([]slotqueue.Command, error) {
	id := events.Must(events.ParseRequestID(e.GetRequestId()))
	var r events.Request
	var facts events.SlotFacts
	err := q.Retry(ctx, "freed/"+id.String(),
		func(err error) { q.Log.WithField("request", id).Warnf("look up a freed slot: %v", err) },
		func(err error) bool { return errors.Is(err, events.ErrUnknownRequest) },
		func(ctx context.Context) (err error) {
			if r, err = q.Market.Request(ctx, id); err != nil {
				return err
			}
			facts, err = q.Market.Slot(ctx, id, e.GetSlotIndex())
			return err
		})
	if errors.Is(err, events.ErrUnknownRequest) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return q.judgeSlots(ctx, n, r, []uint64{e.GetSlotIndex()}, true, facts.RequestEnd)
}

// judgeFull removes a slot whose slot reservations are all taken, unless one of them is ours:
// then nothing changes for us. Once all are taken their holders stay the same until the slot is
// freed, so any node that has the block of the last reservation can answer.
func (q *Queue) judgeFull(
	ctx context.Context, n MarketNews, e *messages.ChainSlotReservationsFull,
) ([]slotqueue.Command, error) {
	id := events.Must(events.ParseRequestID(e.GetRequestId()))
	cmd := slotqueue.Remove{
		At: q.ChainTime(), RequestID: id, SlotIndices: []uint64{e.GetSlotIndex()},
		Reason: "nobody else may reserve the slot", MarketRevision: n.Revision,
	}
	holds, err := shell.WhenUp(ctx, q.Base, "judge", func() shell.Question[bool] {
		return shell.Ask[bool](q.Part, queueHolds{id, e.GetSlotIndex()})
	})
	if err != nil || !holds {
		return []slotqueue.Command{cmd}, err
	}
	ours := false
	err = q.Retry(ctx, fmt.Sprintf("full/%s/%d", id, e.GetSlotIndex()),
		func(err error) {
			q.Log.WithField("request", id).Warnf("look up who reserved slot %d: %v", e.GetSlotIndex(), err)
		},
		func(error) bool { return false },
		func(ctx context.Context) (err error) {
			var at events.Head
			ours, at, err = q.Market.HoldsReservation(ctx, id, e.GetSlotIndex())
			if said := e.GetLog().GetBlock(); err == nil && at.Number < said {
				return fmt.Errorf("%w: it answers at block %d, and block %d took the last reservation",
					errLagging, at.Number, said)
			}
			return err
		})
	if err != nil || ours {
		return nil, err
	}
	return []slotqueue.Command{cmd}, nil
}

// judgeSlots filters slots by soundness and by what is on offer: slots that fit no availability
// do not enter the queue.
func (q *Queue) judgeSlots(ctx context.Context, n MarketNews, r events.Request, indices []uint64,
	repair bool, expiry time.Time,
) ([]slotqueue.Command, error) {
	cmd := slotqueue.Queue{
		At: q.ChainTime(), RequestID: r.ID, SlotIndices: indices, MarketRevision: n.Revision,
		Terms: slotqueue.Terms{SlotSize: r.Ask.SlotSize, Expiry: expiry, Repair: repair},
	}
	if err := events.CheckRequest(r); err != nil {
		// Only the id of such a request is kept, because its numbers may be anything.
		cmd.SlotIndices, cmd.Terms = []uint64{0}, slotqueue.Terms{}
		cmd.Refusal = &slotqueue.Refusal{Criterion: slotqueue.CriterionUnsound, Reason: err.Error()}
		return []slotqueue.Command{cmd}, nil
	}
	avoided, err := shell.WhenUp(ctx, q.Base, "judge", func() shell.Question[*slotqueue.AvoidedClient] {
		return shell.Ask[*slotqueue.AvoidedClient](q.Part, AvoidedClient{r.Client, cmd.At})
	})
	if err != nil {
		return nil, err
	}
	if avoided != nil {
		cmd.Refusal = &slotqueue.Refusal{Criterion: slotqueue.CriterionClient, Reason: WhyAvoided(*avoided)}
		return []slotqueue.Command{cmd}, nil
	}
	price, _ := r.Ask.PricePerSecond()
	cmd.Terms.Profitability = price.MulSaturating(uint64(r.Ask.Duration / time.Second))
	cmd.Terms.Collateral, _ = r.Ask.CollateralPerSlot()
	if repair { // The contract takes less for a slot in repair, but holds the full amount.
		discount := cmd.Terms.Collateral.Div(100).MulSaturating(uint64(q.Terms.RepairRewardPercentage))
		cmd.Terms.Collateral = cmd.Terms.Collateral.Sub(discount)
	}
	cmd.Terms.DatasetSize = r.Ask.SlotSize * events.Bytes(r.Ask.Slots)
	end := expiry
	if !repair {
		end = expiry.Add(r.Ask.Duration - r.Expiry)
	}
	refusal, err := q.Match(ctx, q.AskOf(r, end))
	if err == nil && refusal != nil {
		cmd.Refusal = &slotqueue.Refusal{Criterion: string(refusal.Criterion), Reason: refusal.Reason}
	}
	return []slotqueue.Command{cmd}, err
}

// shuffled draws the order of a request's slots for this host, so that hosts do not all try the
// same slot first. The order follows from host and request, and is recorded.
func shuffled(me events.Address, r events.Request) []uint64 {
	indices := make([]uint64, min(r.Ask.Slots, events.MaxSlots))
	for i := range indices {
		indices[i] = uint64(i)
	}
	var seed [32]byte
	copy(seed[:], r.ID[:])
	for i, b := range me {
		seed[i%32] ^= b
	}
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:16])))
	rng.Shuffle(len(indices), func(i, j int) { indices[i], indices[j] = indices[j], indices[i] })
	return indices
}

// WhyAvoided says why requests of a client are refused.
func WhyAvoided(a slotqueue.AvoidedClient) string {
	return fmt.Sprintf("requests of %s are refused until %s: %s",
		a.Client, a.Until.UTC().Format(time.RFC3339), a.Reason)
}
