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

// This file reads the past of the chain: the blocks in the marking windows of periods that are
// over, and the hashes of their challenges. While the host runs all of that is known; after a
// gap it is read, once for all sales, in batches.

const (
	// BlocksPerRead is how many blocks are read at once; blocksOneByOne, how many per step when
	// each takes a call of its own.
	BlocksPerRead, blocksOneByOne = 256, 16
)

// headReader is a market that reads many blocks in one call, in their order from first to last.
type headReader interface {
	HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
}

// ClosedPeriod is the last period whose marking is over when head is the newest block.
func (c *Chain) ClosedPeriod(head events.Head) uint64 { return duty.LastClosed(c.Terms.Proofs, head) }

// ReadPast reads what decides about the periods from from to to, which must be over: the blocks
// from newest back to the first of those periods.
func (c *Chain) ReadPast(ctx context.Context, from, to, newest uint64) (*duty.Past, error) {
	short, reached := false, from
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
		if short = first <= 1 || newest-first >= duty.MostPastBlocks; short {
			reached = max(from, duty.Period(c.Terms.Proofs, heads[0].Time)+1)
			break
		}
		last = first - 1
	}
	slices.Reverse(chunks)
	blocks := slices.Concat(chunks...)
	for i, h := range blocks {
		if i > 0 && h.Parent != blocks[i-1].Hash {
			return nil, ErrOvertaken
		}
	}
	past := duty.NewPast(c.Terms.Proofs, reached, to, blocks)
	past.Short = short
	return past, nil
}

// headsBetween returns blocks of the current chain, from the view if it has them.
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

// FillPast reads the block hashes that a past lacks.
func (c *Chain) FillPast(ctx context.Context, p *duty.Past, missing map[uint64]bool) error {
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		h, err := c.View.LookUp(ctx, number)
		if err != nil {
			return fmt.Errorf("read block %d: %w", number, err)
		}
		p.Learn(number, h)
	}
	return nil
}

// Earliest is the earlier of two times.
func Earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
