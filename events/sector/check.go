package sector

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Errors of Decide other than *Refused. Nothing is recorded then.
var (
	// ErrImpossible: what was reported cannot be true.
	ErrImpossible = errors.New("a report that cannot be true")
	// ErrNoRoom: the piece does not fit into what is left of the sector.
	ErrNoRoom = errors.New("the piece does not fit into the sector")
	// ErrSamePiece: the piece is in the sector already.
	ErrSamePiece = errors.New("the piece is in the sector already")
	// ErrUnknownState: a sector cannot be forced into a state that does not exist.
	ErrUnknownState = errors.New("unknown state")
	// ErrFilesFirst: a sector cannot be forced into the state without files; SectorRemove removes
	// them.
	ErrFilesFirst = errors.New("its files would be forgotten; remove the sector instead")
	// ErrNoKey: a result is reported without the key of its step.
	ErrNoKey = errors.New("a result without the key of its step, which may be one that is recorded already")
	// ErrSize: a sector's size is a power of two from MinSize to MaxSize, a piece's
	// at least MinPiece and no less than its payload takes.
	ErrSize = errors.New("impossible size")
)

// Bounds of sizes, padded. MaxText is the most bytes of a reason that is recorded.
const (
	MinSize  events.Bytes = 2 << 10
	MaxSize  events.Bytes = 64 << 30
	MinPiece events.Bytes = 128
	MaxText               = 1000
)

// Payload is how many bytes of data fit into padded bytes: 127 of 128.
func Payload(padded events.Bytes) events.Bytes { return padded / 128 * 127 }

func power(n events.Bytes) bool { return bits.OnesCount64(uint64(n)) == 1 }

// believe refuses an event that cannot be true.
func (s Info) believe(e Event) error {
	switch e := e.(type) { //nolint:gochecksumtype // The codec checks the others.
	case *messages.SectorStart:
		if err := checkStart(e.GetSector(), events.Bytes(e.GetSize())); err != nil {
			return err
		}
		s.Size = events.Bytes(e.GetSize())
		for _, p := range e.GetPieces() {
			if err := s.takes(pieceOf(p)); err != nil {
				return err
			}
			s.Pending = append(s.Pending, pieceOf(p))
		}
	case *messages.SectorStartEmpty:
		return checkStart(e.GetSector(), events.Bytes(e.GetSize()))
	case *messages.SectorAddPiece:
		return s.takes(pieceOf(e.GetPiece()))
	case *messages.SectorRetryWaitDeals:
		if e.Dropped != nil && len(leftOut(s.Pending, e.GetDropped())) == len(s.Pending) {
			return fmt.Errorf("piece %s is not to be added to sector %d: %w",
				e.GetDropped(), s.Number, events.ErrNoSuchPiece)
		}
	case *messages.SectorRetryPacking:
		all, left := s.repacked(""), s.repacked(e.GetDropped())
		switch {
		case e.Dropped != nil && len(left) == len(all):
			return fmt.Errorf("piece %s is not in sector %d: %w", e.GetDropped(), s.Number, events.ErrNoSuchPiece)
		case e.Dropped != nil && len(left) == 0:
			return fmt.Errorf("piece %s is all that sector %d has; remove the sector: %w",
				e.GetDropped(), s.Number, ErrSize)
		}
	case *messages.SectorPacked:
		return s.full(e)
	case *messages.SectorForceState:
		switch to := State(e.GetState()); {
		case !to.Known() || to == Undefined:
			return fmt.Errorf("force %q: %w; there are %v", e.GetState(), ErrUnknownState, States()[1:])
		case to == Removed:
			return fmt.Errorf("force %s: %w", to, ErrFilesFirst)
		}
	}
	return nil
}

func checkStart(number uint64, size events.Bytes) error {
	if number == 0 {
		return fmt.Errorf("%w: sectors are counted from 1", ErrImpossible)
	}
	if !power(size) || size < MinSize || size > MaxSize {
		return fmt.Errorf("%w: a sector of %d bytes, want a power of two from %d to %d",
			ErrSize, size, MinSize, MaxSize)
	}
	return nil
}

