// Package sector is the life of one sector: from the first piece to the last byte given back.
// It is pure: Decide, Evolve, Next. Start reading here, with the table.
//
// States and events have the names that storage providers know from Filecoin's software
// (docs/sectors.md says which, and what differs here).
//
// The rules:
//
//  1. The table says which event leads where. Restart, FatalError, ForceState, Terminate and
//     Remove are legal in every state (globals). Any other event is refused (*Refused) and
//     changes nothing; if it came from outside, the refusal is recorded.
//  2. A state has at most one step (steps.go). The decision that makes the step due also
//     records it with its key: append, then act. A result names the key; a result with an older
//     key came late and is ignored.
//  3. A step that fails is tried again after a growing pause, a bounded number of times in a
//     row (Policy); then the sector is parked, with the reason and what may be done. When
//     something outside does not answer, the step pauses too, but has not failed.
//  4. A failed step of sealing leads to its *Failed state; where a message was sent, chain and
//     disk are asked before anything is sent again (ReportDiagnosis).
//  5. A proof is recorded before it is sent. If the seed changes, the proof is void.
//  6. When the chain takes something back, the sector goes back to the state before it
//     (ReportChain).
//  7. Space comes first: nothing is written before the ledger holds it. It is given back when
//     the files are gone, and the deposit is settled last. Only then is the sector over, even
//     if its state was forced.
package sector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is a fact of a sector.
type Event = messages.SectorEvent

// arc is one entry of the table: an event, and the state it leads to.
type arc struct {
	event string
	next  State
}

func on(e Event, next State) arc { return arc{NameOf(e), next} }

// row is what is legal in a state, by the names of events.
type row map[string]State

func when(arcs ...arc) row {
	r := row{}
	for _, a := range arcs {
		r[a.event] = a.next
	}
	return r
}

// NameOf is the name of an event, as it is stored.
func NameOf(e Event) string { return string(e.ProtoReflect().Descriptor().Name()) }

// planners is the machine.
var planners = map[State]row{
	Undefined: when(
		on(&messages.SectorStart{}, Packing),
		on(&messages.SectorStartEmpty{}, Empty)),
	Empty: when(
		on(&messages.SectorAddPiece{}, AddPiece),
		on(&messages.SectorStartPacking{}, Packing)),
	WaitDeals: when(
		on(&messages.SectorAddPiece{}, AddPiece),
		on(&messages.SectorStartPacking{}, Packing),
		on(&messages.SectorPieceAdded{}, WaitDeals),
		on(&messages.SectorAddPieceFailed{}, AddPieceFailed)),
	AddPiece: when(
		on(&messages.SectorPieceAdded{}, WaitDeals),
		on(&messages.SectorAddPieceFailed{}, AddPieceFailed)),
	AddPieceFailed: when(
		on(&messages.SectorRetryWaitDeals{}, WaitDeals)),
	Packing: when(
		on(&messages.SectorPacked{}, PreCommit1),
		on(&messages.SectorPackingFailed{}, PackingFailed)),
	GetTicket: when(
		on(&messages.SectorTicket{}, PreCommit1)),
	PreCommit1: when(
		on(&messages.SectorTicket{}, PreCommit1),
		on(&messages.SectorOldTicket{}, GetTicket),
		on(&messages.SectorPreCommit1{}, PreCommit2),
		on(&messages.SectorSealPreCommitFailed{}, SealFailed),
		on(&messages.SectorPackingFailed{}, PackingFailed)),
	PreCommit2: when(
		on(&messages.SectorOldTicket{}, GetTicket),
		on(&messages.SectorPreCommit2{}, PreCommitting),
		on(&messages.SectorSealPreCommitFailed{}, SealFailed),
		on(&messages.SectorPackingFailed{}, PackingFailed)),
	PreCommitting: when(
		on(&messages.SectorPreCommitted{}, WaitSeed),
		on(&messages.SectorSealPreCommitFailed{}, SealFailed),
		on(&messages.SectorChainPreCommitFailed{}, PreCommitFailed)),
	WaitSeed: when(
		on(&messages.SectorSeedReady{}, Committing),
		on(&messages.SectorChainPreCommitFailed{}, PreCommitFailed)),
	Committing: when(
		on(&messages.SectorSeedReady{}, Committing),
		on(&messages.SectorProofReady{}, Committing),
		on(&messages.SectorCommitted{}, CommitWait),
		on(&messages.SectorRetryCommitWait{}, CommitWait),
		on(&messages.SectorComputeProofFailed{}, ComputeProofFailed),
		on(&messages.SectorCommitFailed{}, CommitFailed),
		on(&messages.SectorSealPreCommitFailed{}, CommitFailed)),
	CommitWait: when(
		on(&messages.SectorProving{}, FinalizeSector),
		on(&messages.SectorCommitFailed{}, CommitFailed)),
	FinalizeSector: when(
		on(&messages.SectorFinalized{}, Proving),
		on(&messages.SectorFinalizeFailed{}, FinalizeFailed),
		on(&messages.SectorCommitFailed{}, CommitFailed)),
	Proving: when(
		on(&messages.SectorFaulty{}, Faulty),
		on(&messages.SectorFaultReported{}, FaultReported),
		on(&messages.SectorTerminated{}, TerminateFinality),
		on(&messages.SectorCommitFailed{}, CommitFailed)),

	SealFailed: when(
		on(&messages.SectorRetrySeal{}, PreCommit1)),
	PreCommitFailed: when(
		on(&messages.SectorRetryPreCommit{}, PreCommitting),
		on(&messages.SectorRetryWaitSeed{}, WaitSeed),
		on(&messages.SectorSealPreCommitFailed{}, SealFailed)),
	ComputeProofFailed: when(
		on(&messages.SectorRetryComputeProof{}, Committing)),
	CommitFailed: when(
		on(&messages.SectorSealPreCommitFailed{}, SealFailed),
		on(&messages.SectorRetryWaitSeed{}, WaitSeed),
		on(&messages.SectorRetryComputeProof{}, Committing),
		on(&messages.SectorRetryInvalidProof{}, Committing),
		on(&messages.SectorRetryPreCommit{}, PreCommitting),
		on(&messages.SectorRetryCommitWait{}, CommitWait)),
	PackingFailed: when(
		on(&messages.SectorRetryPacking{}, Packing)),
	FinalizeFailed: when(
		on(&messages.SectorRetryFinalize{}, FinalizeSector)),
	FailedUnrecoverable: when(),

	Faulty: when(
		on(&messages.SectorFaultReported{}, FaultReported),
		on(&messages.SectorTerminated{}, TerminateFinality)),
	FaultReported: when(
		on(&messages.SectorFaultedFinal{}, FaultedFinal),
		on(&messages.SectorTerminated{}, TerminateFinality)),
	FaultedFinal: when(
		on(&messages.SectorRestored{}, Recovering),
		on(&messages.SectorTerminated{}, TerminateFinality)),
	Recovering: when(
		on(&messages.SectorRecoveryDeclared{}, RecoveryReported),
		on(&messages.SectorFaulty{}, FaultedFinal),
		on(&messages.SectorTerminated{}, TerminateFinality)),
	RecoveryReported: when(
		on(&messages.SectorRecovered{}, Proving),
		on(&messages.SectorFaulty{}, FaultedFinal),
		on(&messages.SectorTerminated{}, TerminateFinality)),

	Terminating: when(
		on(&messages.SectorTerminating{}, TerminateWait),
		on(&messages.SectorTerminated{}, TerminateFinality),
		on(&messages.SectorTerminateFailed{}, TerminateFailed)),
	TerminateWait: when(
		on(&messages.SectorTerminated{}, TerminateFinality),
		on(&messages.SectorTerminateFailed{}, TerminateFailed)),
	TerminateFinality: when(),
	TerminateFailed: when(
		on(&messages.SectorRetryTerminate{}, Terminating)),
	Removing: when(
		on(&messages.SectorRemoved{}, Removed),
		on(&messages.SectorRemoveFailed{}, RemoveFailed)),
	RemoveFailed: when(
		on(&messages.SectorRetryRemove{}, Removing)),
	Removed: when(),
}

