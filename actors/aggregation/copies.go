package aggregation

import (
	"context"
	"hash/crc32"
	"io"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// Turns has the copy of a piece kept and dropped one after the other, over all lives of a room. Two CARs may make one
// piece, and a call of a room that panicked may not have ended: if the copy were dropped while it is kept, a file would
// stay whose bytes the ledger had released.
type Turns struct {
	// busy has a place for each piece, which some share: who calls about it is in it.
	busy [256]chan struct{}
}

// NewTurns returns those of the pieces of a host.
func NewTurns() *Turns {
	t := &Turns{}
	for i := range t.busy {
		t.busy[i] = make(chan struct{}, 1)
	}
	return t
}

// oneByOne are copies about which calls take turns.
type oneByOne struct {
	port.Copies
	turns *Turns
}

// Keep implements port.Copies.
func (c oneByOne) Keep(ctx context.Context, piece events.SectorPiece, payload io.Reader) error {
	end, err := c.turns.begin(ctx, piece.CID)
	if err != nil {
		return err
	}
	defer end()
	return c.Copies.Keep(ctx, piece, payload)
}

// Drop implements port.Copies.
func (c oneByOne) Drop(ctx context.Context, cid string) error {
	end, err := c.turns.begin(ctx, cid)
	if err != nil {
		return err
	}
	defer end()
	return c.Copies.Drop(ctx, cid)
}

// begin waits until no other call is about a piece.
func (t *Turns) begin(ctx context.Context, cid string) (end func(), err error) {
	busy := t.busy[crc32.ChecksumIEEE([]byte(cid))%uint32(len(t.busy))]
	select {
	case busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err = ctx.Err(); err != nil { // Both may be the case.
		<-busy
		return nil, err
	}
	return func() { <-busy }, nil
}
