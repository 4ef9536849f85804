package aggregation

import (
	"context"
	"io"
	"sync"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// oneByOne has the copy of a piece kept and dropped one after the other. Two CARs may make one piece: if its copy were
// dropped while the second one is read, a file would stay whose bytes the ledger had released.
type oneByOne struct {
	port.Copies
	mu   sync.Mutex
	busy map[string]chan struct{} // by piece; closed at the end of the call about it
}

// Keep implements port.Copies.
func (c *oneByOne) Keep(ctx context.Context, piece events.SectorPiece, payload io.Reader) error {
	end, err := c.begin(ctx, piece.CID)
	if err != nil {
		return err
	}
	defer end()
	return c.Copies.Keep(ctx, piece, payload)
}

// Drop implements port.Copies.
func (c *oneByOne) Drop(ctx context.Context, cid string) error {
	end, err := c.begin(ctx, cid)
	if err != nil {
		return err
	}
	defer end()
	return c.Copies.Drop(ctx, cid)
}

// begin waits until no other call is about a piece.
func (c *oneByOne) begin(ctx context.Context, cid string) (end func(), err error) {
	for {
		own := make(chan struct{})
		c.mu.Lock()
		other := c.busy[cid]
		if other == nil {
			c.busy[cid] = own
		}
		c.mu.Unlock()
		if other == nil {
			return func() {
				c.mu.Lock()
				delete(c.busy, cid)
				c.mu.Unlock()
				close(own)
			}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