// Allowed returns the names of the ordinary events that are legal in a state, in order.
func Allowed(s State) []string { return slices.Sorted(maps.Keys(planners[s])) }

// next returns the state that an event leads to; false: the event is not legal.
func next(s Info, e Event) (State, bool) {
	switch e := e.(type) { //nolint:gochecksumtype // The rest is in the table.
	case *messages.SectorRestart, *messages.SectorFatalError:
		return s.State, true
	case *messages.SectorForceState:
		return State(e.GetState()), true
	case *messages.SectorTerminate:
		return Terminating, true
	case *messages.SectorRemove:
		return Removing, true
	case *messages.SectorAddPiece, *messages.SectorStartPacking:
		if s.State == AddPiece {
			return AddPiece, true // Noted, while a piece is under way.
		}
	}
	to, ok := planners[s.State][NameOf(e)]
	return to, ok
}

// Refused says that a state does not allow an event.
type Refused struct {
	State   State
	Event   string
	Allowed []string // ordinary events that the state has
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s is not allowed in state %q; it allows %v, and Restart, ForceState, Terminate and Remove",
		r.Event, r.State, r.Allowed)
}

// Decide returns the events that follow from a command; none when it says what is
// recorded already, or came too late. An error comes without events.
func Decide(s Info, c Command) ([]Event, error) {
	switch c := c.(type) {
	case Happened:
		return decideHappened(s, c)
	case Away:
		if s.Step.Key == "" || c.Key != s.Step.Key || !s.Until.IsZero() {
			return nil, nil
		}
		return []Event{&messages.SectorRetryScheduled{
			At: events.TimeToMessage(c.At), Step: string(s.Step.Name), Reason: text(c.Reason), Outage: true,
			Until: events.TimeToMessage(c.At.Add(s.policy.Pause(s.Outages+1, c.Chance))),
		}}, nil
	case Due:
		if c.Until.IsZero() && s.Until.IsZero() { // The record may have been cut within a decision.
			return enter(s, c.Inputs), nil
		}
		if other := !c.Until.IsZero() && !c.Until.Equal(s.Until); other || s.Until.IsZero() || s.PauseLeft(c.At) > 0 {
			return nil, nil
		}
		return proceed(s, c.Inputs), nil
	case ReportChain:
		return decideChain(s, c), nil
	case ReportDiagnosis:
		if c.Key == "" || c.Key != s.Step.Key {
			return nil, nil
		}
		e := diagnosed(s, c)
		if e == nil {
			return nil, fmt.Errorf("%w: %q says nothing in state %q", ErrImpossible, c.Finding, s.State)
		}
		return decideHappened(s, Happened{Inputs: c.Inputs, Event: e, Key: c.Key})
	}
	panic(fmt.Sprintf("sector: unknown command %T", c))
}

