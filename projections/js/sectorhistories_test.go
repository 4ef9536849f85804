package js_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// withdrawn is a ledger with what the contract of sectors has paid.
func withdrawn(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	for n, amount := range []uint64{4200, 17} {
		w.MustLedger(capacity.Withdraw{
			At: w.Now, Number: uint64(n) + 1, Amount: events.NewAmount(amount), Message: events.Hash{1, byte(n)},
		})
	}
	return readAll(t, store)
}

// sectors are two sectors beside an availability; one has gone, with some of its deposit.
func sectors(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(4)
	space := capacity.Space{Unsealed: 1 << 17, Sealed: 1 << 16, Tree: 3000, Scratch: 7}
	w.MustLedger(
		capacity.Hold{At: w.Now, Sector: 1, Space: space, Deposit: events.NewAmount(5000)},
		capacity.ReleasePart{At: w.Now, Sector: 1, Part: capacity.PartScratch},
		capacity.SettleDeposit{At: w.Now, Sector: 1, Held: events.NewAmount(5000), Lost: events.NewAmount(300)},
		capacity.Hold{At: w.Now, Sector: 2, Space: capacity.Space{Tree: 4096}},
		capacity.SettleDeposit{At: w.Now, Sector: 1, Held: events.NewAmount(4000), Lost: events.NewAmount(400)},
		capacity.SettleDeposit{At: w.Now, Sector: 1, Lost: events.NewAmount(1000)},
		capacity.ReleasePart{At: w.Now, Sector: 1, Part: capacity.PartTree},
		capacity.ReleasePart{At: w.Now, Sector: 1, Part: capacity.PartSealed},
		capacity.ReleasePart{At: w.Now, Sector: 1, Part: capacity.PartUnsealed},
	)
	return readAll(t, store)
}

// pieceFiles are two pieces whose files come and go.
func pieceFiles(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(4)
	one, two := capacity.Piece{CID: "baga1", Bytes: 3000}, capacity.Piece{CID: "baga2", Bytes: 1000}
	w.MustLedger(
		capacity.HoldPiece{At: w.Now, Piece: one},
		capacity.HoldPiece{At: w.Now, Piece: two},
		capacity.ReleasePiece{At: w.Now, CID: one.CID},
		capacity.ReleasePiece{At: w.Now, CID: two.CID},
		capacity.HoldPiece{At: w.Now, Piece: one},
	)
	return readAll(t, store)
}

// stuck are sectors that fail until they are parked, wait through outages, are forced, and go
// on.
func stuck(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	for n := range uint64(4) {
		w.BeginSector(n + 1)
	}
	for w.Sectors[1].Reason == "" {
		w.Did(1, &messages.SectorFatalError{Reason: "the sealer said no"})
		if !w.Sectors[1].Until.IsZero() {
			w.Waits(1)
		}
	}
	w.Says(1, &messages.SectorRestart{By: "operator"})
	w.SealSector(1)
	key := w.Sectors[2].Step.Key
	w.MustSector(2, events.SectorCause(key), sector.Away{
		Inputs: sector.Inputs{At: w.Now}, Key: key, Reason: "no sealer answers",
	})
	w.Waits(2)
	w.SealSector(2)
	w.Says(2, &messages.SectorForceState{State: "PreCommit1", By: "operator", Reason: "sealed on a bad disk"})
	w.Says(2, &messages.SectorForceState{State: "Proving", By: "operator", Reason: "it is fine"})
	w.EndSector(2, 1000)
	w.Says(3, &messages.SectorForceState{State: "Faulty", By: "operator", Reason: "to see"})
	w.Says(3, &messages.SectorRemove{By: "operator", Reason: "never mind"})
	w.Did(4, &messages.SectorPackingFailed{Reason: "a piece is not what its commitment says"})
	w.Says(4, &messages.SectorPacked{})
	return readAll(t, store)
}

// kept is a record as hosts keep it.
func kept(t *testing.T, name string) []events.Recorded {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "history", "v1", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []events.Recorded
	for line := range bytes.Lines(text) {
		var e struct {
			Stream, Type string
			Revision     uint64
			Meta, Data   json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		r := events.Recorded{
			Stream: e.Stream, Revision: e.Revision, Position: events.Position(len(out) + 1), Type: e.Type, Data: e.Data,
		}
		r.Meta, r.Foreign = events.DecodeMetadata(e.Meta)
		out = append(out, r)
	}
	return out
}
