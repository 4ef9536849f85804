package audit

import (
	"github.com/hostnode/hostnode/events"
	judges "github.com/hostnode/hostnode/projections/catalog"
	"github.com/hostnode/hostnode/projections/machine"
)

// others is what the judge of a machine of its own may ask about a host's other streams, at an event.
func (a *auditor) others(h *host, p place) machine.Others {
	return machine.Others{
		Host: events.Must(events.ParseAddress(h.Address)),
		State: func(stream string) (any, bool) {
			switch s := a.streams[stream]; {
			case s == nil:
				return nil, true
			case s.own == nil || s.judge == nil:
				return nil, false
			default:
				return s.own.State(), true
			}
		},
		Held: func(cid string) (sum events.Bytes, sure bool) {
			for _, in := range h.Ledgers {
				if in.Broken {
					return 0, false
				}
				sum += in.State.PieceBytes(cid)
			}
			return sum, true
		},
		Find: func(rule, format string, args ...any) { a.cross(Rule(rule), p, format, args...) },
	}
}

// endOfOwn holds streams of machines of their own against others, as they are at the end.
func (a *auditor) endOfOwn() {
	for _, name := range sortedKeys(a.streams) {
		s := a.streams[name]
		if s.own == nil || s.judge == nil {
			continue
		}
		if of, _ := judges.Of(events.Category(name)); of.Join != nil {
			of.Join(s.own.State(), nil, a.others(s.host, place{name, max(s.Next, 1) - 1, a.report.AsOf}))
		}
	}
}
