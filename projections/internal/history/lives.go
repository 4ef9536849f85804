package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Enqueue offers the slots of a request and takes one of them.
func (w *Writer) Enqueue(r events.Request) {
	w.T.Helper()
	w.AskQueue(slotqueue.Queue{
		At: w.Now, RequestID: r.ID, SlotIndices: []uint64{1}, Terms: slotqueue.Terms{
			SlotSize: r.Ask.SlotSize, DatasetSize: 3 * r.Ask.SlotSize,
			Profitability: events.NewAmount(1000), Collateral: events.NewAmount(131072),
			Expiry: w.Now.Add(r.Expiry),
		},
	}, slotqueue.Take{At: w.Now, MaxWorkers: 1000})
}

// Dequeue ends the worker's hold.
func (w *Writer) Dequeue(r events.Request, outcome string) {
	w.T.Helper()
	w.AskQueue(slotqueue.Release{At: w.Now, RequestID: r.ID, SlotIndex: 1, Outcome: outcome})
}

// Begin starts a sale of slot 1 of a request and reserves its space.
func (w *Writer) Begin(r events.Request) events.SlotID {
	w.T.Helper()
	slot := events.SlotIDOf(r.ID, 1)
	w.MustSale(slot, sale.Start{
		At: w.Now, Slot: slot, Index: 1, Request: r,
		ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
	})
	if err := w.Reserve(slot); err != nil {
		w.T.Fatalf("reserve: %v", err)
	}
	return slot
}

// Claim asks the ledger for what a sale needs, without telling the sale.
func (w *Writer) Claim(slot events.SlotID) error {
	w.T.Helper()
	return w.AskLedger(w.reservation(w.Sales[slot]))
}

// reservation is what a sale needs of the ledger.
func (w *Writer) reservation(s sale.State) capacity.Reserve {
	ask := s.Request.Ask
	return capacity.Reserve{
		At: w.Now, Slot: s.Slot, RequestID: s.Request.ID, SlotIndex: s.Index, Attempt: s.Attempt,
		Ask: capacity.Ask{
			SlotSize: ask.SlotSize, Duration: ask.Duration, PricePerBytePerSecond: ask.PricePerBytePerSecond,
			CollateralPerByte: ask.CollateralPerByte, RequestEnd: s.EndsAt, Overhead: Overhead,
		},
	}
}

// Reserve performs the first effect of a sale.
func (w *Writer) Reserve(slot events.SlotID) error {
	w.T.Helper()
	s := w.Sales[slot]
	err := w.Claim(slot)
	var refusal *capacity.Refusal
	if errors.As(err, &refusal) {
		w.MustSale(slot, sale.ReportNoCapacity{
			At: w.Now, Criterion: string(refusal.Criterion), Reason: refusal.Reason,
		})
		return nil
	} else if err != nil {
		return err
	}
	r, _ := w.Ledger.Reservation(capacity.ReservationIDOf(slot, s.Attempt))
	return w.AskSale(slot, sale.ReportCapacity{
		At: w.Now, Availability: r.Availability, Reservation: r.ID, Bytes: r.Bytes, Collateral: r.Collateral,
	})
}

// Fill brings a sale that has its space to Proving.
func (w *Writer) Fill(slot events.SlotID) {
	w.T.Helper()
	s := w.Sales[slot]
	key := func(what string) string { return fmt.Sprintf("%s:%s:%d#0", what, slot, s.Attempt) }
	w.MustSale(slot, sale.ReportSlotReserved{At: w.Now, Receipt: w.Receipt(key("reserve"))})
	w.MustLedger(capacity.Release{
		At: w.Now, Reservation: s.Reservation, TotalStored: s.Request.Ask.SlotSize,
	})
	w.MustSale(slot,
		sale.ReportStored{At: w.Now, Bytes: s.Request.Ask.SlotSize, Root: events.Root{9}},
		sale.ReportInitialProof{At: w.Now, Challenge: events.Challenge{1}, Proof: events.Proof{{1}}, Took: time.Second})
	receipt := w.Receipt(key("fill"))
	w.MustSale(slot,
		sale.ReportFilled{At: w.Now, Fill: events.Fill{
			Receipt: receipt, FilledAt: w.Now, Block: receipt.Block.Number, Collateral: s.Committed,
			RepairReward: w.RepairReward,
		}},
		sale.ReportExtended{At: w.Now, Until: s.EndsAt})
}

