package validator

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/validation"
)

// Status is what a validator is doing.
type Status struct {
	Settings validation.Settings
	// Ready: the market's history is read, so missing proofs are marked.
	Ready bool
	// Watching counts the slots that are watched, Skipped those beyond the limit, and Marking
	// the missing proofs that are being marked. Asking: the contract is being asked which
	// proofs are missing.
	Watching, Skipped, Marking uint64
	Asking                     bool
	// Marked and Failed count proofs, Rewards are base units, and FeesWei is the gas of the
	// successful markings; all over the whole record.
	Marked, Failed   uint64
	Rewards, FeesWei events.Amount
	// Trouble says why the validator has stopped; empty: it has not.
	Trouble string
}

// show notes for the status how many slots are watched, logs when some are skipped, and returns
// those that are watched.
func (v *Validator) show(head events.Head) []validation.Slot {
	watched, skipped := v.watch.Slots(head.Time, func(s events.SlotID) bool { return v.ours[s] })
	if skips := skipped > 0; skips != v.skipping && v.history.done {
		v.skipping = skips
		if skips {
			v.Log.Infof("validating: %d slots are watched, and the %d filled last are not; "+
				"raise validator.maxSlots to watch more", len(watched), skipped)
		} else {
			v.Log.Infof("validating: all %d slots are watched again", len(watched))
		}
	}
	v.watching, v.skipped = uint64(len(watched)), skipped
	return watched
}

// publish publishes the status; it ends each turn.
func (v *Validator) publish() {
	st := v.journal.Durable
	v.Publish(Status{
		Settings: v.Settings, Ready: v.resumed && v.history.done,
		Watching: v.watching, Skipped: v.skipped, Marking: uint64(len(v.open)), Asking: len(v.asking) > 0,
		Marked: st.Marked, Failed: st.Failed, Rewards: st.Rewards, FeesWei: st.FeesWei,
	})
}
