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
	s.ours.Store(facts.Host == s.Me && facts.SlotState == events.SlotFilled)
	report := sale.ReportChain{Facts: facts, Me: s.Me, FinalBlocks: s.FinalBlocks}
	ask := func(ctx context.Context) (sale.FillStatus, error) { return s.fillStatus(ctx, st, facts) }
	report.Fill, err = chainview.Patiently(ctx, s.Base, s.Patience(), ask)
	if err != nil {
		return nil, fmt.Errorf("ask the chain about the block of the fill: %w", err)
	}
	if report.Fill == sale.FillGone && facts.Host != s.Me && facts.RequestKnown && facts.SlotState != events.SlotFree {
		// A reorganisation may have moved the fill into another block before the slot was lost.
		fill, mined, err := s.minedFill(ctx, st, facts)
		switch {
		case err != nil:
			return nil, err
		case mined && fill.Block > facts.At.Number: // It was filled again since.
			return nil, fmt.Errorf("ask the chain about the slot: %w", chainview.ErrOvertaken)
		case mined:
			report.Fill = sale.FillStands
		}
	}
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

// givesUp reports whether something irrevocable follows from a report: the end of hosting and
// what comes after it. One node's answer is enough only for what keeps the slot.
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

// fillStatus says whether the block of the recorded fill is on the chain. It matters when the
// slot is no longer ours, or when its end is gone, and until the fill was seen to be final. Only another block with
// that number says that it is gone; ErrBehind before the chain has one.
func (s *Agent) fillStatus(ctx context.Context, st sale.State, facts events.SlotFacts) (sale.FillStatus, error) {
	mine, final := facts.Host == s.Me, s.finalFill.Load()
	asks := st.Hosting() || st.Collecting() && (!mine || facts.SlotState == events.SlotFilled)
	if !asks || st.FilledHash.Zero() || mine && final != nil && *final == st.FilledHash {
		return sale.FillUnasked, nil
	}
	found := sale.FillGone
	if facts.At.Number < st.FilledBlock {
		return sale.FillUnasked, chainview.ErrBehind
	}
	s.Yield(ctx, s.slot.String()+"/block of the fill")
	head, err := s.Market.HeadAt(ctx, st.FilledBlock)
	if err != nil {
		return found, err
	}
	if head.Hash == st.FilledHash {
		found = sale.FillStands
	}
	// Both answers must be of one chain.
	if same, err := s.Market.HeadAt(ctx, facts.At.Number); err != nil {
		return found, err
	} else if same.Hash != facts.At.Hash {
		return found, chainview.ErrOvertaken
	}
	if found == sale.FillStands && facts.At.Number >= st.FilledBlock+s.FinalBlocks {
		s.finalFill.Store(&st.FilledHash)
	}
	return found, nil
}

// fillLog is the block of the slot's newest fill, by the recorded logs. Zero when the logs do
// not reach the block at which the chain was asked, or when a later log says that the slot was
// freed. ErrOvertaken when they are those of a branch that is gone.
func (s *Agent) fillLog(ctx context.Context, facts events.SlotFacts) (events.Head, error) {
	if s.StoreWatch.Away() {
		return events.Head{}, nil
	}
	if s.Recorded.Load() < facts.At.Number { // It arrives soon, unless the logs are read from far back.
		if _, err := s.View.Wait(ctx, func(events.Head) bool {
			hash, known := s.View.At(facts.At.Number) // Blocks of a branch that is gone are no reason to hurry.
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

// onChain returns ErrOvertaken if the block of a recorded log is not on the chain: the reorganisation that dropped
// it is not recorded yet. No block is.
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

// lastLog takes one event of the market, newest first, and reports whether it is the newest one
// about the slot that is on the chain.
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
	case *messages.ChainStorageRequested:
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
