package history

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// AnySaleSteps are a few things that happen to the sale of slot 1 of a request, one after the other:
// mostly what it waits for, because a sale that anything happens to ends before it is hosted. What
// the core refuses is not in the record.
func (w *Writer) AnySaleSteps(t *rapid.T, r events.Request) {
	slot := events.SlotIDOf(r.ID, 1)
	for range rapid.IntRange(1, 12).Draw(t, "moves") {
		w.anySaleStep(t, r, slot)
	}
}

// oneIn is true about once in n draws. Zero would not do: rapid draws the ends of a range more often
// than what is between.
func oneIn(t *rapid.T, n int, what string) bool { return rapid.IntRange(0, n-1).Draw(t, what) == n/2 }

func (w *Writer) anySaleStep(t *rapid.T, r events.Request, slot events.SlotID) {
	s := w.Sales[slot]
	switch {
	case s.Phase == sale.Unknown || s.Settled:
		_ = w.AskSale(slot, sale.Start{
			At: w.Now, Slot: slot, Index: 1, Request: r,
			ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
			Adopted: oneIn(t, 4, "adopted") || !w.mayBegin(r), Repair: oneIn(t, 4, "repair"),
			FailEvery: rapid.Uint32Range(0, 1).Draw(t, "fail every"),
		})
	case oneIn(t, 5, "chain"):
		w.anyReport(t, slot)
	case s.KeepsData() && oneIn(t, 6, "damage"), s.Damaged() && oneIn(t, 3, "repair"):
		_ = w.AskSale(slot, w.anyDamage(t, s))
	case s.Hosting(), s.Owes() && oneIn(t, 3, "owes"): // An adopted sale does before its data is here.
		w.anyStepOfHosting(t, slot, s)
	case s.BeforeFill():
		w.anyStepBeforeFill(t, slot, s)
	default:
		w.anyStepOfTheEnd(t, slot, s)
	}
}

// mayBegin reports whether a sale of a request may begin: a member has to be handed its slot, if the queue gives it.
func (w *Writer) mayBegin(r events.Request) bool {
	if w.Member == "" {
		return true
	}
	w.AskQueue(slotqueue.Queue{At: w.Now, RequestID: r.ID, SlotIndices: []uint64{1}})
	for range w.Queue.Len() { // Others may come first.
		w.AskQueue(slotqueue.Take{At: w.Now, MaxWorkers: 1000})
	}
	taken := slices.ContainsFunc(w.Queue.Taken(), func(it slotqueue.Item) bool {
		return it.RequestID == r.ID && it.SlotIndex == 1
	})
	if taken {
		w.HandOut(r)
	}
	return taken
}

// receiptOf is that of a transaction for a slot.
func (w *Writer) receiptOf(what string, slot events.SlotID) events.Receipt {
	return w.Receipt(what + slot.String() + w.Now.String())
}

func (w *Writer) anyStepBeforeFill(t *rapid.T, slot events.SlotID, s sale.State) {
	if oneIn(t, 10, "give up") {
		_ = w.AskSale(slot, sale.GiveUp{At: w.Now, LetGo: rapid.Bool().Draw(t, "let go"), Reason: "tired"})
		return
	}
	late := oneIn(t, 10, "late") // Others were faster.
	switch {
	case s.Phase == sale.Preparing:
		_ = w.Reserve(slot)
	case s.Phase == sale.SlotReserving && late:
		_ = w.AskSale(slot, sale.ReportNotReservable{At: w.Now, Reason: "full"})
	case s.Phase == sale.SlotReserving:
		_ = w.AskSale(slot, sale.ReportSlotReserved{At: w.Now, Receipt: w.receiptOf("reserve", slot)})
	case s.Phase == sale.Downloading:
		part := rapid.Uint64Range(1, 4).Draw(t, "part")
		_ = w.AskLedger(capacity.Release{
			At: w.Now, Reservation: s.Reservation, TotalStored: s.Request.Ask.SlotSize / events.Bytes(part),
		})
		if part < 4 {
			_ = w.AskSale(slot, sale.ReportStored{At: w.Now, Bytes: s.Request.Ask.SlotSize, Root: events.Root{9}})
		}
	case s.Phase == sale.InitialProving:
		_ = w.AskSale(slot, sale.ReportInitialProof{
			At: w.Now, Challenge: events.Challenge{1}, Proof: events.Proof{{1}},
		})
	case late:
		_ = w.AskSale(slot, sale.ReportNotFree{At: w.Now, Reason: "taken"})
	case oneIn(t, 3, "outdated"):
		_ = w.AskSale(slot, sale.ReportProofOutdated{At: w.Now, Challenge: s.Challenge, Reason: "it moved"})
	default:
		receipt := w.receiptOf("fill", slot)
		_ = w.AskSale(slot, sale.ReportFilled{At: w.Now, Fill: events.Fill{
			Receipt: receipt, FilledAt: w.Now, Block: receipt.Block.Number, Collateral: s.Committed,
			RepairReward: events.NewAmount(rapid.Uint64Range(0, 4).Draw(t, "repair reward")),
		}})
	}
}

