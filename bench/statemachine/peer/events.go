package peer

import "github.com/hostnode/hostnode/bench/statemachine/record"

// Event is something that happened to a sector.
type Event interface {
	// apply sets what the event carries, and returns the state that it leads to.
	apply(*record.SectorInfo) string
}

// The events, with the names and the states that docs/sectors.md has.
type (
	SectorStart struct {
		Number, Size uint64
		Pieces       []record.Piece
	}
	SectorOpened struct {
		Unsealed, Sealed, Tree uint64
		Deposit                string
	}
	SectorPacked struct{ FillerPieces []record.Piece }
	SectorTicket struct {
		TicketValue []byte
		TicketEpoch uint64
	}
	SectorPreCommit1   struct{ PreCommit1Out []byte }
	SectorPreCommit2   struct{ Unsealed, Sealed []byte }
	SectorPreCommitted struct{ Message []byte }
	SectorSeedReady    struct {
		SeedValue []byte
		SeedEpoch uint64
	}
	SectorProofReady       struct{ Proof []byte }
	SectorCommitted        struct{ Message []byte }
	SectorProving          struct{}
	SectorFinalized        struct{}
	SectorFaulty           struct{ Reason string }
	SectorFaultReported    struct{ Message []byte }
	SectorFaultedFinal     struct{}
	SectorRestored         struct{}
	SectorRecoveryDeclared struct{ Message []byte }
	SectorRecovered        struct{}
)

func (e SectorStart) apply(s *record.SectorInfo) string {
	s.SectorNumber, s.Size, s.Pieces = e.Number, e.Size, e.Pieces
	return "Packing"
}

func (e SectorOpened) apply(s *record.SectorInfo) string { return s.State }

func (e SectorPacked) apply(s *record.SectorInfo) string {
	s.Pieces = append(s.Pieces, e.FillerPieces...)
	return "PreCommit1"
}

func (e SectorTicket) apply(s *record.SectorInfo) string {
	s.TicketValue, s.TicketEpoch = e.TicketValue, e.TicketEpoch
	return "PreCommit1"
}

func (e SectorPreCommit1) apply(s *record.SectorInfo) string {
	s.PreCommit1Out = e.PreCommit1Out
	return "PreCommit2"
}

func (e SectorPreCommit2) apply(s *record.SectorInfo) string {
	s.CommD, s.CommR = e.Unsealed, e.Sealed
	return "PreCommitting"
}

func (e SectorPreCommitted) apply(s *record.SectorInfo) string {
	s.PreCommitMessage = e.Message
	return "WaitSeed"
}

func (e SectorSeedReady) apply(s *record.SectorInfo) string {
	s.SeedValue, s.SeedEpoch = e.SeedValue, e.SeedEpoch
	return "Committing"
}

func (e SectorProofReady) apply(s *record.SectorInfo) string {
	s.Proof = e.Proof
	return "Committing"
}

func (e SectorCommitted) apply(s *record.SectorInfo) string {
	s.CommitMessage = e.Message
	return "CommitWait"
}

func (e SectorProving) apply(*record.SectorInfo) string { return "FinalizeSector" }

func (e SectorFinalized) apply(*record.SectorInfo) string { return "Proving" }

func (e SectorFaulty) apply(s *record.SectorInfo) string {
	s.LastErr = e.Reason
	return "Faulty"
}

func (e SectorFaultReported) apply(s *record.SectorInfo) string {
	s.FaultReportMsg = e.Message
	return "FaultReported"
}

func (e SectorFaultedFinal) apply(*record.SectorInfo) string { return "FaultedFinal" }

func (e SectorRestored) apply(*record.SectorInfo) string { return "Recovering" }

func (e SectorRecoveryDeclared) apply(s *record.SectorInfo) string {
	s.RecoveryMsg = e.Message
	return "RecoveryReported"
}

func (e SectorRecovered) apply(s *record.SectorInfo) string {
	s.LastErr = ""
	return "Proving"
}
