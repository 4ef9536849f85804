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
	// measuredBlocks is over how many blocks the block time is measured, and after how
	// many it is measured again; measuredSteps in how many parts, whose median counts:
	// a pause of the chain says nothing about its pace.
	measuredBlocks = 64
	measuredSteps  = 8
	// longestBlockTime is the most that a chain is believed to take for a block.
	longestBlockTime = time.Hour
)

// pollsPerBlock is how often a new block is looked for in a block time, where the node
// does not announce them. What that delays a proof by is little beside the blocks that it
// needs; providers count requests.
const (
	pollsPerBlock = 6
	shortestPoll  = 250 * time.Millisecond
	longestPoll   = 2 * time.Second
)

// BlockTime is how far apart blocks usually are, in chain time, and how often they are
// looked for. It is safe for concurrent use.
type BlockTime struct {
	set       time.Duration // by the operator; 0: it is measured
	pollEvery time.Duration // likewise
	log       logrus.FieldLogger
	measured  atomic.Int64  // nanoseconds; 0: not known
	at        atomic.Uint64 // the block at which it was measured
}

// NewBlockTime is as set; what is zero is measured, or follows from what is.
func NewBlockTime(set, pollEvery time.Duration, log logrus.FieldLogger) *BlockTime {
	b := &BlockTime{set: set, pollEvery: pollEvery, log: log}
	if b.set > 0 {
		b.log.Infof("blocks are taken to be %s apart, as chain.blockTime says", b.set)
	}
	return b
}

// Usual is how far apart blocks are, in chain time: as set, or as measured; not known when neither
// says it.
func (b *BlockTime) Usual() (usual time.Duration, known bool) {
	if b.set > 0 {
		return b.set, true
	}
	usual = time.Duration(b.measured.Load())
	return usual, usual > 0
}

// Pace is the time from the newest block to the next, as far as we can know, in whole
// seconds as blocks have it.
func (b *BlockTime) Pace() time.Duration {
	usual, _ := b.Usual()
	return max(usual.Round(time.Second), time.Second)
}

// Poll is how often a new block is looked for.
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

// Begin measures for the first time. What fails is tried again with the next block.
func (b *BlockTime) Begin(ctx context.Context, c *Conn) {
	head, err := c.Latest(ctx)
	if err == nil {
		err = b.Measure(ctx, c, head)
	}
	if err != nil {
		b.log.Warnf("how far apart blocks are is not known yet: %v", err)
	}
}

// Measure looks how far apart the blocks up to head are, unless it did so lately.
func (b *BlockTime) Measure(ctx context.Context, c *Conn, head *Header) error {
	top := uint64(head.Number)
	if _, known := b.Usual(); b.set > 0 || top < 2 || known && top-b.at.Load() < measuredBlocks {
		return nil
	}
	step := max(1, min(top-1, measuredBlocks)/measuredSteps)
	var numbers []uint64
	for n := top; len(numbers) <= measuredSteps && n > 0; n -= min(n, step) { // The first block may be of any time.
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
	b.at.Store(top)
	if changed := (usual - before).Abs(); changed > before/4 { // Also the first time.
		b.log.WithField("block", top).Infof("blocks are %s apart, as measured over the last %d",
			usual.Round(time.Millisecond), top-numbers[0])
	}
	return nil
}

// usualBlockTime is the median distance of blocks with rising numbers.
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
	usual := each[len(each)/2]
	if usual == 0 { // So fast that most steps lie within a second.
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
