package catalog_test

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// sectorSpace is a ledger with two sectors: one is there, the other lost some of its
// deposit and gave everything back.
func sectorSpace(t *testing.T) []events.Recorded {
	t.Helper()
	at := events.Unix(1_700_000_000)
	return ofLedger(t, events.Address{0x5e}, "operator",
		capacity.SetQuota{At: at, Bytes: 1 << 20},
		capacity.Hold{At: at, Sector: 1, Space: capacity.Space{
			Unsealed: 1 << 16, Sealed: 1 << 16, Tree: 1 << 12, Scratch: 1 << 10,
		}, Deposit: events.NewAmount(5000)},
		capacity.Hold{At: at, Sector: 2, Space: capacity.Space{Sealed: 1 << 11}, Deposit: events.NewAmount(40)},
		capacity.ReleasePart{At: at, Sector: 1, Part: capacity.PartScratch},
		capacity.SettleDeposit{At: at, Sector: 1, Held: events.NewAmount(4700), Lost: events.NewAmount(300)},
		capacity.SettleDeposit{At: at, Sector: 1, Lost: events.NewAmount(1000)},
		capacity.ReleasePart{At: at, Sector: 1, Part: capacity.PartTree},
		capacity.ReleasePart{At: at, Sector: 1, Part: capacity.PartSealed},
		capacity.ReleasePart{At: at, Sector: 1, Part: capacity.PartUnsealed},
	)
}

// pieceSpace is the ledger of a host with two pieces, the first of which is removed.
func pieceSpace(t *testing.T) []events.Recorded {
	t.Helper()
	at := events.Unix(1_700_000_000)
	one, two := capacity.Piece{CID: "baga1", Bytes: 3000}, capacity.Piece{CID: "baga2", Bytes: 1000}
	return ofLedger(t, events.Address{0x5e}, "operator",
		capacity.SetQuota{At: at, Bytes: 1 << 20},
		capacity.HoldPiece{At: at, Piece: one},
		capacity.HoldPiece{At: at, Piece: two},
		capacity.ReleasePiece{At: at, CID: one.CID},
	)
}

// withdrawals is what the contract of sectors has paid a host, by its ledger.
func withdrawals(t *testing.T) []events.Recorded {
	t.Helper()
	at := events.Unix(1_700_000_000)
	return ofLedger(t, events.Address{0x5d}, "withdrawn",
		capacity.Withdraw{At: at, Number: 1, Amount: events.NewAmount(4200), Message: events.Hash{1}},
		capacity.Withdraw{At: at, Number: 2, Amount: events.NewAmount(17), Message: events.Hash{2}},
	)
}

// ofLedger is the record of a ledger that was given commands.
func ofLedger(t *testing.T, me events.Address, cause string, commands ...capacity.Command) []events.Recorded {
	t.Helper()
	ledger, all := capacity.New(), []said(nil)
	for _, c := range commands {
		out, err := capacity.Decide(ledger, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out {
			ledger = capacity.Evolve(ledger, e)
			all = append(all, said{stream: events.CapacityStream(me), message: e, cause: cause})
		}
	}
	return written(t, all)
}
