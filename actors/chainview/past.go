package chainview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file reads what the chain was when nobody looked: which blocks lay in the
// marking windows of periods that are over, and the hashes that made their
// challenges. As long as the host runs all of it is at hand; after a gap it is
// read, once for all sales, in batches.

const (
	// MostPastBlocks is how many blocks are read back to find what was owed in a gap: a
	// week at 12 s a block, half a day at 1 s. A host that was away for longer has lost
	// its slots, where anybody marks; what was owed before is not in the record.
	MostPastBlocks = 50_000
	// BlocksPerRead is how many blocks are asked for at once, and blocksOneByOne how
	// many are looked at in a step when each has to be asked for.
	BlocksPerRead, blocksOneByOne = 256, 16
)

// headReader is a market that reads many blocks in one call. The blocks come in
// their order, from the first to the last.
type headReader interface {
	HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
}

// Past is what the chain was in some periods that are over.
type Past struct {
	From, To uint64 // periods
	// Short: the chain was not read back to the period that was asked for; from is
	// the first one that was.
	Short  bool
	heads  []events.Head // without gaps
	hashes map[uint64]events.Hash
	// windows are those of periods that nothing cuts short.
	windows map[uint64]Window
}

// Window are the blocks in which a miss of a period could be marked; began is the first
// block that is not before the period.
type Window struct {
	duty.Window
	Began uint64
}

// ClosedPeriod is the last period whose marking is over when head is the newest block.
func (c *Chain) ClosedPeriod(head events.Head) uint64 {
	p := duty.Period(c.Terms.Proofs, head.Time.Add(-c.Terms.Proofs.Timeout))
	return max(p, 1) - 1
}

// ReadPast reads what decides about the periods from and to and those in between,
// which must be over: the blocks from newest back to the first of them.
func (c *Chain) ReadPast(ctx context.Context, from, to, newest uint64) (*Past, error) {
	p := &Past{From: from, To: to, hashes: map[uint64]events.Hash{}, windows: map[uint64]Window{}}
	begins := duty.Start(c.Terms.Proofs, from)
	step := uint64(blocksOneByOne)
	if _, ok := c.blockReader(); ok {
		step = BlocksPerRead
	}
	var chunks [][]events.Head
	for last := newest; ; {
		first := max(last, step) - step + 1
		heads, err := c.headsBetween(ctx, first, last)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, heads)
		if heads[0].Time.Before(begins) {
			break
		}
		if p.Short = first <= 1 || newest-first >= MostPastBlocks; p.Short {
			p.From = max(from, duty.Period(c.Terms.Proofs, heads[0].Time)+1)
			break
		}
		last = first - 1
	}
	slices.Reverse(chunks)
	p.heads = slices.Concat(chunks...)
	for i, h := range p.heads {
		if i > 0 && h.Parent != p.heads[i-1].Hash {
			return nil, ErrOvertaken
		}
		p.hashes[h.Number] = h.Hash
	}
	return p, nil
}

// headsBetween are blocks of the current chain, from the view when they are at hand.
func (c *Chain) headsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	if heads, ok := c.View.between(first, last); ok {
		return heads, nil
	}
	before := c.View.Rewound()
	if m, ok := c.blockReader(); ok {
		heads, err := m.HeadsBetween(ctx, first, last)
		if err == nil && uint64(len(heads)) != last-first+1 {
			err = fmt.Errorf("%d blocks came, not %d", len(heads), last-first+1)
		}
		if err != nil {
			return nil, fmt.Errorf("read blocks %d to %d: %w", first, last, err)
		}
		c.View.Keep(heads, before) // For the other sales, and for the next try.
		return heads, nil
	}
	heads := make([]events.Head, 0, last-first+1)
	for n := first; n <= last; n++ {
		if h, ok := c.View.between(n, n); ok {
			heads = append(heads, h...)
			continue
		}
		h, err := c.Market.HeadAt(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("read block %d: %w", n, err)
		}
		c.View.Keep([]events.Head{h}, before)
		heads = append(heads, h)
	}
	return heads, nil
}

// Challenges gives the challenges of that past; what is missing is noted.
func (p *Past) Challenges(view *View, missing map[uint64]bool) duty.Challenges {
	return duty.ChallengesOf(func(number uint64) (events.Hash, bool) {
		h, ok := p.hashes[number]
		if !ok {
			if h, ok = view.At(number); !ok {
				missing[number] = true
			}
		}
		return h, ok
	})
}

// Fill reads the hashes that were missing.
func (p *Past) Fill(ctx context.Context, view *View, missing map[uint64]bool) error {
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		h, err := view.LookUp(ctx, number)
		if err != nil {
			return fmt.Errorf("read block %d: %w", number, err)
		}
		p.hashes[number] = h
	}
	return nil
}

// Window is the window of a period, with no block after ends.
func (p *Past) Window(cfg events.ProofConfig, period uint64, ends time.Time) Window {
	end := duty.End(cfg, period)
	whole := !ends.Add(time.Second).Before(end.Add(cfg.Timeout))
	if w, ok := p.windows[period]; ok && whole {
		return w
	}
	at := func(t time.Time) uint64 { // The first block that is not before t.
		i, _ := slices.BinarySearchFunc(p.heads, t, func(h events.Head, t time.Time) int { return h.Time.Compare(t) })
		return p.heads[0].Number + uint64(i)
	}
	w := Window{
		Window: duty.Window{
			First: at(end.Add(time.Second)), Last: at(Earliest(end.Add(cfg.Timeout), ends.Add(time.Second))) - 1,
		},
		Began: at(duty.Start(cfg, period)),
	}
	if whole {
		p.windows[period] = w
	}
	return w
}

// Earliest is the one of two points of time that comes first.
func Earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
