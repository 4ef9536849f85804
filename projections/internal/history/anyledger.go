package history

import (
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// AnyLedgerSteps are a few commands to the ledger that neither sales nor sectors give. What it refuses
// is not in the record.
func (w *Writer) AnyLedgerSteps(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "commands") {
		_ = w.AskLedger(w.anyLedgerCommand(t))
	}
}

// anyLedgerCommand concerns a piece or one of two availabilities. Only the second is removed, because
// without one there are no sales.
func (w *Writer) anyLedgerCommand(t *rapid.T) capacity.Command {
	second := w.offerID()
	second[len(second)-1]++
	size := events.Bytes(rapid.Uint64Range(1, 8).Draw(t, "slots")) * events.BlockSize
	piece := capacity.Piece{CID: "baga1", Bytes: 1000}
	switch rapid.IntRange(0, 4).Draw(t, "ledger") {
	case 0:
		id := rapid.SampledFrom([]events.AvailabilityID{w.offerID(), second}).Draw(t, "availability")
		enabled := !oneIn(t, 4, "disabled")
		return capacity.Update{At: w.Now, ID: id, Size: &size, Enabled: &enabled}
	case 1:
		if _, offered := w.Ledger.Availability(second); offered {
			return capacity.Delete{At: w.Now, ID: second}
		}
		return capacity.Create{At: w.Now, ID: second, Now: capacity.Offer{
			Size: events.BlockSize, Duration: 2 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(uint64(2 * events.BlockSize)), Enabled: true,
		}}
	case 2:
		n := w.Ledger.Deposits().Withdrawals + rapid.Uint64Range(0, 2).Draw(t, "withdrawal")
		return capacity.Withdraw{At: w.Now, Number: n, Amount: events.NewAmount(4200), Message: events.Hash{1}}
	case 3:
		return capacity.SetQuota{At: w.Now, Bytes: 3 * size, Near: true}
	default:
		if w.Ledger.PieceBytes(piece.CID) > 0 {
			return capacity.ReleasePiece{At: w.Now, CID: piece.CID}
		}
		return capacity.HoldPiece{At: w.Now, Piece: piece}
	}
}
