package selling

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// This file asks the chain what a sale needs to know of its slot: what the contract says,
// whether the block of the recorded fill is still on the chain, and when an unrecorded fill
// happened. The last two are asked only when they matter.

// logPatience is how many blocks to wait for the log of a fill. No longer, because a slot that
// is ours owes proofs, and those need no log.
const logPatience = 2

// askChain asks about the slot and makes the report.
func (s *Agent) askChain(ctx context.Context, st sale.State) (sale.Command, error) {
	facts, err := shell.In(ctx, s.Reads, time.Time{}, func() (events.SlotFacts, error) {
		return chainview.Patiently(ctx, s.Base, s.Patience(), func(ctx context.Context) (events.SlotFacts, error) {
			return s.Market.Slot(ctx, s.request, s.index)
		})
	})
	if err == nil {
		err = events.CheckCollateral(st.Request, facts.Collateral)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the chain about the slot: %w", err)
	}
	s.ours.Store(facts.Host == s.Me && facts.SlotState == events.SlotFilled) // For duties: the record may be older.
	report := sale.ReportChain{Facts: facts, Me: s.Me, FinalBlocks: s.FinalBlocks}
	ask := func(ctx context.Context) (sale.FillStatus, error) { return s.fillStatus(ctx, st, facts) }
	report.Fill, err = chainview.Patiently(ctx, s.Base, s.Patience(), ask)
	if err != nil {
		return nil, fmt.Errorf("ask the chain about the block of the fill: %w", err)
	}
	if report.Fill == sale.FillGone && facts.Host != s.Me && facts.RequestKnown && facts.SlotState != events.SlotFree {
		// A reorganisation may have moved the fill into another block before the slot was lost. Without a request, or
		// when the slot is free, no fill is on this chain: then Reconcile does not look at Fill.
		fill, mined, err := s.minedFill(ctx, st, facts)
		switch {
		case err != nil:
			return nil, err
		case mined && fill.Block > facts.At.Number: // It was filled again after facts were read: both are read again.
			return nil, fmt.Errorf("ask the chain about the slot: %w", chainview.ErrOvertaken)
		case mined:
			report.Fill = sale.FillStands
		}
	}
	// The record lacks this fill, or has it in another block.
	if facts.Host == s.Me && (!st.OnChain || report.Fill == sale.FillGone) {
		if report.Log, err = s.fillLog(ctx, facts); err != nil {
			return nil, fmt.Errorf("look for the log of the fill: %w", err)
		}
	}
	if s.givesUp(st, report) {
		if err := s.Confirm(ctx, s.request, s.index, facts); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// givesUp reports whether something is recorded of a slot that is not ours any more, or does not run. That cannot be
// taken back, so a second node must confirm it. One node's answer is enough only for what keeps the slot.
func (s *Agent) givesUp(st sale.State, report sale.ReportChain) bool {
	found, err := s.Decide(st, report)
	follows := err == nil && len(found) > 0 && (st.Hosting() || st.Collecting())
	return follows && (s.mayHaveFilled(report.Facts) || s.endsHosting(st, report))
}

// mayHaveFilled reports whether a fill may have been mined that the contract no longer shows,
// because the slot is not ours or is over.
func (s *Agent) mayHaveFilled(facts events.SlotFacts) bool {
	return facts.Host != s.Me || facts.SlotState != events.SlotFilled
}

// endsHosting reports whether a report ends the hosting, so that nobody asks later what the
// sale owed.
func (s *Agent) endsHosting(st sale.State, report sale.Command) bool {
	found, err := s.Decide(st, report)
	if err != nil {
		return false
	}
	ours, ends := st.Owes(), false
	for _, e := range found {
		_, filled := e.(*messages.SlotFilled)
		_, unjudged := e.(interface{ GetUnjudged() string })
		ours, ends = ours || filled, ends || unjudged
	}
	return ours && ends
}

// fillStatus says whether the block of the recorded fill is on the chain. That is asked while the sale hosts, and of
// one that collects when its slot is not ours, or runs again because a reorganisation removed the end of the request;
// but not of a slot that is ours once the block was seen to be final. FillGone only if the chain has another block of
// that number; ErrBehind while the node that answers has none.
func (s *Agent) fillStatus(ctx context.Context, st sale.State, facts events.SlotFacts) (sale.FillStatus, error) {
	mine, final := facts.Host == s.Me, s.finalFill.Load()
	asks := st.Hosting() || (st.Collecting() && (!mine || facts.SlotState == events.SlotFilled))
	knownFinal := mine && final != nil && *final == st.FilledHash
	if !asks || st.FilledHash.Zero() || knownFinal {
		return sale.FillUnasked, nil
	}
	if facts.At.Number < st.FilledBlock {
		return sale.FillUnasked, chainview.ErrBehind
	}
	s.Yield(ctx, s.slot.String()+"/block of the fill")
	head, err := s.Market.HeadAt(ctx, st.FilledBlock)
	if err != nil {
		return sale.FillUnasked, err
	}
	found := sale.FillGone
	if head.Hash == st.FilledHash {
		found = sale.FillStands
	}
	// Both answers must be of one branch: the block in which the slot was read must still be there.
	if same, err := s.Market.HeadAt(ctx, facts.At.Number); err != nil {
		return sale.FillUnasked, err
	} else if same.Hash != facts.At.Hash {
		return sale.FillUnasked, chainview.ErrOvertaken
	}
	if found == sale.FillStands && facts.At.Number >= st.FilledBlock+s.FinalBlocks {
		s.finalFill.Store(&st.FilledHash)
	}
	return found, nil
}

// fillLog is the block of the slot's newest fill, by the recorded logs. Zero when the event store is away, the logs do
// not reach the block at which the chain was asked, or a later log says that the slot was freed. ErrOvertaken when
// they are those of a branch that is gone.
func (s *Agent) fillLog(ctx context.Context, facts events.SlotFacts) (events.Head, error) {
	if s.StoreWatch.Away() {
		return events.Head{}, nil
	}
	// The logs of a block are recorded soon after it, unless they are read from far back. So the wait ends logPatience
	// blocks later; but not while the view has another branch than facts, whose height says nothing of that.
	if s.Recorded.Load() < facts.At.Number {
		if _, err := s.View.Wait(ctx, func(events.Head) bool {
			hash, known := s.View.At(facts.At.Number)
			return s.Recorded.Load() >= facts.At.Number ||
				(!known || hash == facts.At.Hash) && s.View.Now().Number >= facts.At.Number+logPatience
		}); err != nil {
			return events.Head{}, err
		}
		s.Yield(ctx, s.slot.String()+"/fill log")
		if s.Recorded.Load() < facts.At.Number {
			return events.Head{}, nil
		}
	}
	gone := map[string]bool{}
	for m, err := range s.marketBackward(ctx) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return events.Head{}, nil
		}
		if err != nil {
			return events.Head{}, err
		}
		if head, done := s.lastLog(m, gone); done {
			return head, s.onChain(ctx, head)
		}
	}
	return events.Head{}, nil
}

