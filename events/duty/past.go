package duty

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// MostPastBlocks is how many blocks are read back to find what was owed in a gap: a
// week at 12 s a block, half a day at 1 s. A host that was away for longer has lost
// its slots if any validator marks; what was owed before that is not recorded.
const MostPastBlocks = 50_000

// Past is the chain during some periods that are over: the blocks whose
// transactions could mark a miss, and the hashes of their challenges. Not safe
// for concurrent use.
type Past struct {
	From, To uint64 // periods, both included
	// Short: the blocks do not reach back to the requested period; From is the
	// first period that they cover.
	Short  bool
	cfg    events.ProofConfig
	heads  []events.Head // without gaps
	hashes map[uint64]events.Hash
	// windows are the windows of periods that are not cut short.
	windows map[uint64]window
}

// window are the blocks in which a miss of a period could be marked; began is the first
// block that is not before the period.
type window struct {
	Window
	began uint64
}

// NewPast returns the past of the periods from one to another. The blocks must follow
// each other without a gap, from before the first period until after the marking of the
// last. There is at least one.
func NewPast(cfg events.ProofConfig, from, to uint64, blocks []events.Head) *Past {
	p := &Past{
		From: from, To: to, cfg: cfg, heads: blocks,
		hashes: make(map[uint64]events.Hash, len(blocks)), windows: map[uint64]window{},
	}
	for _, h := range blocks {
		p.hashes[h.Number] = h.Hash
	}
	return p
}

// Blocks are the first and the last block of the past.
func (p *Past) Blocks() Window { return Window{p.heads[0].Number, p.heads[len(p.heads)-1].Number} }

// PeriodOf is the period that a block lies in; false: the past has no such block.
func (p *Past) PeriodOf(number uint64, hash events.Hash) (uint64, bool) {
	b := p.Blocks()
	if number < b.First || number > b.Last || p.heads[number-b.First].Hash != hash {
		return 0, false
	}
	return Period(p.cfg, p.heads[number-b.First].Time), true
}

// Learn adds the hash of a block before those of the past.
func (p *Past) Learn(number uint64, hash events.Hash) { p.hashes[number] = hash }

// Challenges returns the challenges of the past; other knows the hashes of other
// blocks, and missing collects the numbers of blocks that nobody knows.
func (p *Past) Challenges(other Hashes, missing map[uint64]bool) Challenges {
	return ChallengesOf(func(number uint64) (events.Hash, bool) {
		h, ok := p.hashes[number]
		if !ok {
			if h, ok = other(number); !ok {
				missing[number] = true
			}
		}
		return h, ok
	})
}

// window returns the window of a period for a slot that owes nothing after a point in time.
func (p *Past) window(period uint64, until time.Time) window {
	end := End(p.cfg, period)
	whole := !until.Add(time.Second).Before(end.Add(p.cfg.Timeout))
	if w, ok := p.windows[period]; ok && whole {
		return w
	}
	closes := end.Add(p.cfg.Timeout)
	if !whole {
		closes = until.Add(time.Second)
	}
	w := window{
		Window: Window{First: p.at(end.Add(time.Second)), Last: p.at(closes) - 1},
		began:  p.at(Start(p.cfg, period)),
	}
	if whole {
		p.windows[period] = w
	}
	return w
}

// at is the first block that is not before a point in time.
func (p *Past) at(t time.Time) uint64 {
	i, _ := slices.BinarySearchFunc(p.heads, t, func(h events.Head, t time.Time) int { return h.Time.Compare(t) })
	return p.heads[0].Number + uint64(i)
}
