package sectors

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// What follows when a step does not succeed: a wait when something does not answer, a failed
// attempt, or another state.

// away is an error of something that does not answer. The call may have begun.
type away struct{ error }

func (e away) Unwrap() error { return e.error }

// asked separates outcomes of the port from a chain that is away, which is every other error.
func asked(err error) error {
	if err == nil || shell.IsOneOf(err, events.ErrTicketExpired, events.ErrInsufficientFunds, events.ErrNumberUsed,
		events.ErrNotPreCommitted, events.ErrSeedLost, events.ErrInvalidProof, events.ErrSectorNotLive,
		events.ErrSectorNotDue, events.ErrReverted, events.ErrDeadlinePassed, events.ErrMalformed) {
		return err
	}
	return away{err}
}

// isAway reports whether something did not answer; nil is an answer.
func isAway(err error) bool {
	_, ok := errors.AsType[away](err)
	return ok || shell.IsOneOf(err, events.ErrSealerAway, events.ErrDiskAway, shell.ErrPartDown, shell.ErrReloading,
		shell.ErrOverloaded, shell.ErrStoreAway)
}

// blamesOne reports whether a message about several sectors may be refused because of one of them, or of its size.
func blamesOne(err error) bool {
	return shell.IsOneOf(err,
		events.ErrInvalidProof, events.ErrMalformed, events.ErrSectorNotDue, events.ErrSectorNotLive)
}

// permanent reports whether the same challenge cannot be answered, however often it is tried.
func permanent(err error) bool {
	return shell.IsOneOf(err,
		events.ErrSectorDamaged, events.ErrNoSectorPart, events.ErrSectorStep, events.ErrMalformed)
}

// failure is what to report of a step that did not succeed.
func (s *Agent) failure(e sector.Effect, err error) sector.Command {
	if isAway(err) {
		return sector.Away{Inputs: s.inputs(), Key: e.Key(), Reason: err.Error()}
	}
	event := failed(e.Step, s.Clock.Now(), err)
	if _, again := event.(*messages.SectorSealPreCommitFailed); again && e.Step == sector.StepPreCommit2 &&
		s.journal.Durable.Failures[sector.PreCommit2]+1 < preCommit2Tries {
		event = fatalError(s.Clock.Now(), err) // The state stays.
	}
	return sector.Happened{Inputs: s.inputs(), Key: e.Key(), Event: event}
}

// preCommit2Tries is how often the second half of sealing fails in a row before the first, which may have taken
// hours, is thrown away.
const preCommit2Tries = 3

// clip makes what the world said fit to be recorded.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), sector.MaxText)], "?") }

var fatal = sector.NameOf(&messages.SectorFatalError{})

// fatalError is a failed attempt, after which the state stays.
func fatalError(at time.Time, err error) sector.Event {
	return &messages.SectorFatalError{At: events.TimeToMessage(at), Reason: clip(err.Error())}
}

// failed is the event of a failure; see the table of events/sector for where it leads.
func failed(step sector.Step, now time.Time, err error) sector.Event {
	lost := shell.IsOneOf(err, events.ErrPieceMismatch, events.ErrPieceRefused, events.ErrSectorDamaged)
	at, why := events.TimeToMessage(now), clip(err.Error())
	switch {
	case shell.IsOneOf(err, events.ErrDiskFull, events.ErrInsufficientFunds, events.ErrNumberUsed, errTooLong):
		return fatalError(now, err) // When there is room, or money, the same step succeeds.
	case lost && (step == sector.StepPack || step == sector.StepPreCommit1 || step == sector.StepPreCommit2):
		return &messages.SectorPackingFailed{At: at, Reason: why}
	case step == sector.StepSendPreCommit && shell.IsOneOf(err, events.ErrTicketExpired):
		return &messages.SectorSealPreCommitFailed{At: at, Reason: why}
	}
	if event := failures[step]; event != nil {
		return told(event, at, why)
	}
	return fatalError(now, err)
}

// failures are the events by which a state is left when its step fails.
var failures = map[sector.Step]sector.Event{
	sector.StepAddPiece:        &messages.SectorAddPieceFailed{},
	sector.StepPreCommit1:      &messages.SectorSealPreCommitFailed{},
	sector.StepPreCommit2:      &messages.SectorSealPreCommitFailed{},
	sector.StepSendPreCommit:   &messages.SectorChainPreCommitFailed{},
	sector.StepWaitSeed:        &messages.SectorChainPreCommitFailed{},
	sector.StepCommit:          &messages.SectorComputeProofFailed{},
	sector.StepSendCommit:      &messages.SectorCommitFailed{},
	sector.StepWaitCommit:      &messages.SectorCommitFailed{},
	sector.StepFinalize:        &messages.SectorFinalizeFailed{},
	sector.StepWaitRecovery:    &messages.SectorFaulty{},
	sector.StepTerminate:       &messages.SectorTerminateFailed{},
	sector.StepWaitTermination: &messages.SectorTerminateFailed{},
	sector.StepRemove:          &messages.SectorRemoveFailed{},
}

// told is an event of a kind with its time and reason.
func told(kind sector.Event, at *timestamppb.Timestamp, why string) sector.Event {
	e := kind.ProtoReflect().New()
	fields := e.Descriptor().Fields()
	e.Set(fields.ByName("at"), protoreflect.ValueOfMessage(at.ProtoReflect()))
	e.Set(fields.ByName("reason"), protoreflect.ValueOfString(why))
	return e.Interface().(sector.Event)
}
