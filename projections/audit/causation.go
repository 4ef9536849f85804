package audit

import "github.com/hostnode/hostnode/events"

// checkCausation looks for the event that an event names as the one that caused it. It
// comes before, in a stream that the cause's key says. Older records have the key in its place.
func (a *auditor) checkCausation(s *stream, r events.Recorded, c events.Cause) {
	named := r.Meta.Causation
	if r.Meta.Cause == "" || named == "" {
		return
	}
	id, err := events.ParseEventID(named)
	if err != nil || id.String() != named {
		a.find(CauseUnresolved, placeOf(r), "$causationId is %q, and no event has such an id", clip(named))
		return
	}
	from, known := causedIn(s, c)
	if !known {
		a.find(CauseUnresolved, placeOf(r), "it names the event %s, and no event leads to what the cause %q says",
			named, clip(r.Meta.Cause))
		return
	}
	if from == "" {
		return
	}
	hash := s.hash
	if from != s.Name {
		if of := a.streams[from]; of != nil && of.judge == nil {
			return // A part of that stream is missing, which was found.
		}
		hash = a.ids.hashOf(from)
	}
	if id == r.ID || !a.ids.has(hash, id) {
		a.cross(CauseUnresolved, placeOf(r), "it names the event %s, and %s has none with that id up to here",
			named, from)
	}
}

// causedIn is the stream of the events that lead to a cause, empty if the record does
// not say which; false: no event leads to it.
func causedIn(s *stream, c events.Cause) (stream string, known bool) {
	switch c.Kind {
	case events.CauseEffect: // Of the machine itself.
		return s.Name, true
	case events.CauseMarket:
		return s.market(), true
	case events.CauseCommand:
		return s.market(), c.What == events.LookBack
	case events.CauseSale:
		return s.saleOf(c.Slot), true
	case events.CauseWork:
		return s.saleOf(events.SlotIDOf(c.Request, c.Number)), true
	case events.CauseBlock, events.CauseLog:
	}
	return "", false
}

// market is the stream of the market that the stream's host is in.
func (s *stream) market() string {
	if s.host == nil {
		return ""
	}
	return s.host.Market
}

// saleOf is the stream of its host's sale of a slot.
func (s *stream) saleOf(slot events.SlotID) string {
	if s.host == nil {
		return ""
	}
	owner, err := events.ParseAddress(s.host.Address)
	if err != nil {
		return ""
	}
	return events.SaleStream(owner, slot)
}
