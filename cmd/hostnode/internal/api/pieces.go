package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/events"
)

// errPieceNeeded: sectors have the piece.
var errPieceNeeded = errors.New("sectors need the piece")

// StoredPiece is the data of a piece that the host keeps, to mend sectors from it.
type StoredPiece struct {
	CID     string       `json:"cid"`
	Payload events.Bytes `json:"payload"` // its bytes, without padding
	// Sectors have it, or are to get it, and are not over; in order of their numbers.
	Sectors []uint64 `json:"sectors"`
}

// Pieces are all of them.
type Pieces struct {
	AsOf   AsOf          `json:"asOf"`
	Pieces []StoredPiece `json:"pieces"`
	// Payload is the sum of their bytes. It is in no ledger.
	Payload events.Bytes `json:"payload"`
}

// Pieces implements SectorOrders.
func (l *Live) Pieces(ctx context.Context) (Pieces, error) {
	if err := l.sealing(); err != nil {
		return Pieces{}, err
	}
	all, err := l.cfg.Pieces.List()
	if err != nil {
		return Pieces{}, err
	}
	standing, err := l.cfg.Host.Sectors(ctx)
	if err != nil {
		return Pieces{}, err
	}
	needs := map[string][]uint64{}
	for _, one := range standing {
		for _, p := range slices.Concat(one.Info.Pieces, one.Info.Pending) {
			if had := needs[p.CID]; !slices.Contains(had, one.Number) {
				needs[p.CID] = append(had, one.Number)
			}
		}
	}
	out := Pieces{AsOf: l.asOf(), Pieces: []StoredPiece{}}
	for _, p := range all {
		out.Pieces = append(out.Pieces, StoredPiece{p.CID, p.Payload, append([]uint64{}, needs[p.CID]...)})
		out.Payload += p.Payload
	}
	return out, nil
}

// RemovePiece implements SectorOrders. No sector gets the piece meanwhile.
func (l *Live) RemovePiece(ctx context.Context, cid string) (StoredPiece, error) {
	l.pieces.Lock()
	defer l.pieces.Unlock()
	all, err := l.Pieces(ctx)
	if err != nil {
		return StoredPiece{}, err
	}
	i := slices.IndexFunc(all.Pieces, func(p StoredPiece) bool { return p.CID == cid })
	if i < 0 {
		return StoredPiece{}, fmt.Errorf("%w: %.200q", events.ErrNoSuchPiece, cid)
	}
	p := all.Pieces[i]
	if len(p.Sectors) > 0 {
		const most = 10
		return StoredPiece{}, fmt.Errorf("%w: %s is in %d that are not over: %v", errPieceNeeded, cid, len(p.Sectors),
			p.Sectors[:min(most, len(p.Sectors))])
	}
	return p, l.cfg.Pieces.Remove(events.SectorPiece{CID: cid})
}
