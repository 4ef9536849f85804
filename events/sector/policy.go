package sector

import (
	"cmp"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Policy bounds retries. A zero field stands for its default. It is not recorded:
// decisions use the policy of this start.
type Policy struct {
	// FirstPause is after the first failure in a row, default 15 s; each further one
	// doubles it, up to MostPause, default 1 h. Up to a quarter is taken off by chance.
	FirstPause, MostPause time.Duration
	// MaxFailures is how many failures in a row lead to a pause, default 8; one more parks the
	// sector. Lotus has no such bound.
	MaxFailures uint64
}

func (p Policy) withDefaults() Policy {
	p.FirstPause = cmp.Or(p.FirstPause, 15*time.Second)
	p.MostPause = cmp.Or(p.MostPause, time.Hour)
	p.MaxFailures = cmp.Or(p.MaxFailures, 8)
	return p
}

// Pause is the length of the pause after the n-th failure in a row.
func (p Policy) Pause(n uint32, chance uint64) time.Duration {
	pause := p.FirstPause
	for ; n > 1 && pause < p.MostPause; n-- {
		pause *= 2
	}
	pause = min(pause, p.MostPause)
	const quarter = 4
	return pause - time.Duration(chance%uint64(pause/quarter+1))
}

// PauseLeft is how much is left of a pause; zero: nothing, or there is none. A pause that seems
// longer than any can be was begun by a clock that was wrong, and is over.
func (s Info) PauseLeft(now time.Time) time.Duration {
	left := s.Until.Sub(now)
	if s.Until.IsZero() || left < 0 || left > s.policy.MostPause {
		return 0
	}
	return left
}

// retries are the states whose pause ends with one event.
var retries = map[State]func(at *timestamppb.Timestamp) Event{
	AddPieceFailed:     func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryWaitDeals{At: at} },
	PackingFailed:      func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryPacking{At: at} },
	SealFailed:         func(at *timestamppb.Timestamp) Event { return &messages.SectorRetrySeal{At: at} },
	ComputeProofFailed: func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryComputeProof{At: at} },
	FinalizeFailed:     func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryFinalize{At: at} },
	TerminateFailed:    func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryTerminate{At: at} },
	RemoveFailed:       func(at *timestamppb.Timestamp) Event { return &messages.SectorRetryRemove{At: at} },
}

// diagnoses reports whether, in this state, chain and disk are asked before another step.
func diagnoses(s State) bool { return s == PreCommitFailed || s == CommitFailed }

// failed reports whether entering a state is a failure of the one before.
func failed(s State) bool {
	_, retried := retries[s]
	return retried || diagnoses(s)
}

// diagnosed is the event that follows from a finding; nil: the finding has no meaning in this
// state.
func diagnosed(s Info, c ReportDiagnosis) Event {
	at := events.TimeToMessage(c.At)
	switch s.State { //nolint:exhaustive // Two states ask.
	case PreCommitFailed:
		switch c.Finding {
		case BadSeal:
			return &messages.SectorSealPreCommitFailed{At: at, Reason: text(c.Reason)}
		case Landed:
			return &messages.SectorRetryWaitSeed{At: at}
		case NotThere:
			return &messages.SectorRetryPreCommit{At: at}
		case SeedChanged, InvalidProof, PreCommitGone:
		}
	case CommitFailed:
		switch c.Finding {
		case BadSeal:
			return &messages.SectorSealPreCommitFailed{At: at, Reason: text(c.Reason)}
		case Landed:
			return &messages.SectorRetryCommitWait{At: at}
		case NotThere:
			return &messages.SectorRetryComputeProof{At: at}
		case SeedChanged:
			return &messages.SectorRetryWaitSeed{At: at}
		case PreCommitGone:
			return &messages.SectorRetryPreCommit{At: at}
		case InvalidProof:
			if s.InvalidProofs > 0 { // The second time in a row, the sealed data is to blame.
				why := text("a second proof is invalid: " + c.Reason)
				return &messages.SectorSealPreCommitFailed{At: at, Reason: why}
			}
			return &messages.SectorRetryInvalidProof{At: at}
		}
	}
	return nil
}

