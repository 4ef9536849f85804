package audit

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// breach is one way to break one rule.
type breach struct {
	name  string
	rule  Rule
	shows string // of the event at which it shows; "" for none
	forge func(r *record)
}

const zeros = "0x0000000000000000000000000000000000000000000000000000000000000000"

var (
	hostStream     = events.HostStream(me)
	capacityStream = events.CapacityStream(me)
	queueStream    = events.SlotQueueStream(me)
	txStream       = events.TxStream(me)
)

func formBreaches() []breach {
	return []breach{
		{"damaged bytes", StoreDamaged, "", func(r *record) {
			r.damaged = map[events.Position]bool{events.Position(len(r.list)): true}
		}},
		{"a loss that was accepted", RecordLost, events.TypeRecordLost, func(r *record) {
			r.insert(len(r.list), events.LossStream, &messages.HostStopped{})
			lost := events.Must(events.RecordLost{Kept: 7, Last: 9, Problem: "a bit"}.Event())
			last := &r.list[len(r.list)-1]
			last.Type, last.ID, last.Data = lost.Type, lost.ID, lost.Data
		}},
		{"positions go back", PositionOrder, "HostStopped", func(r *record) {
			i := r.at("HostStopped", 1)
			r.list[i].Position = r.list[i-1].Position
		}},
		{"an event is missing", RevisionGap, "HostStarted", func(r *record) {
			i := r.at("HostStopped", 0)
			r.list = slices.Delete(r.list, i, i+1)
		}},
		{"a revision comes twice", RevisionRepeated, "HostStopped", func(r *record) {
			i := r.at("HostStopped", 1)
			r.list[i].Revision--
		}},
		{"an id comes twice", EventIDRepeated, "Snapshot", func(r *record) { twice(r) }},
		{"an unknown type", EventUnknown, "HostPondered", func(r *record) {
			r.list[r.at("HostStopped", 1)].Type = "HostPondered"
		}},
		{"a newer version", EventNewer, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Meta.Version = 2
		}},
		{"no JSON", EventMalformed, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Data = []byte("{")
		}},
		{"an event of another machine", EventMisplaced, "QuotaSet", func(r *record) {
			r.insert(len(r.list), hostStream, &messages.QuotaSet{Bytes: 1})
		}},
		{"the epoch goes back", EpochDecreased, "HostStopped", func(r *record) {
			r.list[r.at("HostStopped", 1)].Meta.Epoch = 1
			r.derive()
		}},
		{"a machine of the future", StreamUnknown, "SatellitePledged", func(r *record) {
			r.insert(len(r.list), "satellite-1", &messages.QuotaSet{Bytes: 1})
			r.list[len(r.list)-1].Type = "SatellitePledged"
		}},
		{"an epoch is left out", HostEpoch, "HostStarted", func(r *record) {
			change(r, 1, func(m *messages.HostStarted) { m.Epoch = 3 })
			change(r, 1, func(m *messages.HostStopped) { m.Epoch = 3 })
		}},
		{"a block that no chain has", BlockImpossible, "BlocksScanned", func(r *record) {
			r.insert(len(r.list), events.MarketStream(1337, events.Address{2}), &messages.BlocksScanned{
				Number: 1<<64 - 2, Hash: zeros, Time: events.TimeToMessage(history.Begin),
			})
		}},
		{"a thousand blocks that never were", BlockImpossible, "ChainReorganized", func(r *record) {
			r.insert(len(r.list), events.MarketStream(1337, events.Address{2}), &messages.BlocksScanned{
				Number: 5000, Hash: zeros, Time: events.TimeToMessage(history.Begin),
			})
			r.insert(len(r.list), events.MarketStream(1337, events.Address{2}), &messages.ChainReorganized{Ancestor: 4000, AncestorHash: zeros})
		}},
		{"another epoch is stopped", HostEpoch, "HostStopped", func(r *record) {
			change(r, 1, func(m *messages.HostStopped) { m.Epoch = 7 })
		}},
		{"an intent without an outcome", TransactionOpen, "TxIntended", func(r *record) {
			r.insert(len(r.list), txStream, &messages.TxIntended{Key: "free:1", To: me.String(), Data: "0x"})
		}},
	}
}

// twice writes two events with one id, to a stream whose ids follow from nothing.
func twice(r *record) {
	for range 2 {
		r.insert(len(r.list), events.SnapshotStream(capacityStream), &messages.HostStopped{})
		last := &r.list[len(r.list)-1]
		last.Type, last.ID = "Snapshot", events.EventID{1}
	}
}

