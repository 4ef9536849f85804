package actors

import (
	"context"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file adopts slots that the contract counts as ours although no sale runs for them. That
// happens at a start, and after a reorganisation that brings back a slot whose sale was settled
// while the slot was gone. In a host of several members, place.go says which of them adopts a slot.

// askOwnedEvery is the least number of blocks between two questions for our slots, so that a
// chain with many reorganisations is not asked after each of them.
const askOwnedEvery = 8

// ownedAgain schedules the next question which slots are ours.
type ownedAgain struct {
	due    bool // there was a reorganisation since the last question
	asking bool
	asked  uint64 // the block of the last question
}

// ownedSlots is the answer; failed means that there was none.
type ownedSlots struct {
	slots  []events.OwnedSlot
	failed bool
}

// askOwned asks once after a reorganisation which slots are ours, as soon as the newest block
// is known again.
func (s *supervisor) askOwned(a *shell.Turn, head events.Head) {
	o := &s.owned
	if !o.due || o.asking || !s.live || head.Number < o.asked+askOwnedEvery && head.Number >= o.asked {
		return
	}
	*o = ownedAgain{asking: true, asked: head.Number}
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "our slots after a reorganisation")
		slots, err := chainview.Patiently(ctx, s.Base, s.Patience(), s.Market.MySlots)
		if err != nil && ctx.Err() == nil {
			s.Log.Warnf("ask which slots are ours after a reorganisation, will ask again: %v", err)
		}
		if ctx.Err() == nil {
			s.root.Tell(ownedSlots{slots, err != nil})
		}
	})
}

func (s *supervisor) onOwned(a *shell.Turn, m ownedSlots) {
	s.owned.asking = false
	s.owned.due = s.owned.due || m.failed
	s.adopt(a, m.slots)
}

// adopt begins a sale for each slot of ours that has none. A slot whose sale has ended but is
// not settled yet still has one, so the question is repeated later: a reorganisation may have
// given the slot back.
func (s *supervisor) adopt(a *shell.Turn, owned []events.OwnedSlot) {
	for _, o := range owned {
		ag := s.agents[o.Slot]
		if ag != nil && ag.state.Ended() && !ag.state.OnChain {
			s.owned.due = true
		}
		if ag == nil && s.term.owns {
			s.Log.WithField("slot", o.Slot.String()).
				Warn("the chain says that this slot is ours, and the record has no sale of it: adopting it")
			s.candidate(a, o.Slot, o.Request.ID, o.Index, shell.Ref{}, events.EventID{})
		}
	}
}