// onChain returns ErrOvertaken if the block of a recorded log is not on the chain: the reorganisation that dropped it
// is not recorded yet. A head without a block passes.
func (s *Agent) onChain(ctx context.Context, head events.Head) error {
	if head.Hash.Zero() {
		return nil
	}
	now, err := s.Market.HeadAt(ctx, head.Number)
	if err == nil && now.Hash != head.Hash {
		err = chainview.ErrOvertaken
	}
	return err
}

// lastLog takes one event of the market, newest first. done: it is the newest about the slot that is on the chain; then
// head is the block of the fill, or zero if the slot was freed, or only requested, since when nobody has filled it.
// gone are the blocks that the events so far have dropped; it adds to them.
func (s *Agent) lastLog(m messages.MarketEvent, gone map[string]bool) (head events.Head, done bool) {
	switch m := m.(type) {
	case *messages.ChainReorganized:
		for _, hash := range m.GetDropped() {
			gone[hash] = true
		}
	case *messages.ChainSlotFilled:
		log := m.GetLog()
		if m.GetRequestId() != s.request.String() || m.GetSlotIndex() != s.index || gone[log.GetBlockHash()] {
			break
		}
		return events.Head{
			Number: log.GetBlock(), Hash: events.Must(events.ParseHash(log.GetBlockHash())),
			Time: events.TimeFromMessage(log.GetTime()),
		}, true
	case *messages.ChainSlotFreed:
		return head, m.GetRequestId() == s.request.String() && m.GetSlotIndex() == s.index &&
			!gone[m.GetLog().GetBlockHash()]
	case *messages.ChainStorageRequested: // Before it nobody can have filled the slot.
		return head, m.GetRequestId() == s.request.String() && !gone[m.GetLog().GetBlockHash()]
	case *messages.BlocksScanned, *messages.ChainRequestFulfilled, *messages.ChainRequestFailed,
		*messages.ChainRequestCancelled, *messages.ChainSlotReservationsFull, *messages.ChainProofSubmitted:
	}
	return head, false
}

// marketBackward yields the recorded logs of the market, newest first.
func (s *Agent) marketBackward(ctx context.Context) iter.Seq2[messages.MarketEvent, error] {
	return func(yield func(messages.MarketEvent, error) bool) {
		stream := events.MarketStream(s.ChainID, s.Contract)
		for r, err := range s.Store.ReadStream(ctx, stream, events.ReadStream{From: events.End, Backward: true}) {
			var m messages.MarketEvent
			if err == nil {
				m, err = shell.DecodeAs[messages.MarketEvent](s.Codec, r)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// minedFill is the fill of this attempt that is on the chain now, even if the slot was lost
// since. Nothing is sent, because the deadline is over.
func (s *Agent) minedFill(
	ctx context.Context, st sale.State, facts events.SlotFacts,
) (fill events.Fill, mined bool, err error) {
	fill, err = shell.In(ctx, s.Transactions, time.Time{}, func() (events.Fill, error) {
		return s.Market.FillSlot(ctx, s.call(st, facts.At.Time), st.Proof)
	})
	if err == nil {
		err = events.CheckFill(st.Request, fill)
		return fill, err == nil, err
	}
	for _, none := range []error{
		events.ErrDeadlinePassed, events.ErrSlotNotFree, events.ErrInvalidProof, events.ErrProofAlreadySubmitted,
		events.ErrReservationNotAllowed, events.ErrInsufficientFunds, events.ErrUnknownRequest,
	} {
		if errors.Is(err, none) {
			return fill, false, nil
		}
	}
	return fill, false, fmt.Errorf("look for a fill of ours: %w", err)
}

// call is what each transaction about the slot says, to be mined until the deadline.
func (s *Agent) call(st sale.State, deadline time.Time) events.SlotCall {
	return events.SlotCall{
		Request: s.request, Slot: s.slot, Index: s.index, Attempt: st.Attempt, Deadline: deadline,
		Refill: st.Refills > 0,
	}
}
