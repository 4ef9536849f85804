package aggregation

import (
	"context"
	"hash/crc32"
	"io"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// oneByOne has the copy of a piece kept and dropped one after the other. Two CARs may make one piece: if its copy were
// dropped while the second one is read, a file would stay whose bytes the ledger had released.
type oneByOne struct {
	port.Copies
	// busy has a place for each piece, which some share: who calls about it is in it.
	busy [256]chan struct{}
}

func newOneByOne(c port.Copies) *oneByOne {
	o := &oneByOne{Copies: c}
	for i := range o.busy {
		o.busy[i] = make(chan struct{}, 1)
	}
	return o
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
	busy := c.busy[crc32.ChecksumIEEE([]byte(cid))%uint32(len(c.busy))]
	select {
	case busy <- struct{}{}:
		return func() { <-busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