// anyStepOfHosting reads what a miss has cost, closes a duty or opens one, of a period near the last.
func (w *Writer) anyStepOfHosting(t *rapid.T, slot events.SlotID, s sale.State) {
	over := func(period uint64) time.Time { return events.Unix((period + 1) * uint64(Period/time.Second)) }
	switch {
	case s.Phase == sale.Filled && !oneIn(t, 3, "waits"):
		_ = w.AskSale(slot, sale.ReportExtended{At: w.Now, Until: s.EndsAt})
	case len(s.Unchecked) > 0 && !oneIn(t, 3, "later"):
		period, holds := s.Unchecked[0], s.Collateral
		if holds.IsZero() { // It is adopted, and its fill is not recorded yet.
			holds, _ = s.Request.Ask.CollateralPerSlot()
		}
		if rapid.Bool().Draw(t, "slashed") {
			holds = upTo(t, holds, "holds")
		}
		_ = w.AskSale(slot, sale.ReportCollateral{At: over(period), Period: period, Collateral: holds})
	case len(s.Duties) > 0 && !oneIn(t, 3, "still open"):
		period := rapid.SampledFrom(s.Duties).Draw(t, "duty").Period
		switch rapid.IntRange(0, 2).Draw(t, "closed") {
		case 0:
			_ = w.AskSale(slot, sale.ReportProofSubmitted{
				At: w.Now, Period: period, Took: time.Second, Receipt: w.receiptOf("proof", slot),
			})
		case 1:
			_ = w.AskSale(slot, sale.ReportProofExcused{At: w.Now, Period: period, Reason: "moved"})
		case 2:
			_ = w.AskSale(slot, sale.ReportPeriodClosed{At: over(period), Period: period, Reason: "late"})
		}
	default:
		begin := uint64(Begin.Unix()) / uint64(Period/time.Second)
		period := max(s.LastPeriod, begin) + 3 - rapid.Uint64Range(0, 4).Draw(t, "period")
		challenge, deadline := events.Challenge{rapid.Byte().Draw(t, "challenge")}, over(period).Add(-time.Second)
		if oneIn(t, 4, "silent") {
			_ = w.AskSale(slot, sale.ReportSilentPeriod{
				At: over(period), Period: period, Challenge: challenge, Deadline: deadline,
				Reason: "the host did not run",
			})
			return
		}
		_ = w.AskSale(slot, sale.ReportProofDue{At: w.Now, Period: period, Challenge: challenge, Deadline: deadline})
	}
}

// anyDamage is found, or repaired, in the one block that a slot has, and sometimes in one that it has not.
func (w *Writer) anyDamage(t *rapid.T, s sale.State) sale.Command {
	blocks := rapid.SliceOfN(rapid.Uint64Range(0, 1), 0, 2).Draw(t, "blocks")
	whole := rapid.Bool().Draw(t, "whole")
	if s.Damage.Any() && rapid.Bool().Draw(t, "repaired") {
		return sale.ReportRepaired{At: w.Now, Blocks: blocks, Whole: whole}
	}
	return sale.ReportDamaged{At: w.Now, Blocks: blocks, Whole: whole, FoundBy: "the scrub"}
}

// world is what the chain says of a slot.
type world struct {
	ours    bool
	slot    events.SlotState
	request events.RequestState
}

