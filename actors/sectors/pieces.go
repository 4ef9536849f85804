package sectors

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// Needs reports whether a sector has a piece, or is to get it, and is not over: it is repaired from it.
func Needs(st sector.Info, cid string) bool {
	is := func(p events.SectorPiece) bool { return p.CID == cid }
	return !st.Over() && (slices.ContainsFunc(st.Pieces, is) || slices.ContainsFunc(st.Pending, is))
}

// comparePieces compares the files of pieces with the ledger, before one can be added or removed. A
// file that the ledger does not know, because an earlier build stored it, gets its bytes. Bytes for a
// file that is not there, because the host stopped before it was written or after it was removed, are
// given back, unless a sector needs the piece. All else is told.
func (r *room) comparePieces(ctx context.Context, held []capacity.Piece, sectors map[uint64]*past) {
	files, err := r.Pieces.List()
	if err != nil {
		r.Log.Errorf("the files of pieces could not be compared with the ledger: %v", err)
		return
	}
	for _, t := range capacity.ComparePieces(held, files) {
		entry, needed := r.Log.WithField("piece", t.CID), false
		for _, was := range sectors {
			needed = needed || Needs(was.State, t.CID)
		}
		var cmd capacity.Command
		switch {
		case t.Held == 0:
			cmd = capacity.HoldPiece{
				At: r.Clock.Now(), Piece: capacity.Piece{CID: t.CID, Bytes: t.Stored}, Quota: r.Quota,
			}
		case t.Stored == 0 && !needed:
			cmd = capacity.ReleasePiece{At: r.Clock.Now(), CID: t.CID}
		default:
			entry.Errorf("%s; add it again with `hostnode sectors add-piece`: sectors that need it: %t", t, needed)
			continue
		}
		if err := ledger.Do(ctx, r.Ledger, ledger.Command{Cmd: cmd, Cause: "start"}); err != nil {
			entry.Errorf("%s; the ledger was not changed: %v", t, err)
		} else {
			entry.Warnf("%s; the ledger was changed", t)
		}
	}
}