func saleBreaches() []breach {
	return []breach{
		{"a phase is left out", SaleTransition, "SlotStored", func(r *record) { r.remove(r.at("SlotReserved", 0)) }},
		{"an attempt is left out", SaleAttempt, "SaleStarted", func(r *record) {
			change(r, 0, func(m *messages.SaleStarted) { m.Attempt = 2 })
			var id string
			change(r, 0, func(m *messages.ReservationCreated) {
				m.Attempt = 2
				id = capacity.ReservationIDOf(events.Must(events.ParseSlotID(m.GetSlotId())), 2).String()
				m.ReservationId = id
			})
			change(r, 0, func(m *messages.CapacityReserved) { m.ReservationId = id })
			change(r, 0, func(m *messages.BytesReleased) { m.ReservationId = id })
			change(r, 0, func(m *messages.ReservationDeleted) { m.ReservationId = id })
		}},
		{"another slot's sale", SaleSlot, "SaleStarted", func(r *record) {
			change(r, 0, func(m *messages.SaleStarted) { m.SlotId = zeros })
		}},
		{"more is lost than was committed", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralReturned = "131073" })
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralLost = "0" })
		}},
		{"a loss that the contract knows nothing of", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.SaleSettled) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
		}},
		{"the ledger settles otherwise", SaleSettlement, "SaleSettled", func(r *record) {
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned, m.CollateralLost = "131071", "1" })
		}},
		{"a proof that was not owed", ProofNotDue, "ProofSubmitted", func(r *record) { r.remove(r.at("ProofDue", 0)) }},
		{"a period owes twice", ProofDueAgain, "ProofDue", func(r *record) {
			m, _ := catalog.Codec().Decode(r.list[r.at("ProofDue", 0)])
			i := r.at("ProofSubmitted", 0)
			r.insert(i+1, r.list[i].Stream, m)
		}},
		{"missed before the deadline", ProofMissedEarly, "ProofMissed", func(r *record) {
			change(r, 0, func(m *messages.ProofMissed) { m.At = events.TimeToMessage(history.Begin) })
		}},
		{"a proof is overdue", ProofOverdue, "ProofDue", func(r *record) {
			r.insert(len(r.list), events.MarketStream(1337, events.Address{2}), &messages.BlocksScanned{
				Hash: zeros, Time: events.TimeToMessage(history.Begin.Add(time.Hour)),
			})
		}},
		{"a slash that does not add up", CollateralCheck, "CollateralSlashed", func(r *record) {
			change(r, 0, func(m *messages.CollateralSlashed) { m.Slashed = "1" })
		}},
		{"called slashed, and nothing was taken", CollateralCheck, "CollateralSlashed", func(r *record) {
			change(r, 0, func(m *messages.CollateralSlashed) { m.Collateral, m.Slashed = "131072", "0" })
			change(r, 1, func(m *messages.PayoutReceived) { m.Receipt = nil })
		}},
		{"a reading without a miss", CollateralCheck, "CollateralSlashed", func(r *record) {
			change(r, 0, func(m *messages.CollateralSlashed) { m.Period++ })
		}},
		{"a proof was never mined", ProofWithoutTransaction, "ProofSubmitted", func(r *record) {
			change(r, 0, func(m *messages.ProofSubmitted) { m.Receipt.TxHash = zeros })
		}},
		{"a proof's transaction failed", ProofWithoutTransaction, "ProofSubmitted", func(r *record) {
			change(r, 2, func(m *messages.TxMined) { m.Succeeded = false })
		}},
		{"a fill was never mined", ReceiptWithoutTransaction, "SlotFilled", func(r *record) {
			change(r, 0, func(m *messages.SlotFilled) { m.Receipt.TxHash = zeros })
		}},
	}
}

