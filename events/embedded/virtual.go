package embedded

import (
	"strings"

	"github.com/hostnode/hostnode/events"
)

// belongs reports whether an event is in a virtual stream: events.VirtualOf has
// it, asked without making names, because readers ask for every event.
func belongs(virtual string, e *events.Recorded) bool {
	if events.IsSystem(e.Stream) || events.IsSystem(e.Type) {
		return false
	}
	if virtual == events.VirtualStreams {
		return e.Revision == 0
	}
	if category, ok := strings.CutPrefix(virtual, events.VirtualCategory); ok {
		return events.Category(e.Stream) == category
	}
	if eventType, ok := strings.CutPrefix(virtual, events.VirtualType); ok {
		return e.Type == eventType
	}
	correlation, ok := strings.CutPrefix(virtual, events.VirtualCorrelated)
	return ok && e.Meta.Correlation == correlation && correlation != ""
}
