package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	pieces "github.com/hostnode/hostnode/storage/sectors"
)

// StoredPiece is the data of a piece that the host keeps, to mend sectors from it.
type StoredPiece struct {
	CID     string       `json:"cid"`
	Payload events.Bytes `json:"payload"` // its bytes, without padding
	// Sectors have it, or are to get it, and are not over; in order of their numbers.
	Sectors []uint64 `json:"sectors"`
	// Trouble says how its file differs from what the ledger holds for it; empty: it does not.
	Trouble string `json:"trouble,omitempty"`
}

// Pieces are all of them.
type Pieces struct {
	AsOf   AsOf          `json:"asOf"`
	Pieces []StoredPiece `json:"pieces"`
	// Payload is the sum of their bytes, which the ledger holds for them.
	Payload events.Bytes `json:"payload"`
}

// takeIn lets the ledger hold space for a payload, and stores it as a piece. If it cannot be stored, the
// space is given back.
func (l *Live) takeIn(ctx context.Context, f io.ReadSeeker) (events.SectorPiece, error) {
	p, err := pieces.Identify(ctx, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return p, err
	}
	// It answers when the files of pieces were compared with the ledger (comparePieces): that gives back what is held
	// for a file that is not there, as this one is not yet.
	if _, err := l.cfg.Host.Sectors(ctx); err != nil {
		return p, err
	}
	l.pieceLock.Lock()
	busy := l.importing[p.CID] // Another import may give back what this one holds.
	l.importing[p.CID] = true
	l.pieceLock.Unlock()
	if busy {
		return p, fmt.Errorf("%w: %s", problem.ErrPieceBusy, p.CID)
	}
	defer func() {
		l.pieceLock.Lock()
		defer l.pieceLock.Unlock()
		delete(l.importing, p.CID)
	}()
	// This changes nothing if the piece holds as much already, because it was imported before.
	err = l.cfg.Host.Ledger(ctx, capacity.HoldPiece{
		At: l.now(), Piece: capacity.Piece{CID: p.CID, Bytes: p.Payload}, Quota: l.cfg.Quota,
	})
	if err != nil {
		return p, err
	}
	if err := l.cfg.Pieces.Put(ctx, p, f); err != nil {
		return p, errors.Join(err, l.notStored(context.WithoutCancel(ctx), p))
	}
	return p, l.catchUp(ctx)
}

// notStored gives the bytes of a piece back that could not be stored: unless a sector needs it, so that it is to be
// imported again, or a file of it is there, from an earlier import. No sector can get it meanwhile, without a file
// (has). What fails here is done by the next start (comparePieces).
func (l *Live) notStored(ctx context.Context, p events.SectorPiece) error {
	standing, err := l.cfg.Host.Sectors(ctx)
	if err != nil || len(neededBy(standing, p.CID)) > 0 || !errors.Is(l.has(ctx, Piece(p)), events.ErrNoSuchPiece) {
		return err
	}
	return l.releasePiece(ctx, p.CID)
}

// releasePiece removes the file of a piece, if there is one, and then gives its bytes back. What a stop in between
// leaves held, the next start gives back.
func (l *Live) releasePiece(ctx context.Context, cid string) error {
	if err := l.cfg.Pieces.Remove(events.SectorPiece{CID: cid}); err != nil {
		return err
	}
	if err := l.cfg.Host.Ledger(ctx, capacity.ReleasePiece{At: l.now(), CID: cid}); err != nil {
		return err
	}
	return l.catchUp(ctx)
}

// neededBy are the numbers of the sectors that have a piece, or are to get it, and are not over.
func neededBy(standing []sectors.Standing, cid string) []uint64 {
	all := []uint64{}
	for _, one := range standing {
		if sectors.Needs(one.Info, cid) {
			all = append(all, one.Number)
		}
	}
	return all
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
	held, err := l.cfg.Host.HeldPieces(ctx)
	if err != nil {
		return Pieces{}, err
	}
	standing, err := l.cfg.Host.Sectors(ctx)
	if err != nil {
		return Pieces{}, err
	}
	troubles := map[string]string{}
	for _, t := range capacity.ComparePieces(held, all) {
		troubles[t.CID] = t.String()
		if t.Stored == 0 { // Its file is missing, so it was not listed.
			all = append(all, events.SectorPiece{CID: t.CID, Payload: t.Held})
		}
	}
	out := Pieces{AsOf: l.asOf(), Pieces: []StoredPiece{}}
	for _, p := range all {
		out.Pieces = append(out.Pieces, StoredPiece{p.CID, p.Payload, neededBy(standing, p.CID), troubles[p.CID]})
	}
	for _, one := range held {
		out.Payload += one.Bytes
	}
	return out, nil
}

// RemovePiece implements SectorOrders. The lock keeps BeginSector and OrderSector from giving the piece to a sector.
func (l *Live) RemovePiece(ctx context.Context, cid string) (StoredPiece, error) {
	l.pieceLock.Lock()
	defer l.pieceLock.Unlock()
	all, err := l.Pieces(ctx)
	if err != nil {
		return StoredPiece{}, err
	}
	i := slices.IndexFunc(all.Pieces, func(p StoredPiece) bool { return p.CID == cid })
	switch {
	case l.importing[cid]:
		return StoredPiece{}, fmt.Errorf("%w: %.200q", problem.ErrPieceBusy, cid)
	case i < 0:
		return StoredPiece{}, fmt.Errorf("%w: %.200q", events.ErrNoSuchPiece, cid)
	}
	p := all.Pieces[i]
	if len(p.Sectors) > 0 {
		const most = 10
		return StoredPiece{}, fmt.Errorf("%w: %s is in %d that are not over: %v", problem.ErrPieceNeeded, cid,
			len(p.Sectors), p.Sectors[:min(most, len(p.Sectors))])
	}
	return p, l.releasePiece(ctx, cid)
}