func ledgerBreaches() []breach {
	return []breach{
		{"an availability comes twice", LedgerContradiction, "AvailabilityCreated", func(r *record) {
			i := r.at("AvailabilityCreated", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"an unknown availability changes", LedgerContradiction, "AvailabilityUpdated", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.AvailabilityUpdated{
				AvailabilityId: zeros, TotalSize: 1, DurationSeconds: 1, MinPricePerBytePerSecond: "1", TotalCollateral: "1",
			})
		}},
		{"an availability in use is deleted", LedgerContradiction, "AvailabilityDeleted", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.AvailabilityDeleted{
				AvailabilityId: events.AvailabilityID{0xa1}.String(),
			})
		}},
		{"a reservation comes twice", LedgerContradiction, "ReservationCreated", func(r *record) {
			i := r.at("ReservationCreated", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"more is stored than was reserved", LedgerContradiction, "BytesReleased", func(r *record) {
			change(r, 0, func(m *messages.BytesReleased) { m.Bytes = 65537 })
		}},
		{"a sector is given space twice", LedgerContradiction, "SectorSpaceHeld", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceHeld{Sector: 2, Tree: 1, Deposit: "0"})
		}},
		{"a sector gives back what it never had", LedgerContradiction, "SectorSpaceReleased", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceReleased{Sector: 2, Part: "tree", Bytes: 2})
		}},
		{"a piece that is given space twice", LedgerContradiction, "PieceSpaceHeld", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.PieceSpaceHeld{Cid: "baga", Bytes: 1})
			r.insert(len(r.list), capacityStream, &messages.PieceSpaceHeld{Cid: "baga", Bytes: 1})
		}},
		{"a piece that gives back more than it has", LedgerContradiction, "PieceSpaceReleased", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.PieceSpaceHeld{Cid: "baga", Bytes: 1})
			r.insert(len(r.list), capacityStream, &messages.PieceSpaceReleased{Cid: "baga", Bytes: 2})
		}},
		{"more for a piece than there is", LedgerUnbalanced, "PieceSpaceHeld", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.PieceSpaceHeld{Cid: "baga", Bytes: 1 << 50})
		}},
		{"a deposit of nobody", LedgerContradiction, "SectorDepositSettled", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorDepositSettled{Sector: 9, Held: "0", Lost: "0"})
		}},
		{"more for sectors than there is", LedgerUnbalanced, "SectorSpaceHeld", func(r *record) {
			change(r, 0, func(m *messages.SectorSpaceHeld) { m.Tree = 1 << 40 })
		}},
		{"a settlement that is not the commitment", LedgerContradiction, "ReservationDeleted", func(r *record) {
			change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned = "1" })
			r.remove(r.at("SaleSettled", 0)) // Else the reservation is open at the settlement, too.
		}},
		{"a quota below what is on offer", LedgerUnbalanced, "AvailabilityCreated", func(r *record) {
			change(r, 0, func(m *messages.QuotaSet) { m.Bytes = 1 })
		}},
		{"more collateral committed than offered", LedgerUnbalanced, "ReservationCreated", func(r *record) {
			change(r, 0, func(m *messages.AvailabilityCreated) { m.TotalCollateral = "131071" })
		}},
		{"a reservation for nobody", ReservationOwner, "ReservationCreated", func(r *record) {
			r.remove(r.at("CapacityReserved", 2))
			i := r.at("SaleStarted", 2)
			start := r.list[i]
			r.list = slices.Delete(r.list, i, i+1)
			r.list = slices.DeleteFunc(r.list, func(e events.Recorded) bool { return e.Stream == start.Stream })
			r.renumber()
		}},
		{"a reservation of another size", ReservationMismatch, "ReservationCreated", func(r *record) {
			change(r, 2, func(m *messages.ReservationCreated) { m.Bytes = 131072 })
			change(r, 2, func(m *messages.CapacityReserved) { m.Bytes = 131072 })
		}},
		{"a reservation with a foreign id", ReservationMismatch, "ReservationCreated", func(r *record) {
			change(r, 2, func(m *messages.ReservationCreated) { m.ReservationId = zeros })
			change(r, 2, func(m *messages.BytesReleased) { m.ReservationId = zeros })
			change(r, 2, func(m *messages.CapacityReserved) { m.ReservationId = zeros })
		}},
		{"a sale with more than the ledger gave", ReservationMismatch, "CapacityReserved", func(r *record) {
			change(r, 2, func(m *messages.CapacityReserved) { m.Bytes = 131072 })
		}},
		{"a sale with a reservation of its own", ReservationMismatch, "CapacityReserved", func(r *record) {
			change(r, 2, func(m *messages.CapacityReserved) { m.ReservationId = zeros })
		}},
		{"released before the data was deleted", ReservationEarly, "ReservationDeleted", func(r *record) {
			i := r.at("ReservationDeleted", 0)
			r.list[i-1], r.list[i] = r.list[i], r.list[i-1]
			r.renumber()
		}},
		{"released twice", ReservationNotOpen, "ReservationDeleted", func(r *record) {
			i := r.at("ReservationDeleted", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, capacityStream, m)
		}},
		{"never released", ReservationUnreleased, "SaleSettled", func(r *record) { r.remove(r.at("ReservationDeleted", 0)) }},
		{"a slot is queued twice", QueueContradiction, "SlotsQueued", func(r *record) {
			i := r.at("SlotsQueued", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
		{"a slot is taken twice", QueueContradiction, "SlotTaken", func(r *record) {
			i := r.at("SlotTaken", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
		{"a slot is refused on a whim", QueueCriterion, "SlotReleased", func(r *record) {
			change(r, 0, func(m *messages.SlotReleased) { m.Criterion = "whim" })
		}},
		{"a slot is released twice", QueueContradiction, "SlotReleased", func(r *record) {
			i := r.at("SlotReleased", 0)
			m, _ := catalog.Codec().Decode(r.list[i])
			r.insert(i+1, queueStream, m)
		}},
	}
}