// decideChain goes as far as the chain's answer leads: what it took back, or has after
// all, may be more than one state away.
func decideChain(s Info, c ReportChain) []Event {
	var out []Event
	for e := tellsChain(s, c); e != nil; e = tellsChain(s, c) {
		out, s = append(out, e), Evolve(s, e)
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, enter(s, c.Inputs)...)
}

func decideHappened(s Info, c Happened) ([]Event, error) {
	if c.Key != "" && c.Key != s.Step.Key || s.repeats(c.Event) {
		return nil, nil
	}
	if !s.changesLedger(c.Event) {
		if _, ok := next(s, c.Event); !ok {
			refused := &Refused{s.State, NameOf(c.Event), Allowed(s.State)}
			if c.By == "" {
				return nil, refused
			}
			return []Event{&messages.SectorEventRefused{
				At: events.TimeToMessage(c.At), Event: refused.Event, By: text(c.By), Reason: text(refused.Error()),
			}}, nil
		}
	}
	if c.Key == "" && needsKey(c.Event) {
		return nil, fmt.Errorf("%s: %w", NameOf(c.Event), ErrNoKey)
	}
	if err := s.believe(c.Event); err != nil {
		return nil, err
	}
	out := []Event{c.Event}
	s = Evolve(s, c.Event)
	switch c.Event.(type) { //nolint:gochecksumtype // What else happens leads on by itself.
	case *messages.SectorFatalError:
		return append(out, fails(s, c.Inputs)), nil
	case *messages.SectorRestart:
		return append(out, proceed(s, c.Inputs)...), nil
	case *messages.SectorPieceAdded, *messages.SectorRetryWaitDeals:
		if len(s.Pending) == 0 && (s.PackNow || s.room() == 0) {
			by := "the host, because the sector is full"
			if s.PackNow {
				by = "the host, because the sector was to be packed when its pieces had come"
			}
			full := &messages.SectorStartPacking{At: events.TimeToMessage(c.At), By: by}
			out, s = append(out, full), Evolve(s, full)
		}
	}
	return append(out, enter(s, c.Inputs)...), nil
}

// enter is how a state begins: with a pause, with its step, or with nothing until an operator decides.
func enter(s Info, n Inputs) []Event {
	if s.Reason != "" || !s.Until.IsZero() || s.Step.Key != "" {
		return nil
	}
	if reason := s.stuck(); reason != "" {
		return []Event{park(s, n, reason)}
	}
	if _, paused := retries[s.State]; paused || diagnoses(s.State) {
		return []Event{fails(s, n)}
	}
	return schedule(s, n)
}

// proceed is how a state goes on when its pause ends or is cut short.
func proceed(s Info, n Inputs) []Event {
	if reason := s.stuck(); reason != "" && s.State != PackingFailed {
		return []Event{park(s, n, reason)}
	}
	retry, ok := retries[s.State]
	if !ok {
		return schedule(s, n)
	}
	e := retry(events.TimeToMessage(n.At))
	return append([]Event{e}, enter(Evolve(s, e), n)...)
}

// fails is a pause, or parking after too many.
func fails(s Info, n Inputs) Event {
	failed := max(s.Failures[s.State], 1)
	if most := s.policy.MaxFailures; most > 0 && uint64(failed) > most {
		return park(s, n, fmt.Sprintf("failed %d times: %s", failed, s.LastErr))
	}
	return &messages.SectorRetryScheduled{
		At: events.TimeToMessage(n.At), Step: string(s.dueStep()), Reason: s.LastErr,
		Until: events.TimeToMessage(n.At.Add(s.policy.Pause(failed, n.Chance))),
	}
}

func park(s Info, n Inputs, reason string) Event {
	return &messages.SectorParked{At: events.TimeToMessage(n.At), Reason: text(reason), Actions: s.actions()}
}

func schedule(s Info, n Inputs) []Event {
	step, ok := s.due()
	if !ok {
		return nil
	}
	attempt := s.Attempts.Of(step) + 1
	if step == s.Sending { // The key prevents a second sending of the same message.
		attempt--
	}
	return []Event{&messages.SectorStepScheduled{
		At: events.TimeToMessage(n.At), Step: string(step), Attempt: attempt, Key: keyOf(step, s.Number, attempt),
	}}
}
