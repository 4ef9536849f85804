package projections

import (
	"slices"
	"sort"

	"github.com/hostnode/hostnode/events"
)

// Of the events that a projector saw last it keeps at most so many, with at most so many bytes in all, for those who
// watch the record as it grows (Projector.After).
const (
	keptEvents = 2_048
	keptBytes  = 8 << 20
)

// recentEvents are the newest events, in order.
type recentEvents struct {
	// begin is the position before the first of them: of all that came later, nothing is missing.
	begin events.Position
	all   []events.Recorded
	bytes int
	// dropped is how many more their array has, which readers may still have.
	dropped int
}

func (k *recentEvents) add(r events.Recorded) {
	if events.IsSystem(r.Stream) {
		return
	}
	k.all = append(k.all, r)
	k.bytes += len(r.Data)
	drop := 0
	for len(k.all)-drop > keptEvents || k.bytes > keptBytes {
		k.begin = k.all[drop].Position
		k.bytes -= len(k.all[drop].Data)
		drop++
	}
	k.all, k.dropped = k.all[drop:], k.dropped+drop
	if k.dropped > len(k.all) { // Now and then the others are copied, so that those that were dropped are let go of.
		k.all, k.dropped = slices.Clone(k.all), 0
	}
}

// After returns the events after a position that the views have seen, and how far they have: an event that a caller is
// told of is in the views. The events must not be changed. Not kept: some are too long ago, and must be read from the
// store. changed is closed when there is more.
func (p *Projector) After(position events.Position) (
	some []events.Recorded, asOf events.Position, kept bool, changed <-chan struct{},
) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	k := &p.recent
	if position < k.begin {
		return nil, p.views.asOf, false, p.changed
	}
	first := sort.Search(len(k.all), func(i int) bool { return k.all[i].Position > position })
	return k.all[first:len(k.all):len(k.all)], p.views.asOf, true, p.changed
}
