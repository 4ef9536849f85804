package replay

import "github.com/hostnode/hostnode/events/validation"

// validatorState is what an account marked.
func validatorState(s validation.State) State {
	var out State
	out.Facts.add("settingsSince", s.Since, "maxSlots", s.Settings.MaxSlots)
	if s.Settings.Groups > 0 {
		out.Facts.add("groups", s.Settings.Groups, "groupIndex", s.Settings.GroupIndex)
	}
	out.Facts.add("marked", s.Marked, "failed", s.Failed, "rewards", s.Rewards, "feesWei", s.FeesWei)
	return out
}
