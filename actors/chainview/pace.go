package chainview

import (
	"context"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// paceSpan is over how many blocks a pace is measured.
const paceSpan = 64

// Pacer measures how fast blocks come. What a slot owes depends on how far its
// pointer can move until a miss is marked, so the fastest pace counts.
type Pacer struct {
	heads []events.Head // the newest last
}

// See takes a new newest block. The same one may come again, when there is something
// else to say of it. What a reorganisation took away is forgotten, by what the chain is
// now, and the rest is kept: hash is what is known of the chain behind the new block.
func (p *Pacer) See(head events.Head, hash func(uint64) (events.Hash, bool)) {
	n := len(p.heads)
	// Numbers rise, also when a node says otherwise: they are divided by.
	follows := n > 0 && p.heads[n-1].Hash == head.Parent && p.heads[n-1].Number < head.Number
	if n > 0 && !follows && p.heads[n-1].Hash != head.Hash {
		p.heads = slices.DeleteFunc(p.heads, func(h events.Head) bool {
			now, known := hash(h.Number)
			return h.Number >= head.Number || known && now != h.Hash
		})
		n = len(p.heads)
	}
	switch {
	case n > 0 && p.heads[n-1].Hash == head.Hash:
		return
	case n == paceSpan:
		p.heads = append(p.heads[:0], p.heads[1:]...)
	}
	p.heads = append(p.heads, head)
}

// Learn begins with blocks that were read: those up to the newest one, in their order.
func (p *Pacer) Learn(heads []events.Head) {
	p.heads = slices.Clone(heads[max(0, len(heads)-paceSpan):])
}

// Shortest is the least time between two blocks that is to be expected.
func (p *Pacer) Shortest(usual time.Duration) time.Duration { return duty.Shortest(p.heads, usual) }

// Lately are the newest blocks, up to head: as many as a challenge reaches back. They say
// at what pace blocks come, without which proofs are owed that nobody demands, and what the
// first proofs are for. A start does not wait for them any longer than for its other
// questions; without them the pace is found out from the blocks that follow.
func (c *Chain) Lately(ctx context.Context, head events.Head) []events.Head {
	m, ok := c.blockReader()
	if !ok || head.Number == 0 {
		return nil // One call for each block is too much before anything is done.
	}
	first := head.Number - min(head.Number-1, BlocksPerRead-1)
	heads, err := Patiently(ctx, c.Base, LookPatience, func(ctx context.Context) ([]events.Head, error) {
		return m.HeadsBetween(ctx, first, head.Number)
	})
	if err == nil && (uint64(len(heads)) != head.Number-first+1 || !linked(heads, head)) {
		err = ErrOvertaken
	}
	if err != nil {
		if ctx.Err() == nil {
			c.Log.Warnf("at what pace blocks come is not known yet: read blocks %d to %d: %v", first, head.Number, err)
		}
		return nil
	}
	return heads
}

// linked reports whether blocks are of one chain, without a gap, up to a last one.
func linked(heads []events.Head, last events.Head) bool {
	for i, h := range heads {
		if i > 0 && (h.Parent != heads[i-1].Hash || h.Number != heads[i-1].Number+1) {
			return false
		}
	}
	return heads[len(heads)-1].Hash == last.Hash
}
