package sector

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Evolve folds one event into the state. It never fails and never refuses: an event is
// a fact. States share no memory that it changes.
func Evolve(s Info, e Event) Info {
	switch e := e.(type) { //nolint:gochecksumtype // The rest is in moved.
	case *messages.SectorStepScheduled:
		s.Step = Scheduled{Step(e.GetStep()), e.GetAttempt(), e.GetKey()}
		s.Attempts = s.Attempts.with(s.Step.Name, e.GetAttempt())
		if s.Sending = ""; sends[s.Step.Name] {
			s.Sending = s.Step.Name
		}
		return s.wakened()
	case *messages.SectorRetryScheduled:
		s.Until, s.Outage, s.Step = events.TimeFromMessage(e.GetUntil()), e.GetOutage(), Scheduled{}
		if s.LastErr = e.GetReason(); s.Outage {
			s.Outages++
		}
		return s
	case *messages.SectorParked:
		s.Reason, s.Actions, s.Until, s.Step = e.GetReason(), e.GetActions(), time.Time{}, Scheduled{}
		return s
	case *messages.SectorEventRefused:
		return s
	case *messages.SectorRestart:
		s.Failures = without(s.Failures, s.State)
		return s.wakened()
	case *messages.SectorFatalError:
		s.LastErr, s.Step = e.GetReason(), Scheduled{}
		s.Failures = with(s.Failures, s.State, s.Failures[s.State]+1)
		return s
	case *messages.SectorAddPiece:
		s.Pending = append(slices.Clone(s.Pending), pieceOf(e.GetPiece()))
		if s.State == AddPiece {
			return s
		}
	case *messages.SectorStartPacking:
		s.PackNow = true
		if s.State == AddPiece {
			return s
		}
	case *messages.SectorOpened, *messages.SectorReleased, *messages.SectorSettled:
		return evolveBooks(s, e)
	case *messages.SectorTerminate:
		s.Doing = said(e.GetBy(), e.GetReason())
	case *messages.SectorRemove:
		s.Doing = said(e.GetBy(), e.GetReason())
	}
	return moved(wrote(s, e), e)
}

// moved puts the sector into the state that the table gives.
func moved(s Info, e Event) Info {
	to, ok := next(s, e)
	if !ok {
		return s // Another table wrote it.
	}
	from := s.State
	s.State, s.Step, s.Sending, s.Outages = to, Scheduled{}, "", 0
	s = s.wakened()
	s.Forced, s.ForcedBy = "", ""
	switch force, forced := e.(*messages.SectorForceState); {
	case forced:
		s.Forced, s.ForcedBy = to, force.GetBy()
		s.Failures, s.LastErr = nil, ""
	case failed(to):
		if why, ok := e.(interface{ GetReason() string }); ok {
			s.LastErr = why.GetReason()
		}
		s.Failures = with(s.Failures, to, s.Failures[to]+1)
	case to == Proving:
		s.Failures, s.LastErr = nil, ""
	case !failed(from) && from != to:
		s.Failures = without(s.Failures, from)
	}
	return s
}

// wrote sets the fields that an event carries.
func wrote(s Info, e Event) Info {
	switch e := e.(type) { //nolint:gochecksumtype // The others carry none.
	case *messages.SectorStart:
		s = begun(s, e)
		for _, p := range e.GetPieces() {
			s.Pending = append(s.Pending, pieceOf(p))
		}
	case *messages.SectorStartEmpty:
		s = begun(s, e)
	case *messages.SectorPieceAdded:
		s.Pieces = append(slices.Clone(s.Pieces), s.Pending[:min(1, len(s.Pending))]...)
		s.Pending = slices.Clone(s.Pending[min(1, len(s.Pending)):])
		s.Failures = without(s.Failures, AddPieceFailed)
	case *messages.SectorPacked:
		s.Pieces = slices.Concat(s.Pieces, s.Pending)
		for _, p := range e.GetFillers() {
			s.Pieces = append(s.Pieces, pieceOf(p))
		}
		s.Pending, s.PackNow = nil, false
	case *messages.SectorRetryWaitDeals:
		s.Pending = leftOut(s.Pending, e.GetDropped())
		if e.Dropped != nil {
			s.Failures = without(s.Failures, AddPieceFailed)
		}
	case *messages.SectorRetryPacking:
		s.Pieces, s.Pending = nil, s.repacked(e.GetDropped())
	case *messages.SectorTicket:
		s.TicketValue, s.TicketEpoch = hash(e.GetValue()), e.GetEpoch()
	case *messages.SectorOldTicket, *messages.SectorRetrySeal:
		s.TicketValue, s.TicketEpoch, s.PreCommit1Out = events.Hash{}, 0, ""
		s.CommD, s.CommR, s.SeedValue, s.SeedEpoch, s.Proof = events.Hash{}, events.Hash{}, events.Hash{}, 0, ""
		s.Proves, s.Failures = "", without(s.Failures, PreCommit2) // The second half begins anew, too.
	case *messages.SectorPreCommit1:
		s.PreCommit1Out = e.GetOut()
	case *messages.SectorPreCommit2:
		s.CommD, s.CommR, s.PreCommit1Out = hash(e.GetCommD()), hash(e.GetCommR()), "" // It made these.
		s.Proves = e.GetProves()
	case *messages.SectorSeedReady:
		s.SeedValue, s.SeedEpoch, s.Proof = hash(e.GetValue()), e.GetEpoch(), ""
	case *messages.SectorProofReady:
		s.Proof = e.GetProof()
	case *messages.SectorRetryInvalidProof:
		s.InvalidProofs, s.Proof = s.InvalidProofs+1, ""
	case *messages.SectorSealPreCommitFailed:
		if s.State != Committing {
			s.InvalidProofs = 0
		}
	case *messages.SectorProving:
		s.InvalidProofs, s.OnChain = 0, true
	case *messages.SectorCommitFailed:
		s.OnChain = false
	case *messages.SectorFinalized, *messages.SectorTerminated, *messages.SectorRemoved:
		if _, ended := e.(*messages.SectorTerminated); ended {
			s.OnChain = false
		}
		s.Proof, s.PreCommit1Out = "", "" // If the chain takes the proof back, another one is made.
	case *messages.SectorPreCommitted:
		s.PreCommitMessage = hash(e.GetMessage())
	case *messages.SectorCommitted:
		s.CommitMessage = hash(e.GetMessage())
	case *messages.SectorFaultReported:
		s.FaultReportMsg = hash(e.GetMessage())
	case *messages.SectorRecoveryDeclared:
		s.RecoveryMsg = hash(e.GetMessage())
	case *messages.SectorTerminating:
		s.TerminateMsg = hash(e.GetMessage())
	}
	return s
}

