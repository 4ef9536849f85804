package slotqueue

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// This file finds the seen slots that are to be considered again when something
// changed: those that failed exactly that, and whose time has come.

// seenSlots are the queued slots that were seen, by the criterion that they failed;
// each knows its index. Those of which it is not known are under "".
type seenSlots struct {
	by map[string][]*item
	n  int
	// timed are the slots with a time before which they are not considered
	// again, the earliest on top.
	timed ranking
}

func (d *seenSlots) add(it *item) {
	it.inSeen = int32(len(d.by[it.criterion]))
	d.by[it.criterion] = append(d.by[it.criterion], it)
	d.n++
	if !it.retryAt.IsZero() {
		d.timed.add(it)
	}
}

func (d *seenSlots) remove(it *item) {
	list := d.by[it.criterion]
	last := len(list) - 1
	list[it.inSeen] = list[last]
	list[it.inSeen].inSeen = it.inSeen
	list[last] = nil
	if d.by[it.criterion] = list[:last]; last == 0 {
		delete(d.by, it.criterion)
	}
	d.n--
	if !it.retryAt.IsZero() {
		d.timed.remove(it)
	}
}

// holds reports whether the slot is at the index that it has noted.
func (d *seenSlots) holds(it *item) bool {
	list := d.by[it.criterion]
	return int(it.inSeen) < len(list) && list[it.inSeen] == it &&
		(it.retryAt.IsZero() || int(it.inTimed) < d.timed.Len() && d.timed.items[it.inTimed] == it)
}

// worth yields the slots to consider again at a point in chain time when these
// criteria have changed. No criteria mean that any may have changed. With them, and if
// it is not early, a slot's time is waited for. A slot whose criterion is not known is always among
// them. The order is fixed.
func (d *seenSlots) worth(criteria []string, at time.Time, early bool) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, criterion := range d.reached(criteria) {
			for _, it := range d.by[criterion] {
				if (len(criteria) == 0 || early || it.ripe(at)) && !yield(it) {
					return
				}
			}
		}
	}
}

func (d *seenSlots) reached(criteria []string) []string {
	if len(criteria) == 0 {
		return slices.Sorted(maps.Keys(d.by))
	}
	out := append([]string{""}, criteria...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (it *item) ripe(at time.Time) bool { return it.retryAt.IsZero() || !it.retryAt.After(at) }

// sooner reports whether an item is to be considered again before another.
func (it *item) sooner(other *item) bool {
	return cmp.Or(it.retryAt.Compare(other.retryAt), cmp.Compare(it.order, other.order)) < 0
}

// NextWake is the chain time at which a slot is to be considered again, or an
// avoided client is forgiven; zero: the passing of time changes nothing.
func (s State) NextWake() time.Time {
	next := s.avoided.soonest()
	if it := s.seen.timed.first(); it != nil && (next.IsZero() || it.retryAt.Before(next)) {
		return it.retryAt
	}
	return next
}

// Due returns the criteria of the slots whose time has come, and CriterionClient
// when a client is forgiven: what to wake the queue for. Sorted; it goes through
// those that are due.
func (s State) Due(at time.Time) []string {
	var out []string
	if soonest := s.avoided.soonest(); !soonest.IsZero() && !soonest.After(at) {
		out = append(out, CriterionClient)
	}
	for open := []int{0}; len(open) > 0; open = open[1:] {
		if i := open[0]; i < s.seen.timed.Len() && s.seen.timed.items[i].ripe(at) {
			out = append(out, s.seen.timed.items[i].criterion)
			open = append(open, 2*i+1, 2*i+2)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Seen counts the queued slots that were considered, by the criterion that they
// failed; empty: not known.
func (s State) Seen() map[string]int {
	out := make(map[string]int, len(s.seen.by))
	for criterion, list := range s.seen.by {
		out[criterion] = len(list)
	}
	return out
}

// Waiting counts the slots that were refused or seen, by the criterion that
// they failed. It goes through all refusals.
func (s State) Waiting() map[string]int {
	out := s.Seen()
	for r := range s.refusals.all() {
		out[r.Criterion] += len(r.SlotIndices)
	}
	return out
}

// wakes reports whether waking the queue for these criteria would change anything.
func (s State) wakes(criteria []string, at time.Time, early bool) bool {
	if len(criteria) == 0 && (s.exhausted || s.seen.n > 0) {
		return true
	}
	for range s.seen.worth(criteria, at, early) {
		return true
	}
	return s.forgives(criteria, at) ||
		slices.ContainsFunc(s.taken, func(it *item) bool { return !it.wokenBy(criteria) })
}

// wake makes slots unseen; the taken ones when they come back. Each is moved
// before the next is changed, so the order holds after every step.
func (s *State) wake(criteria []string, at time.Time, early bool) {
	woken := slices.Collect(s.seen.worth(criteria, at, early))
	for _, it := range woken {
		s.seen.remove(it)
		it.seen, it.criterion, it.retryAt = false, "", time.Time{}
		s.best.fix(it)
		s.worst.fix(it)
	}
	for _, it := range s.taken {
		it.wakeTaken(criteria)
	}
	if len(criteria) == 0 || len(woken) > 0 {
		s.exhausted, s.exhaustedFor = false, ""
	}
	if s.forgives(criteria, at) {
		s.avoided.forgive(at)
	}
}

// wokenBy reports whether a taken slot has noted already that these criteria changed.
func (it *item) wokenBy(criteria []string) bool {
	switch {
	case !it.woken:
		return false
	case len(it.wokenFor) == 0:
		return true
	case len(criteria) == 0:
		return false
	}
	return !slices.ContainsFunc(criteria, func(c string) bool { return !slices.Contains(it.wokenFor, c) })
}

func (it *item) wakeTaken(criteria []string) {
	switch {
	case it.wokenBy(criteria):
	case len(criteria) == 0:
		it.woken, it.wokenFor = true, nil
	default:
		all := slices.Sorted(slices.Values(slices.Concat(it.wokenFor, criteria)))
		it.woken, it.wokenFor = true, slices.Compact(all)
	}
}

func (s State) forgives(criteria []string, at time.Time) bool {
	soonest := s.avoided.soonest()
	return !soonest.IsZero() && !soonest.After(at) &&
		(len(criteria) == 0 || slices.Contains(criteria, CriterionClient))
}
