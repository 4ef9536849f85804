// Package chainviewtest makes blocks for tests: their hashes follow from their numbers.
package chainviewtest

import (
	"context"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// ChainOf is a fake market that answers HeadAt with a hash made of number and branch.
type ChainOf struct {
	port.Market
	Branch byte
	// During is called within each answer.
	During func()
	// Asked are the block numbers that were asked for. Several tasks may ask at once.
	Asked []uint64

	mu sync.Mutex
}

// HeadAt is the block with a number.
func (c *ChainOf) HeadAt(_ context.Context, n uint64) (events.Head, error) {
	c.mu.Lock()
	c.Asked = append(c.Asked, n)
	c.mu.Unlock()
	h := events.Head{Number: n, Hash: BlockHash(n, c.Branch), Time: time.Unix(int64(n), 0)}
	if c.During != nil {
		c.During()
	}
	return h, nil
}

// BlockHash is the hash of a block of a branch; none is zero, which no block has.
func BlockHash(n uint64, branch byte) events.Hash {
	return events.Hash{byte(n >> 8), byte(n), branch, 1}
}

// NextBlock is the block a second after another.
func NextBlock(head events.Head) events.Head {
	return events.Head{
		Number: head.Number + 1, Hash: BlockHash(head.Number+1, 0), Parent: head.Hash, Time: head.Time.Add(time.Second),
	}
}