// tellsChain is the event that follows from what the chain says of the sector; nil: nothing is new.
func tellsChain(s Info, c ReportChain) Event {
	at, f := events.TimeToMessage(c.At), c.Facts
	gone := "the chain does not have it any more"
	// It may be over before this host hears that it was proven.
	landed := f.Active || f.Terminated
	switch s.State { //nolint:exhaustive // In the others the chain has no say.
	case WaitSeed:
		switch {
		case landed && !f.Seed.Zero(): // By a record that is older than the chain: it goes on from there.
			return &messages.SectorSeedReady{At: at, Value: f.Seed.String(), Epoch: f.SeedEpoch}
		case !f.PreCommitted && !f.Active:
			return &messages.SectorChainPreCommitFailed{At: at, Reason: gone}
		}
	case Committing:
		switch {
		case landed && s.Step.Name == StepSendCommit: // The step itself is about to say which message did it.
		case landed:
			return &messages.SectorRetryCommitWait{At: at}
		case !f.PreCommitted:
			return &messages.SectorCommitFailed{At: at, Reason: "its precommit: " + gone}
		case !f.Seed.Zero() && (f.Seed != s.SeedValue || f.SeedEpoch != s.SeedEpoch):
			return &messages.SectorSeedReady{At: at, Value: f.Seed.String(), Epoch: f.SeedEpoch}
		}
	case CommitWait:
		switch {
		case landed:
			return &messages.SectorProving{At: at}
		case !f.PreCommitted:
			return &messages.SectorCommitFailed{At: at, Reason: "its precommit: " + gone}
		}
	case FinalizeSector:
		if !landed {
			return &messages.SectorCommitFailed{At: at, Reason: gone}
		}
	case Proving, Faulty, FaultReported, FaultedFinal, Recovering, RecoveryReported:
		return tellsHosting(s, c)
	case Terminating, TerminateWait:
		if f.Terminated {
			return &messages.SectorTerminated{At: at}
		}
	}
	return nil
}

func tellsHosting(s Info, c ReportChain) Event {
	at, f := events.TimeToMessage(c.At), c.Facts
	switch {
	case f.Terminated:
		return &messages.SectorTerminated{At: at}
	case s.State == Proving && !f.Active:
		return &messages.SectorCommitFailed{At: at, Reason: "the chain does not have it any more"}
	case s.State == Proving && f.Faulty:
		return &messages.SectorFaulty{At: at, Reason: "the chain calls it faulty"}
	case s.State == FaultReported && f.Faulty:
		return &messages.SectorFaultedFinal{At: at}
	case s.State == RecoveryReported && f.Active && !f.Faulty:
		return &messages.SectorRecovered{At: at}
	}
	return nil
}

// actions are what an operator may do with a parked sector.
func (s Info) actions() []string {
	again := []string{"SectorRestart", "SectorForceState", "SectorTerminate", "SectorRemove"}
	if s.PreCommitMessage.Zero() && s.SeedValue.Zero() { // The chain never heard of it.
		again = []string{"SectorRestart", "SectorForceState", "SectorRemove"}
	}
	if s.stuck() != "" && s.State != PackingFailed {
		return again[1:]
	}
	return again
}

// stuck says why no step can be taken in this state; empty when one can.
func (s Info) stuck() string {
	step, ok := s.due()
	switch {
	case s.State == FailedUnrecoverable:
		return "nothing is known that could be done about it"
	case s.State == PackingFailed:
		return "its pieces cannot be sealed: " + s.LastErr
	case s.Number == 0 && s.State != Undefined:
		return "it was forced before it began: it has no number, no size and no pieces"
	case !ok:
		return ""
	}
	for _, need := range needs[step] {
		if need.unmet(s) {
			return fmt.Sprintf("state %s cannot go on: %s", s.State, need.says)
		}
	}
	return ""
}
