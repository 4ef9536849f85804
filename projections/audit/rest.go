package audit

import (
	"slices"

	"github.com/hostnode/hostnode/events"
)

// A settled sale seldom gets another event: only another attempt at the slot,
// or a late transaction. Until then its stream is replaced by a few numbers, so
// that memory grows with the open sales and hardly with the number of events.

// restKey is a settled sale.
type restKey struct {
	Host uint32
	Slot events.SlotID
}

// rest is what is kept of such a stream: some 100 bytes with its map entry.
type rest struct {
	Next, Epoch uint64
	Settled     events.Position
	Attempt     uint32
	Phase       uint8 // its place in phases
}

// phases numbers the phases in which a sale can end.
var phases = []phase{finished, ignored, cancelled, failed, errored}

// layToRest replaces the stream of a sale that was just settled.
func (a *auditor) layToRest(s *stream) {
	l := s.life
	if s.kind != kindSale || s.judge == nil || !l.Settled || l.Kept { // Kept: the next attempt begins at once.
		return
	}
	if i := slices.Index(phases, l.Phase); i >= 0 {
		a.resting[restKey{s.host.number, l.Slot}] = rest{s.Next, s.Epoch, l.SettledAt, l.Attempt, uint8(i)}
		delete(a.streams, s.Name)
		delete(s.host.sales, l.Slot)
	}
}

// restore restores a stream; false when it was not replaced.
func (a *auditor) restore(s *stream) bool {
	if s.kind != kindSale {
		return false
	}
	key := restKey{s.host.number, s.life.Slot}
	was, known := a.resting[key]
	if !known {
		return false
	}
	delete(a.resting, key)
	s.Next, s.Epoch = was.Next, was.Epoch
	s.life.Phase, s.life.Attempt = phases[was.Phase], was.Attempt
	s.life.Settled, s.life.SettledAt = true, was.Settled
	return true
}

// attemptOf is the newest attempt at a slot.
func (a *auditor) attemptOf(h *host, slot events.SlotID) (attempt uint32, known bool) {
	if l := h.sales[slot]; l != nil {
		return l.Attempt, true
	}
	was, known := a.resting[restKey{h.number, slot}]
	return was.Attempt, known
}

// settledAt is the position at which an attempt at a slot was settled; 0 when
// it was not. An attempt before the newest one was certainly settled before the
// newest began, but its position is not kept.
func (a *auditor) settledAt(h *host, slot events.SlotID, attempt uint32) events.Position {
	if l := h.sales[slot]; l != nil {
		switch {
		case l.Broken:
		case attempt < l.Attempt:
			return l.Began
		case attempt == l.Attempt && l.Settled:
			return l.SettledAt
		}
		return 0
	}
	if was, known := a.resting[restKey{h.number, slot}]; known && attempt <= was.Attempt {
		return was.Settled
	}
	return 0
}
