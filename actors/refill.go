package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file keeps the filling of a lost slot from taking tokens that other slots were promised.
//
// A slot on offer is promised its collateral before its sale begins. A slot that the contract took from us is filled
// again without being asked for, so it takes what is left: the member that sends the transactions counts what all
// others may still pay, just before. From then on the slot is counted in what others are promised, because it is in
// the record that it is filled again.

// budgeted is the market of the member that sends transactions.
type budgeted struct {
	port.Market
	base        *shell.Base
	root, queue *shell.Part
}

// Unwrap is the market that this one is in front of, for its additional interfaces.
func (m budgeted) Unwrap() port.Market { return m.Market }

// FillSlot implements port.Market.
func (m budgeted) FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error) {
	if !call.Refill {
		return m.Market.FillSlot(ctx, call, proof)
	}
	counted, uncounted := m.claimsOfOthers(ctx, call)
	call.Keep, call.Paid = counted.keep(call.Slot), counted.paid
	if uncounted != nil { // Nothing is sent then; but what was sent before is found, whatever became of its sale.
		call.Keep = events.MaxAmount()
	}
	fill, err := m.Market.FillSlot(ctx, call, proof)
	short := errors.Is(err, events.ErrInsufficientFunds)
	if uncounted == nil {
		m.root.Tell(refillTried{call.Slot, counted.turn, short})
	} else if short {
		err = fmt.Errorf("count what other slots are promised: %w", uncounted)
	}
	return fill, err
}

// Messages about slots that are filled again.
type (
	// refillBegins asks what the sales beside the slot's may still pay; the answer is otherClaims.
	refillBegins struct {
		slot    events.SlotID
		attempt uint32
	}
	otherClaims struct {
		turn        uint64
		outstanding []slotqueue.Unpaid
		paid        []events.Head
	}
	// refillTried: a slot was filled again, or why it was not. short: for want of tokens, and nothing was sent.
	refillTried struct {
		slot  events.SlotID
		turn  uint64
		short bool
	}
)

// errUnknownRefill: this process has not read yet that a slot is filled again, so it would promise others the tokens.
var errUnknownRefill = errors.New("it is not known here yet that the slot is filled again")

// claimsOfOthers is what may be paid for other slots than that of the call.
func (m budgeted) claimsOfOthers(ctx context.Context, call events.SlotCall) (otherClaims, error) {
	others, err := shell.Ask[otherClaims](m.root, refillBegins{call.Slot, call.Attempt}).Wait(ctx)
	if err != nil {
		return otherClaims{}, err
	}
	if m.base.HasTerm != nil { // Slots may be handed out whose sale has not begun; and another member may do that now.
		handedOut, err := shell.Ask[[]slotqueue.Unpaid](m.queue, queue.ListPromised{}).Wait(ctx)
		if err != nil {
			return otherClaims{}, err
		}
		others.outstanding = append(others.outstanding, handedOut...)
		if err := m.base.HasTerm(ctx); err != nil {
			return otherClaims{}, err
		}
	}
	return others, nil
}

// keep is the sum for all slots but one.
func (b otherClaims) keep(but events.SlotID) (sum events.Amount) {
	counted := map[events.SlotID]bool{but: true}
	for _, u := range b.outstanding {
		if slot := events.SlotIDOf(u.RequestID, u.SlotIndex); !counted[slot] {
			counted[slot] = true
			sum = sum.AddSaturating(u.Collateral)
		}
	}
	return sum
}

// onRefillBegins lists what other sales have yet to pay. Of the slots that are filled again, those are left out for
// which there were not enough tokens: otherwise each would wait for the other.
func (s *roster) onRefillBegins(a *shell.Turn, m refillBegins) {
	ag := s.agents[m.slot]
	if ag == nil || !ag.inWork() || ag.state.Refills == 0 || ag.state.Attempt != m.attempt {
		a.Asker()(otherClaims{}, errUnknownRefill)
		return
	}
	ag.refills++
	ag.refillShort = false
	answer := otherClaims{turn: ag.refills, paid: s.paid()}
	for _, u := range s.outstandingSales() {
		other := s.agents[events.SlotIDOf(u.RequestID, u.SlotIndex)]
		if other == nil || !other.refillShort {
			answer.outstanding = append(answer.outstanding, u)
		}
	}
	for _, c := range s.onTheirWay() {
		if c.member == "" {
			answer.outstanding = append(answer.outstanding, c.outstanding())
		}
	}
	a.Asker()(answer, nil)
}

func (s *roster) onRefillTried(m refillTried) {
	if ag := s.agents[m.slot]; ag != nil && ag.refills == m.turn {
		ag.refillShort = m.short && ag.state.Refills > 0
	}
}
