package actors

import (
	"fmt"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/validation"
)

// ValidatorStatus is what a validator does at a moment.
type ValidatorStatus struct {
	Settings validation.Settings
	// Ready says that the history of the market is read, so that slots are marked.
	Ready bool
	// Watching counts the slots that are watched, Skipped those beyond the limit, and
	// Marking the missing proofs that are being marked. Asking says that the contract
	// is being asked which are.
	Watching, Skipped, Marking uint64
	Asking                     bool
	// Marked and Failed count proofs, Rewards are tokens, FeesWei the gas of the
	// markings that brought them; all of the whole record.
	Marked, Failed   uint64
	Rewards, FeesWei events.Amount
	// Trouble says why nothing is validated any more; empty: it is.
	Trouble string
}

// show publishes what the validator does, and says when slots are skipped. It returns
// the slots that are watched.
func (v *validator) show(head events.Head) []validation.Slot {
	watched, skipped := v.watch.Slots(head.Time, func(s events.SlotID) bool { return v.ours[s] })
	if skips := skipped > 0; skips != v.skipping && v.history.done {
		v.skipping = skips
		if skips {
			v.Log.Infof("validating: %d slots are watched, and the %d that were filled last are not; "+
				"validator.maxSlots says how many", len(watched), skipped)
		} else {
			v.Log.Infof("validating: all %d slots are watched again", len(watched))
		}
	}
	v.watching, v.skipped = uint64(len(watched)), skipped
	v.publish()
	return watched
}

// publish sets what everybody may see.
func (v *validator) publish() {
	st := v.journal.Durable
	v.validating.Store(&ValidatorStatus{
		Settings: v.Validator, Ready: v.resumed && v.history.done,
		Watching: v.watching, Skipped: v.skipped, Marking: uint64(len(v.open)), Asking: len(v.asking) > 0,
		Marked: st.Marked, Failed: st.Failed, Rewards: st.Rewards, FeesWei: st.FeesWei,
	})
}

// validatorTree is the validator as the supervisor has it.
type validatorTree struct {
	ref      shell.Ref
	failures int
}

// validatorDue: the validator is started again.
type validatorDue struct{}

// startValidator spawns the validator, if this process is to be one.
func (s *supervisor) startValidator(a *shell.Turn) {
	if s.Validation == nil {
		return
	}
	self := a.Self
	v := newValidator(s.env, func(err error) { self.Tell(validatorBroken{err}) })
	for _, slot := range s.slots() {
		v.ours[slot] = true
	}
	s.validator.ref = a.Spawn("Validator", v)
}

// validatorBroken: the validator's record or the market's cannot be read.
type validatorBroken struct{ err error }

// onValidatorFailed starts a validator again that panicked. When that does not help
// the host goes on without.
func (s *supervisor) onValidatorFailed(a *shell.Turn, err error) {
	s.validator.failures++
	if s.validator.failures > maxFailures {
		s.onValidatorBroken(err)
		return
	}
	self := a.Self
	s.Clock.After(s.Backoff("validator", s.validator.failures), func() { self.Tell(validatorDue{}) })
}

func (s *supervisor) onValidatorBroken(err error) {
	s.validator.ref.Stop()
	s.validator.ref = shell.Ref{}
	s.Log.Errorf("nothing is validated any more; the host goes on: %v", err)
	s.Raise(health.AlertQuarantined, events.SlotID{}, 0,
		fmt.Sprintf("The validator was stopped: %v.", err), "Look at the log; the next start begins it again.")
	last := ValidatorStatus{Settings: s.Validator}
	if known := s.validating.Load(); known != nil {
		last = *known
	}
	last.Ready, last.Trouble = false, err.Error()
	s.validating.Store(&last)
}
