package actors

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// paceSpan is over how many blocks a pace is measured.
const paceSpan = 64

// pacer measures how fast blocks come. What a slot owes depends on how far its
// pointer can move until a miss is marked, so the fastest pace counts.
type pacer struct {
	heads []events.Head // the newest last
}

// see takes a new newest block. The same one may come again, when there is something
// else to say of it.
func (p *pacer) see(head events.Head) {
	if n := len(p.heads); n > 0 && head.Number <= p.heads[n-1].Number {
		if head.Hash == p.heads[n-1].Hash {
			return
		}
		p.heads = nil // A reorganisation.
	}
	if len(p.heads) == paceSpan {
		p.heads = append(p.heads[:0], p.heads[1:]...)
	}
	p.heads = append(p.heads, head)
}

// shortest is the least time between two blocks that is to be expected: the least
// that was seen lately, but no more than the usual one. Before anything was seen it
// is a second. Where several blocks come in a second, it is half of what they take
// on average.
func (p *pacer) shortest(usual time.Duration) time.Duration {
	if len(p.heads) < 2 {
		return min(max(usual, time.Millisecond), time.Second)
	}
	least := usual
	for i, h := range p.heads[1:] {
		before := p.heads[i]
		least = min(least, h.Time.Sub(before.Time)/time.Duration(h.Number-before.Number))
	}
	if least >= time.Second {
		return least
	}
	first, last := p.heads[0], p.heads[len(p.heads)-1]
	average := last.Time.Sub(first.Time) / time.Duration(last.Number-first.Number)
	return max(min(average/2, time.Second), time.Millisecond)
}
