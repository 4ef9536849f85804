package chainview

import (
	"context"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// paceSpan is how many blocks a pace is measured over.
const paceSpan = 64

// Pacer measures how fast blocks come. Whether a slot owes a proof depends on how far its
// pointer can move until a miss is marked, and the pointer moves with the blocks, so the
// fastest pace counts.
type Pacer struct {
	heads []events.Head // the newest last
}

// See adds the newest block; the same one may come again. Blocks that a reorganisation replaced
// are forgotten and the others kept; hash has the hashes of the chain before the new block.
func (p *Pacer) See(head events.Head, hash func(uint64) (events.Hash, bool)) {
	n := len(p.heads)
	// Numbers must rise, whatever a node says: the pace is divided by their differences.
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

// Learn takes blocks that were read: those up to the newest one, in order.
func (p *Pacer) Learn(heads []events.Head) {
	p.heads = slices.Clone(heads[max(0, len(heads)-paceSpan):])
}

// Shortest is the least time to expect between two blocks.
func (p *Pacer) Shortest(usual time.Duration) time.Duration { return duty.Shortest(p.heads, usual) }

// Lately reads the newest blocks up to head, as many as a challenge reaches back. The first
// challenges are drawn from them, and they give the pace of blocks: while it is unknown, more
// proofs are made than demanded. A start waits for them for LookPatience at most; without them
// the pace is measured on the blocks that follow.
func (c *Chain) Lately(ctx context.Context, head events.Head) []events.Head {
	m, ok := c.blockReader()
	if !ok || head.Number == 0 {
		return nil // One call per block would delay the start too much.
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
			c.Log.Warnf("the block time is not known yet: read blocks %d to %d: %v", first, head.Number, err)
		}
		return nil
	}
	return heads
}

// linked reports whether blocks form one chain, without a gap, up to last.
func linked(heads []events.Head, last events.Head) bool {
	for i, h := range heads {
		if i > 0 && (h.Parent != heads[i-1].Hash || h.Number != heads[i-1].Number+1) {
			return false
		}
	}
	return heads[len(heads)-1].Hash == last.Hash
}
