package actors

import (
	"context"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file adopts slots that the contract counts as ours and no sale runs for: after
// the start, and after a reorganisation, which may bring back a slot whose sale was
// settled when it was gone.

// askOwnedEvery is how many blocks lie between two questions for our slots: a chain
// that is reorganised again and again is not asked at each turn.
const askOwnedEvery = 8

// ownedAgain is when the chain is asked again which slots are ours.
type ownedAgain struct {
	due    bool // there was a reorganisation since it was asked
	asking bool
	asked  uint64 // the block of the last question
}

// ownedSlots is the answer; failed, when there is none.
type ownedSlots struct {
	slots  []events.OwnedSlot
	failed bool
}

// askOwned asks which slots are ours, once after a reorganisation and when the chain
// is followed live again.
func (s *supervisor) askOwned(a *shell.Turn, head events.Head) {
	o := &s.owned
	if !o.due || o.asking || !s.live || head.Number < o.asked+askOwnedEvery && head.Number >= o.asked {
		return
	}
	*o = ownedAgain{asking: true, asked: head.Number}
	self := a.Self
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "our slots after a reorganisation")
		slots, err := chainview.Patiently(ctx, s.Base, s.Patience(), s.Market.MySlots)
		if err != nil && ctx.Err() == nil {
			s.Log.Warnf("ask which slots are ours after a reorganisation; it is asked again: %v", err)
		}
		if ctx.Err() == nil {
			self.Tell(ownedSlots{slots, err != nil})
		}
	})
}

func (s *supervisor) onOwned(a *shell.Turn, m ownedSlots) {
	s.owned.asking = false
	s.owned.due = s.owned.due || m.failed
	s.adopt(a, m.slots)
}

// adopt begins a sale for each slot of ours that has none. One whose sale is about to
// be settled has one still: it is asked again, because a reorganisation may have given
// back what the sale was paid for already.
func (s *supervisor) adopt(a *shell.Turn, owned []events.OwnedSlot) {
	for _, o := range owned {
		ag := s.agents[o.Slot]
		if ag != nil && ag.state.Ended() && !ag.state.OnChain {
			s.owned.due = true
		}
		if ag == nil {
			s.Log.WithField("slot", o.Slot.String()).
				Warn("the chain says this slot is ours, the record does not know it: adopting it")
			s.candidate(a, o.Slot, o.Request.ID, o.Index, shell.Ref{})
		}
	}
}