// anyWorld is often the one that the sale knows, because in most others the sale ends.
func anyWorld(t *rapid.T, s sale.State) world {
	known := world{false, events.SlotFree, events.RequestNew}
	if s.OnChain || s.Adopted {
		known = world{true, events.SlotFilled, events.RequestStarted}
	}
	if oneIn(t, 3, "nothing new") {
		return known
	}
	worlds := []world{
		{false, events.SlotFree, events.RequestNew},
		{false, events.SlotRepair, events.RequestStarted},
		{true, events.SlotFailed, events.RequestFailed},
		{true, events.SlotCancelled, events.RequestCancelled},
		{true, events.SlotFinished, events.RequestFinished},
	}
	if n := rapid.IntRange(0, len(worlds)).Draw(t, "world"); n < len(worlds) {
		return worlds[n]
	}
	return world{
		rapid.Bool().Draw(t, "ours"),
		rapid.SampledFrom([]events.SlotState{
			events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotPaid,
			events.SlotCancelled, events.SlotRepair,
		}).Draw(t, "slot"),
		rapid.SampledFrom([]events.RequestState{
			events.RequestNew, events.RequestStarted, events.RequestCancelled, events.RequestFailed,
			events.RequestFinished,
		}).Draw(t, "request state"),
	}
}

// anyReport lets the chain say something of a slot, including that its fill is in another block than before, or that
// the contract holds less for it.
func (w *Writer) anyReport(t *rapid.T, slot events.SlotID) {
	is := anyWorld(t, w.Sales[slot])
	c := w.Facts(slot, is.ours, is.slot, is.request)
	c.Fill = rapid.SampledFrom([]sale.FillStatus{sale.FillUnasked, sale.FillStands, sale.FillGone}).Draw(t, "fill")
	if n := rapid.Uint64Range(0, 3).Draw(t, "log"); n > 0 {
		c.Log = events.Head{Number: 300 + n, Hash: events.Hash{byte(n)}, Time: w.Now}
	}
	if is.ours {
		c.Facts.Collateral, _ = w.Sales[slot].Request.Ask.CollateralPerSlot()
	}
	if oneIn(t, 4, "slashed") {
		c.Facts.Collateral = upTo(t, c.Facts.Collateral, "holds")
	}
	c.Facts.RequestKnown = !oneIn(t, 10, "forgotten")
	if c.FillOnly = oneIn(t, 4, "only the fill"); c.FillOnly { // The end follows at once.
		_ = w.AskSale(slot, c)
		c.FillOnly = false
	}
	_ = w.AskSale(slot, c)
}

func (w *Writer) anyStepOfTheEnd(t *rapid.T, slot events.SlotID, s sale.State) {
	switch {
	case s.OnChain:
		back := events.NewAmount(rapid.Uint64Range(0, s.Collateral.Big().Uint64()).Draw(t, "back")) // Maybe nothing.
		_ = w.AskSale(slot, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
			Paid: back.Add(events.NewAmount(1000)), Collateral: back,
			Receipt: w.receiptOf("free", slot),
		}})
	case s.Refillable() && rapid.Bool().Draw(t, "refill"):
		w.refill(slot)
	case !s.Deleted:
		_ = w.AskSale(slot, sale.ReportDeleted{At: w.Now})
	default:
		w.Release(slot)
		_ = w.AskSale(slot, sale.ReportSettled{At: w.Now})
	}
}

// upTo is an amount that the contract can still hold, which never grows. It takes a slot before it has taken all.
func upTo(t *rapid.T, held events.Amount, what string) events.Amount {
	if held.IsZero() {
		return held
	}
	return events.NewAmount(rapid.Uint64Range(1, held.Big().Uint64()).Draw(t, what))
}

// refill begins the next attempt at a slot that the contract took, with its data; nothing if the ledger has
// no room.
func (w *Writer) refill(slot events.SlotID) {
	w.T.Helper()
	s := w.Sales[slot]
	next := s
	next.Attempt++
	if err := w.AskLedger(capacity.Renew{Settle: w.settlement(slot), Reserve: w.reservation(next)}); err != nil {
		return
	}
	r, _ := w.Ledger.Reservation(capacity.ReservationIDOf(slot, next.Attempt))
	w.MustSale(slot, sale.Refill{
		At: w.Now, ExpiresAt: s.ExpiresAt, EndsAt: s.EndsAt, Capacity: sale.ReportCapacity{
			At: w.Now, Availability: r.Availability, Reservation: r.ID, Bytes: r.Bytes, Collateral: r.Collateral,
		},
	})
}
