package sim

import "github.com/hostnode/hostnode/events"

// This file is what the fake market asks itself before it sends a fill.

// refusal is why a fill is not sent: the contract would refuse it, or it takes what must be left.
func (w *world) refusal(call events.SlotCall, p events.Proof) error {
	c := w.tip().state
	if _, err := c.clone().fill(w.next(), call.Slot, w.me, p); err != nil {
		return err
	}
	if !w.hasAll(w.tip().head, call.Paid) {
		return events.ErrBeforePayment
	}
	if c.tokens[w.me].SubFloor(call.Keep).Less(c.pays(c.slots[call.Slot])) {
		return events.ErrInsufficientFunds
	}
	return nil
}

// untilExpiry is for a planted market that takes its time: it seals blocks until a request is
// about to expire, and returns false if that is not in this period.
func (w *world) untilExpiry(id events.RequestID) bool {
	r := w.tip().state.requests[id]
	if r == nil || w.next().time.After(r.expiresAt) {
		return false
	}
	if c := w.tip().state; w.next().period(c) != (blockContext{time: r.expiresAt}).period(c) {
		return false
	}
	for w.next().time.Before(r.expiresAt) {
		_ = w.seal()
	}
	return true
}

// tooLateToFill reports whether a fill would be mined in the second in which the request
// expires or ends, where it would lock the collateral for ever.
func (w *world) tooLateToFill(id events.RequestID) bool {
	r := w.tip().state.requests[id]
	if r == nil || w.faithless {
		return false
	}
	last := r.endsAt
	if r.state == events.RequestNew {
		last = r.expiresAt
	}
	return w.next().time.Equal(last) // The contract refuses later fills.
}

// fillsLate: a fill in the second of the expiry, or of the end, locks the collateral for ever.
// It is called before the fill, because a marking in the same block may end the request.
func fillsLate(r *request, m blockContext) bool {
	return r != nil && (r.state == events.RequestNew && !m.time.Before(r.expiresAt) || !m.time.Before(r.endsAt))
}
