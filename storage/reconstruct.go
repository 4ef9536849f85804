package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// maxReconstructBlocks limits the datasets whose lost blocks can be computed from other slots: the
// whole list of digests is then in memory, 128 MiB at most.
const maxReconstructBlocks = 4 << 20

// codewords computes blocks that no source has from the other blocks of their codewords, one at a
// time, because each takes the memory of K blocks.
type codewords struct {
	sources *sources
	tree    dataset.CID
	layout  dataset.Layout
	slot    uint64

	mu      sync.Mutex
	digests [][32]byte // of the whole dataset, fetched when first needed
}

// block computes block step of the slot. lost says why it could not be fetched, and is returned if
// the other slots do not help.
func (c *codewords) block(ctx context.Context, step uint64, lost error) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.layout.Total()
	if total > maxReconstructBlocks {
		return nil, fmt.Errorf("dataset of %d blocks is too large to compute lost ones: %w",
			total, lost)
	}
	if c.digests == nil {
		digests, err := c.sources.digests(ctx, c.tree, total, 0, total)
		if err != nil {
			return nil, errors.Join(lost, err)
		}
		c.digests = digests
	}
	shards, err := c.gather(ctx, step)
	if err != nil {
		return nil, errors.Join(lost, err)
	}
	if err := dataset.Reconstruct(c.layout.Params, shards); err != nil {
		return nil, fmt.Errorf("%w; %w", lost, err)
	}
	name := dataset.BlockCID(c.digests[c.layout.Block(int(c.slot), step)])
	if !name.Verify(shards[c.slot]) {
		return nil, mismatch("block computed from the other slots", name, "something else")
	}
	return shards[c.slot], nil
}

// gather fetches blocks of a codeword from other slots until there are K.
func (c *codewords) gather(ctx context.Context, step uint64) ([][]byte, error) {
	shards := make([][]byte, c.layout.Slots())
	have := 0
	for slot := 0; slot < len(shards) && have < c.layout.K; slot++ {
		if slot == int(c.slot) {
			continue
		}
		name := dataset.BlockCID(c.digests[c.layout.Block(slot, step)])
		if name.Empty() {
			shards[slot] = make([]byte, events.BlockSize)
			have++
			continue
		}
		data, err := c.sources.fetch(ctx, name)
		if ctx.Err() != nil {
			return nil, err
		}
		if err == nil && len(data) == int(events.BlockSize) {
			shards[slot] = data
			have++
		}
	}
	return shards, nil
}
