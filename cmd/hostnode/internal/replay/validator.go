package replay

import (
	"github.com/hostnode/hostnode/events/validation"
)

// validatorMachine is what an account marked.
type validatorMachine struct {
	core[validation.State, validation.Event]
}

func (m *validatorMachine) state() State {
	var out State
	out.Facts.add("settingsSince", m.s.Since, "maxSlots", m.s.Settings.MaxSlots)
	if m.s.Settings.Groups > 0 {
		out.Facts.add("groups", m.s.Settings.Groups, "groupIndex", m.s.Settings.GroupIndex)
	}
	out.Facts.add("marked", m.s.Marked, "failed", m.s.Failed, "rewards", m.s.Rewards, "feesWei", m.s.FeesWei)
	return out
}
