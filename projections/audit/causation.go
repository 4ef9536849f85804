package audit

import (
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

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
	from := causedIn(s, c)
	if len(from) == 0 {
		a.find(CauseUnresolved, placeOf(r), "it names the event %s, and no event leads to what the cause %q says",
			named, clip(r.Meta.Cause))
		return
	}
	for _, name := range from {
		if a.mayHave(s, name, id) && id != r.ID {
			return
		}
	}
	a.cross(CauseUnresolved, placeOf(r), "it names the event %s, and %s has none with that id up to here",
		named, strings.Join(from, " or "))
}

// mayHave says whether a stream has an event up to here, or may have had it.
func (a *auditor) mayHave(s *stream, name string, id events.EventID) bool {
	if name == s.Name {
		return a.ids.has(s.hash, id) || a.cutOff(name)
	}
	if of := a.streams[name]; name == "" || of != nil && of.judge == nil {
		return true // It is not known which stream it is, or a part of it is missing, which was found.
	}
	return a.ids.has(a.ids.hashOf(name), id) || a.cutOff(name)
}

// cutOff says whether the beginning of a queue may have been removed. That it was is found
// only where the queue goes on, behind what names its events.
func (a *auditor) cutOff(name string) bool {
	if !catalog.Streams().MayTruncate(name) {
		return false
	}
	cut, known := a.cut[name]
	if !known {
		cut = a.truncatedBefore(name) > 0
		a.cut[name] = cut
	}
	return cut
}

// causedIn are the streams of the events that may lead to a cause, "" for one of which the
// record does not say the name; none: no event leads to it.
func causedIn(s *stream, c events.Cause) []string {
	switch c.Kind {
	case events.CauseEffect: // Of the machine itself.
		return []string{s.Name}
	case events.CauseMarket:
		return []string{s.market()}
	case events.CauseCommand:
		switch c.What {
		case events.LookBack:
			return []string{s.market()}
		case "begin":
			return []string{s.ofHost(events.SlotQueueStream)}
		}
	case events.CauseSale:
		return []string{s.saleOf(c.Slot)}
	case events.CauseWork: // A sale that was not begun says nothing.
		return []string{s.saleOf(events.SlotIDOf(c.Request, c.Number)), s.ofHost(events.SlotQueueStream)}
	case events.CauseBlock, events.CauseLog, events.CauseSector:
	}
	return nil
}

// market is the stream of the market that the stream's host is in.
func (s *stream) market() string {
	if s.host == nil {
		return ""
	}
	return s.host.Market
}

// ofHost is a stream of its host.
func (s *stream) ofHost(name func(events.Address) string) string {
	if s.host == nil {
		return ""
	}
	return name(events.Must(events.ParseAddress(s.host.Address)))
}

// saleOf is the stream of its host's sale of a slot.
func (s *stream) saleOf(slot events.SlotID) string {
	return s.ofHost(func(owner events.Address) string { return events.SaleStream(owner, slot) })
}
