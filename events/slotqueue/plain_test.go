package slotqueue

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// plain is the simplest implementation of the rules: a list that is sorted whenever it is read.
type plain struct {
	limit  int
	queued []Item
}

// better implements rule 1 independently of compare.
func better(a, b Item) int {
	decisions := []int{
		number(a.Seen) - number(b.Seen),
		b.Profitability.Cmp(a.Profitability),
		a.Collateral.Cmp(b.Collateral),
		latest(b).Compare(latest(a)),
		int(a.DatasetSize) - int(b.DatasetSize),
		int(a.Place) - int(b.Place),
		int(a.Order) - int(b.Order),
	}
	for _, d := range decisions {
		if d != 0 {
			return d
		}
	}
	return 0
}

func latest(it Item) time.Time {
	if it.Expiry.IsZero() {
		return start.Add(1000 * time.Hour)
	}
	return it.Expiry
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func is(id events.RequestID, index uint64) func(Item) bool {
	return func(it Item) bool { return it.RequestID == id && it.SlotIndex == index }
}

// admit adds slots and lets the worst go, one by one.
func (p *plain) admit(id events.RequestID, indices []uint64, at time.Time, terms Terms, next uint64, after []Item) {
	var place uint32
	for _, it := range slices.Concat(p.queued, after) {
		if it.RequestID == id {
			place = max(place, it.Place+1)
		}
	}
	for _, index := range indices {
		p.queued = append(p.queued, Item{
			RequestID: id, SlotIndex: index, Terms: terms, QueuedAt: at, Place: place, Order: next,
		})
		place++
		next++
	}
	p.shrink()
}

func (p *plain) shrink() {
	slices.SortFunc(p.queued, better)
	p.queued = p.queued[:min(len(p.queued), p.limit)]
}

// after computes what must be queued after a command.
func (p *plain) after(c Command, before State) {
	known := func(id events.RequestID, index uint64) *Item {
		all := append(slices.Collect(before.Items()), before.Taken()...)
		if i := slices.IndexFunc(all, is(id, index)); i >= 0 {
			return &all[i]
		}
		return nil
	}
	stale := func(revision uint64) bool { return revision > 0 && revision <= before.LastMarketRevision() }
	switch c := c.(type) {
	case Queue:
		if c.Refusal != nil || stale(c.MarketRevision) {
			return
		}
		var fresh []uint64
		for _, index := range c.SlotIndices {
			if known(c.RequestID, index) == nil && !slices.Contains(fresh, index) {
				fresh = append(fresh, index)
			}
		}
		p.admit(c.RequestID, fresh, c.At, c.Terms, before.Snapshot().Next, before.Taken())
	case Take:
		_, _, paused := before.Paused()
		if !paused && len(before.Taken()) < c.MaxWorkers && len(p.queued) > 0 && !p.queued[0].Seen {
			p.queued = p.queued[1:]
		}
	case Release:
		it := known(c.RequestID, c.SlotIndex)
		if it == nil || !slices.ContainsFunc(before.Taken(), is(c.RequestID, c.SlotIndex)) {
			return
		}
		if it.Again != nil {
			others := slices.DeleteFunc(before.Taken(), is(c.RequestID, c.SlotIndex))
			p.admit(c.RequestID, []uint64{c.SlotIndex}, c.At, *it.Again, before.Snapshot().Next, others)
			return
		}
		if c.Requeue && !it.Gone {
			again := it.Woken && !it.Retried && (len(it.WokenFor) == 0 || c.Criterion == "" ||
				c.RetryAt.IsZero() && slices.Contains(it.WokenFor, c.Criterion))
			it.Seen, it.Retried, it.Woken, it.WokenFor = !again, again, false, nil
			it.Member, it.Promise = "", events.Amount{}
			if it.Seen {
				it.Criterion, it.RetryAt = c.Criterion, c.RetryAt
			}
			p.queued = append(p.queued, *it)
			p.shrink()
		}
	case Remove:
		if stale(c.MarketRevision) {
			return
		}
		p.queued = slices.DeleteFunc(p.queued, func(it Item) bool {
			return it.RequestID == c.RequestID &&
				(len(c.SlotIndices) == 0 || slices.Contains(c.SlotIndices, it.SlotIndex))
		})
	case Wake:
		p.wake(func(it Item) bool {
			return len(c.Criteria) == 0 || (c.Early || !it.RetryAt.After(c.At)) &&
				(it.Criterion == "" || slices.Contains(c.Criteria, it.Criterion))
		})
	case Resume:
		p.wake(func(Item) bool { return true })
	case Pause, Avoid, HandOut:
	}
}

func (p *plain) wake(worth func(Item) bool) {
	for i, it := range p.queued {
		if it.Seen && worth(it) {
			p.queued[i].Seen, p.queued[i].Criterion, p.queued[i].RetryAt = false, "", time.Time{}
		}
	}
	p.shrink()
}
