package rpc

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// The block time is measured over measuredBlocks blocks, and again after as many. They are
	// divided into measuredSteps parts and the median counts: one pause of the chain says nothing
	// about its pace.
	measuredBlocks = 64
	measuredSteps  = 8
	// longestBlockTime limits the measurement: a longer distance between two blocks counts as this.
	longestBlockTime = time.Hour
)

// pollsPerBlock is how often we look for a new block within a block time, where the node does not
// announce them. The delay matters little beside the blocks until a transaction is mined, and providers
// charge by request.
const (
	pollsPerBlock = 6
	shortestPoll  = 250 * time.Millisecond
	longestPoll   = 2 * time.Second
)

// BlockTime is the usual time between two blocks of the chain, and how often we look for a new one.
// It is safe for concurrent use.
type BlockTime struct {
	set       time.Duration // by the operator; 0: measure it
	pollEvery time.Duration // by the operator; 0: a share of the block time
	log       logrus.FieldLogger
	measured  atomic.Int64  // nanoseconds; 0: not known
	upTo      atomic.Uint64 // the block up to which it was measured
}

// NewBlockTime uses what is set; a zero set is measured, and a zero pollEvery follows from the
// block time.
func NewBlockTime(set, pollEvery time.Duration, log logrus.FieldLogger) *BlockTime {
	b := &BlockTime{set: set, pollEvery: pollEvery, log: log}
	if b.set > 0 {
		b.log.Infof("the block time is %s (chain.blockTime, or the development chain's own), not measured", b.set)
	}
	return b
}

// Usual is the time between two blocks, in chain time, as set or measured; known is false when it
// is neither.
func (b *BlockTime) Usual() (usual time.Duration, known bool) {
	if b.set > 0 {
		return b.set, true
	}
	usual = time.Duration(b.measured.Load())
	return usual, usual > 0
}

// Pace is the expected time from the newest block to the next, in whole seconds, like the
// timestamps of blocks, and at least one; one while it is not known.
func (b *BlockTime) Pace() time.Duration {
	usual, _ := b.Usual()
	return max(usual.Round(time.Second), time.Second)
}

// Poll is the pause between two looks for a new block.
func (b *BlockTime) Poll() time.Duration {
	if b.pollEvery > 0 {
		return b.pollEvery
	}
	usual, known := b.Usual()
	if !known {
		return time.Second
	}
	return min(max(usual/pollsPerBlock, shortestPoll), longestPoll)
}

// Begin measures for the first time. If that fails, it is tried again with the next block.
func (b *BlockTime) Begin(ctx context.Context, c *Conn) {
	head, err := c.Latest(ctx)
	if err == nil {
		err = b.Measure(ctx, c, head)
	}
	if err != nil {
		b.log.Warnf("the block time is not known yet: %v", err)
	}
}

// Measure measures the block time up to head, unless an operator has set it, it was measured lately, or there are too
// few blocks.
func (b *BlockTime) Measure(ctx context.Context, c *Conn, head *Header) error {
	top, upTo := uint64(head.Number), b.upTo.Load()
	_, known := b.Usual()
	lately := known && top >= upTo && top-upTo < measuredBlocks // A chain that became shorter is measured again.
	if b.set > 0 || top < 2 || lately {
		return nil
	}
	step := max(1, min(top-1, measuredBlocks)/measuredSteps)
	var numbers []uint64
	for n := top; len(numbers) <= measuredSteps && n > 0; n -= min(n, step) { // Genesis may have any time.
		numbers = append(numbers, n)
	}
	slices.Reverse(numbers)
	found, err := c.BlocksByNumber(ctx, numbers)
	if err != nil {
		return err
	}
	usual, err := usualBlockTime(numbers, found)
	if err != nil {
		return err
	}
	before := time.Duration(b.measured.Swap(int64(usual)))
	b.upTo.Store(top)
	if changed := (usual - before).Abs(); changed > before/4 { // Also the first time.
		b.log.WithField("block", top).Infof("the block time is %s, measured over the last %d blocks",
			usual.Round(time.Millisecond), top-numbers[0])
	}
	return nil
}

// usualBlockTime is the (lower) median distance between blocks with rising numbers; the mean when that is zero, because
// timestamps are whole seconds.
func usualBlockTime(numbers []uint64, found map[uint64]*Header) (time.Duration, error) {
	var each []time.Duration
	for i, n := range numbers {
		block := found[n]
		if block == nil || uint64(block.Number) != n {
			return 0, fmt.Errorf("%w: the node has no block %d", ErrUnavailable, n)
		}
		if i == 0 {
			continue
		}
		blocks, before := n-numbers[i-1], found[numbers[i-1]]
		if block.Time < before.Time {
			return 0, fmt.Errorf("%w: block %d is older than block %d", ErrUnavailable, n, numbers[i-1])
		}
		seconds := min(uint64(block.Time-before.Time), blocks*uint64(longestBlockTime/time.Second))
		each = append(each, time.Duration(seconds)*time.Second/time.Duration(blocks))
	}
	slices.Sort(each)
	usual := each[(len(each)-1)/2]
	if usual == 0 { // At least half of the steps are shorter than a second.
		for _, d := range each {
			usual += d / time.Duration(len(each))
		}
	}
	if usual == 0 {
		return 0, fmt.Errorf("%w: blocks %d to %d are all of the same second", ErrUnavailable,
			numbers[0], numbers[len(numbers)-1])
	}
	return usual, nil
}