// takes reports whether one more piece fits.
func (s Info) takes(p Piece) error {
	if !power(p.Size) || p.Size < MinPiece || p.Payload > Payload(p.Size) || filler(p) {
		return fmt.Errorf("piece %s: %w: %d bytes for %d of data, want a power of two from %d that holds them, "+
			"and some data", p.CID, ErrSize, p.Size, p.Payload, MinPiece)
	}
	same := func(o Piece) bool { return o.CID == p.CID }
	if slices.ContainsFunc(s.Pieces, same) || slices.ContainsFunc(s.Pending, same) {
		return fmt.Errorf("piece %s: %w", p.CID, ErrSamePiece)
	}
	if end(append(slices.Concat(s.Pieces, s.Pending), p)) > s.Size {
		return fmt.Errorf("piece %s: %w: it has %d bytes, of %d are %d left",
			p.CID, ErrNoRoom, p.Size, s.Size, s.room())
	}
	return nil
}

// full reports whether the fillers make the sector whole, with the gaps between pieces.
func (s Info) full(e *messages.SectorPacked) error {
	total := end(slices.Concat(s.Pieces, s.Pending))
	for _, p := range e.GetFillers() {
		one := pieceOf(p)
		if !power(one.Size) || !filler(one) || one.Size > s.Size || align(total, one.Size) != total {
			return fmt.Errorf("%w: filler %s has %d bytes, of them %d of data, at %d",
				ErrImpossible, one.CID, one.Size, one.Payload, total)
		}
		total += one.Size
	}
	if total != s.Size {
		return fmt.Errorf("%w: packed to %d bytes of %d", ErrImpossible, total, s.Size)
	}
	return nil
}

// changesLedger reports whether an event is about space or deposit; those are legal in any state.
func (s Info) changesLedger(e Event) bool {
	switch e.(type) { //nolint:gochecksumtype // The three that tell the ledger.
	case *messages.SectorOpened:
		return true
	case *messages.SectorReleased:
		return s.State == Removed || s.Step.Name == StepReleaseScratch
	case *messages.SectorSettled:
		return s.State == Removed || diagnoses(s.State)
	}
	return false
}

// needsKey reports whether an event is one of which the table allows a second one at once, so that only
// the key tells that from the first one told again.
func needsKey(e Event) bool {
	switch e.(type) { //nolint:gochecksumtype // The others are refused, or known (repeats).
	case *messages.SectorPieceAdded, *messages.SectorSealPreCommitFailed:
		return true
	}
	return false
}

// repeats reports whether an event says what is recorded already.
func (s Info) repeats(e Event) bool {
	running := !s.Parked() && s.Until.IsZero()
	switch e := e.(type) { //nolint:gochecksumtype // The table refuses the others the second time.
	case beginning:
		return s.Request != "" && s.Request == e.GetRequest() && s.Number == e.GetSector()
	case *messages.SectorOpened:
		return s.Opened && !s.Released && s.dueStep() != StepOpenSpace
	case *messages.SectorReleased:
		return s.Released || s.State != Removed && (s.ScratchFreed || s.Scratch == 0)
	case *messages.SectorSettled:
		return s.Settled || s.State != Removed && settledBy(e) == s.SettleMsg
	case *messages.SectorPieceAdded, *messages.SectorAddPieceFailed:
		return len(s.Pending) == 0 && (s.State == WaitDeals || s.State == AddPiece)
	case *messages.SectorSeedReady:
		return s.State == Committing && hash(e.GetValue()) == s.SeedValue && e.GetEpoch() == s.SeedEpoch
	case *messages.SectorProofReady:
		return s.State == Committing && e.GetProof() == s.Proof
	case *messages.SectorTicket:
		return s.State == PreCommit1 && !s.TicketValue.Zero()
	case *messages.SectorStartPacking:
		return s.State == AddPiece && s.PackNow
	case *messages.SectorRestart:
		return running || s.Parked() && s.stuck() != "" && s.State != PackingFailed
	case *messages.SectorFatalError:
		return s.Step.Key == ""
	case *messages.SectorForceState:
		return s.State == State(e.GetState()) && (running || s.ForcedBy != "" && s.Forced == s.State)
	case *messages.SectorTerminate:
		onTheWay := s.State == Terminating || s.State == TerminateWait || s.State == TerminateFinality
		return onTheWay && !s.Parked() || s.State == Terminating && s.stuck() != ""
	case *messages.SectorRemove:
		return (s.State == Removing || s.State == Removed) && (!s.Parked() || s.stuck() != "")
	}
	return false
}

// text makes a reason from outside fit to be stored: valid UTF-8 of a bounded length.
func text(s string) string { return strings.ToValidUTF8(s[:min(len(s), MaxText)], "?") }
