package sectors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// The orders and questions of operators.

// maxWho limits the name of the operator who gives an order, in bytes.
const maxWho = 200

// onAsked takes orders and questions of operators.
func (s *Sectors) onAsked(a *shell.Turn, msg any) {
	answer := a.Asker()
	if !s.booted {
		s.early = append(s.early, func(a *shell.Turn) { s.ask(a, msg, answer) })
		return
	}
	s.ask(a, msg, answer)
}

func (s *Sectors) ask(a *shell.Turn, msg any, answer shell.Answer) {
	at := events.TimeToMessage(s.Clock.Now())
	switch m := msg.(type) {
	case Create:
		s.create(a, m, answer)
	case AddPiece:
		s.order(m.Number, &messages.SectorAddPiece{At: at, Piece: pieceMessage(m.Piece), By: m.By}, m.By, answer)
	case DropPiece:
		s.order(m.Number, s.dropped(m), m.By, answer)
	case StartPacking:
		s.order(m.Number, &messages.SectorStartPacking{At: at, By: m.By}, m.By, answer)
	case Restart:
		s.order(m.Number, &messages.SectorRestart{At: at, By: m.By}, m.By, answer)
	case ForceState:
		s.order(m.Number, &messages.SectorForceState{
			At: at, State: string(m.State), By: m.By, Reason: clip(m.Reason),
		}, m.By, answer)
	case Terminate:
		s.order(m.Number, &messages.SectorTerminate{At: at, By: m.By, Reason: clip(m.Reason)}, m.By, answer)
	case Remove:
		s.order(m.Number, &messages.SectorRemove{At: at, By: m.By, Reason: clip(m.Reason)}, m.By, answer)
	case List:
		all := make([]Standing, 0, len(s.children))
		for _, n := range slices.Sorted(maps.Keys(s.children)) {
			all = append(all, s.children[n].standing(n))
		}
		answer(all, nil)
	case Show:
		c := s.children[m.Number]
		if c == nil {
			answer(nil, noSector(m.Number))
			return
		}
		answer(c.standing(m.Number), nil)
	}
}

// dropped is the event that leaves a piece out: when it could not be packed, or else could not be added.
func (s *Sectors) dropped(m DropPiece) sector.Event {
	at := events.TimeToMessage(s.Clock.Now())
	if c := s.children[m.Number]; c != nil && c.info.State == sector.PackingFailed {
		return &messages.SectorRetryPacking{At: at, By: m.By, Dropped: &m.CID}
	}
	return &messages.SectorRetryWaitDeals{At: at, By: &m.By, Dropped: &m.CID}
}

// sealOpen seals the sectors that have waited for pieces long enough.
func (s *Sectors) sealOpen() {
	if s.SealAfter == 0 {
		return
	}
	for _, n := range s.numbersOf(func(c *child) bool {
		st := c.info
		return st.State == sector.WaitDeals && len(st.Pieces) > 0 && !c.sealed && !c.Ref().Nobody() &&
			c.Left == "" && s.Clock.Now().Sub(st.BeganAt) >= s.SealAfter
	}) {
		c := s.children[n]
		c.sealed = true
		at := events.TimeToMessage(s.Clock.Now())
		s.order(n, &messages.SectorStartPacking{At: at, By: "host: sectors.sealAfter"}, by, func(_ any, err error) {
			c.sealed = err == nil
		})
	}
}

func noSector(n uint64) error {
	return fmt.Errorf("%w: %d has not begun, or is over; its stream tells", ErrNoSector, n)
}

func (c *child) standing(n uint64) Standing {
	call := c.done.get()
	return Standing{Number: n, Info: c.info, Progress: call.Progress, Call: call, Quarantined: c.Left}
}

func pieceMessage(p events.SectorPiece) *messages.SectorPiece {
	return &messages.SectorPiece{Cid: p.CID, Size: uint64(p.Size), Payload: uint64(p.Payload)}
}

// create begins a sector under a number that was never used. The number counts as used when the
// sector's first event is durable.
func (s *Sectors) create(a *shell.Turn, m Create, answer shell.Answer) {
	n, asked := s.requests[m.Request]
	if asked {
		c := s.children[n]
		switch {
		case c != nil && !c.begins && !c.is(m):
			answer(nil, fmt.Errorf("%w: sector %d, request %q", ErrOtherRequest, n, m.Request))
		case c == nil || !c.begins:
			answer(n, nil)
		default:
			s.start(n, m, answer)
		}
		return
	}
	n = s.next
	s.next++
	if m.Request != "" {
		s.requests[m.Request] = n
	}
	c := newChild(n)
	c.begins = true
	s.children[n] = c
	s.family.Run(a, &c.Child)
	s.start(n, m, answer)
}

// start orders the beginning of a sector; once more is harmless, if it has a request.
func (s *Sectors) start(n uint64, m Create, answer shell.Answer) {
	at, request := events.TimeToMessage(s.Clock.Now()), (*string)(nil)
	if m.Request != "" {
		request = &m.Request
	}
	var e sector.Event = &messages.SectorStartEmpty{
		At: at, Sector: n, Provider: s.Me.String(), Size: uint64(m.Size), By: m.By, Request: request,
	}
	if len(m.Pieces) > 0 {
		with := &messages.SectorStart{
			At: at, Sector: n, Provider: s.Me.String(), Size: uint64(m.Size), By: m.By, Request: request,
		}
		for _, p := range m.Pieces {
			with.Pieces = append(with.Pieces, pieceMessage(p))
		}
		e = with
	}
	s.order(n, e, m.By, func(_ any, err error) { answer(n, err) })
}

// is reports whether the sector may have begun with that order: pieces may have come later.
func (c *child) is(m Create) bool {
	missing := func(p events.SectorPiece) bool {
		return !slices.Contains(c.info.Pieces, p) && !slices.Contains(c.info.Pending, p)
	}
	return c.info.Size == m.Size && !slices.ContainsFunc(m.Pieces, missing)
}

// forget lets a sector go that did not begin.
func (s *Sectors) forget(n uint64) {
	delete(s.children, n)
	maps.DeleteFunc(s.requests, func(_ string, of uint64) bool { return of == n })
}

func (s *Sectors) order(n uint64, e sector.Event, who string, answer shell.Answer) {
	c := s.children[n]
	switch {
	case c == nil:
		answer(nil, noSector(n))
	case who == "" || len(who) > maxWho:
		answer(nil, fmt.Errorf("%s: say who wants it, in at most %d bytes", sector.NameOf(e), maxWho))
	case c.Left != "":
		answer(nil, fmt.Errorf("%w: sector %d: %s; try it again first", quarantine.ErrQuarantined, n, c.Left))
	case c.Ref().Nobody():
		answer(nil, fmt.Errorf("%w: sector %d is about to be run again", shell.ErrPartDown, n))
	default:
		s.asked++
		c.orders[s.asked] = answer
		c.Ref().Tell(order{s.asked, e, who})
	}
}

func (s *Sectors) onOrdered(m ordered) {
	c := s.children[m.number]
	if c == nil || c.orders[m.id] == nil {
		return
	}
	answer := c.orders[m.id]
	delete(c.orders, m.id)
	if m.err != nil {
		answer(nil, m.err)
	} else {
		answer(m.state, nil)
	}
	if m.err != nil && c.begins {
		s.family.Stop(&c.Child)
		s.loaded(c)
		s.forget(m.number)
	}
}