// leftOut are pieces without one.
func leftOut(pieces []Piece, cid string) []Piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p Piece) bool { return p.CID == cid })
}

// repacked are the pieces that are packed again, without one.
func (s Info) repacked(dropped string) []Piece {
	return leftOut(slices.DeleteFunc(slices.Concat(s.Pieces, s.Pending), filler), dropped)
}

func evolveBooks(s Info, e Event) Info {
	did, due := StepSettle, s.dueStep()
	switch e := e.(type) { //nolint:gochecksumtype // Evolve lists the three.
	case *messages.SectorOpened:
		did = StepOpenSpace
		s.Opened, s.Released = true, false
		s.Space = events.Bytes(e.GetUnsealed() + e.GetSealed() + e.GetTree() + e.GetScratch())
		s.Scratch, s.ScratchFreed = events.Bytes(e.GetScratch()), false
		s.Deposit, s.Settled = events.Must(events.ParseAmount(e.GetDeposit())), false
	case *messages.SectorReleased:
		did = StepReleaseScratch
		if s.ScratchFreed, s.Released = true, s.State == Removed; s.Released {
			did = StepReleaseSpace
		}
	case *messages.SectorSettled:
		s.Settled, s.SettleMsg, s.OnChain = s.State == Removed, settledBy(e), false
		s.Returned = events.Must(events.ParseAmount(e.GetReturned()))
		s.Lost = events.Must(events.ParseAmount(e.GetLost()))
	}
	if due == did || s.Step.Name == did { // Otherwise it came late, and the state goes on with its step.
		s.Step, s.Outages = Scheduled{}, 0
		s.Failures = without(s.Failures, s.State)
		return s.wakened()
	}
	return s
}

// beginning is either event with which a sector begins.
type beginning interface {
	GetAt() *timestamppb.Timestamp
	GetSector() uint64
	GetProvider() string
	GetSize() uint64
	GetRequest() string
}

func begun(s Info, e beginning) Info {
	s.Number, s.Provider = e.GetSector(), events.Must(events.ParseAddress(e.GetProvider()))
	s.Size, s.BeganAt = events.Bytes(e.GetSize()), events.TimeFromMessage(e.GetAt())
	s.Request = e.GetRequest()
	return s
}

// wakened returns the sector without its pause.
func (s Info) wakened() Info {
	s.Until, s.Outage, s.Reason, s.Actions = time.Time{}, false, "", nil
	return s
}

func filler(p Piece) bool { return p.Payload == 0 }

func pieceOf(p *messages.SectorPiece) Piece {
	return Piece{CID: p.GetCid(), Size: events.Bytes(p.GetSize()), Payload: events.Bytes(p.GetPayload())}
}

func hash(s string) events.Hash { return events.Must(events.ParseHash(s)) }

func settledBy(e *messages.SectorSettled) events.Hash {
	if e.Message == nil {
		return events.Hash{}
	}
	return hash(e.GetMessage())
}

func said(by, reason string) string { return by + ": " + reason }

func with(m map[State]uint32, k State, n uint32) map[State]uint32 {
	if m = maps.Clone(m); m == nil {
		m = map[State]uint32{}
	}
	m[k] = n
	return m
}

func without(m map[State]uint32, k State) map[State]uint32 {
	m = maps.Clone(m)
	delete(m, k)
	return m
}