// Due opens the duty of a period, counted from the first of the history.
func (w *Writer) Due(slot events.SlotID, n uint64) uint64 {
	w.T.Helper()
	period := uint64(Begin.Unix())/uint64(Period/time.Second) + n
	w.MustSale(slot, sale.ReportProofDue{
		At: w.Now, Period: period, Challenge: events.Challenge{byte(n)},
		Deadline: events.Unix((period+1)*uint64(Period/time.Second) - 1),
	})
	return period
}

// Prove opens a duty and hands its proof in.
func (w *Writer) Prove(slot events.SlotID, n uint64) {
	w.T.Helper()
	period := w.Due(slot, n)
	w.MustSale(slot, sale.ReportProofSubmitted{
		At: w.Now, Period: period, Took: time.Second,
		Receipt: w.Receipt(fmt.Sprintf("proof:%s:%d:1#0", slot, period)),
	})
}

// Miss opens a duty, misses it and reads what that cost.
func (w *Writer) Miss(slot events.SlotID, n, holds uint64) {
	w.T.Helper()
	period := w.Due(slot, n)
	after := events.Unix((period + 1) * uint64(Period/time.Second))
	w.MustSale(slot,
		sale.ReportPeriodClosed{At: after, Period: period, Reason: "the host was down"},
		sale.ReportCollateral{At: after, Period: period, Collateral: events.NewAmount(holds)})
}

// Facts is what the chain says of a slot.
func (w *Writer) Facts(
	slot events.SlotID, ours bool, state events.SlotState, req events.RequestState,
) sale.ReportChain {
	f := events.SlotFacts{
		At:           events.Head{Number: w.block + FinalBlocks, Time: w.Now},
		RequestKnown: true, RequestState: req, SlotState: state,
	}
	if ours {
		f.Host, f.Collateral = w.Me, w.Sales[slot].Committed
	}
	return sale.ReportChain{Facts: f, Me: w.Me, FinalBlocks: FinalBlocks}
}

// Finish ends the request of a sale and pays it out, with that much of its
// collateral.
func (w *Writer) Finish(slot events.SlotID, collateral uint64) {
	w.T.Helper()
	w.FinishTo(slot, collateral, events.Address{})
}

// FinishTo is Finish with the reward paid to another address; zero: to the account.
func (w *Writer) FinishTo(slot events.SlotID, collateral uint64, recipient events.Address) {
	w.T.Helper()
	w.MustSale(slot, w.Facts(slot, true, events.SlotFinished, events.RequestFinished))
	w.MustSale(slot, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
		Receipt: w.Receipt(fmt.Sprintf("free:%s:%d#0", slot, w.Sales[slot].Attempt)),
		Paid:    events.NewAmount(1_000_000 + collateral), Collateral: events.NewAmount(collateral),
		RewardRecipient: recipient,
	}})
	w.Settle(slot)
}

// Settle performs the last effects of a sale that has ended.
func (w *Writer) Settle(slot events.SlotID) {
	w.T.Helper()
	w.MustSale(slot, sale.ReportDeleted{At: w.Now})
	w.Release(slot)
	w.MustSale(slot, sale.ReportSettled{At: w.Now})
}

// Release gives the reservation of a sale back, as the sales agent does.
func (w *Writer) Release(slot events.SlotID) {
	w.T.Helper()
	w.MustLedger(w.settlement(slot))
}

// settlement is how the ledger settles the reservation of a sale, of which the sale may not know.
func (w *Writer) settlement(slot events.SlotID) capacity.Settle {
	s := w.Sales[slot]
	returned, lost := s.Settlement()
	if r, open := w.Ledger.Reservation(capacity.ReservationIDOf(slot, s.Attempt)); open {
		returned = r.Collateral.SubFloor(lost)
	}
	return capacity.Settle{
		At: w.Now, Slot: slot, Attempt: s.Attempt, CollateralReturned: returned, CollateralLost: lost,
	}
}

// Life is a whole sale, from the queue to the payout, with that many proofs.
func (w *Writer) Life(n, proofs uint64) events.SlotID {
	w.T.Helper()
	r := w.Request(n)
	w.Enqueue(r)
	slot := w.Begin(r)
	w.Fill(slot)
	w.Dequeue(r, "filled")
	w.MustSale(slot, w.Facts(slot, true, events.SlotFilled, events.RequestStarted))
	for i := range proofs {
		w.Prove(slot, i+1)
	}
	w.Finish(slot, 131072)
	return slot
}

// Fill writes whole lives until the store holds that many events, and returns
// its head.
func Fill(w *Writer, total uint64) events.Position {
	w.T.Helper()
	for n := uint64(1); ; n++ {
		head, err := w.Store.Head(context.Background())
		if err != nil {
			w.T.Fatalf("head: %v", err)
		}
		if uint64(head) >= total {
			return head
		}
		w.Life(n, 10)
	}
}
