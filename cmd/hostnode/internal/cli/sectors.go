package cli

import (
	"fmt"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/projections"
)

// SectorStep is the step of a sector in words, with how far it is; now may be nil.
func SectorStep(s projections.Sector, now *api.SectorNow) string {
	step := s.Step
	if s.Attempt > 1 {
		step += fmt.Sprintf(" (attempt %d)", s.Attempt)
	}
	if now != nil && now.Progress > 0 && s.Step != "" {
		const percent = 100
		step += fmt.Sprintf(", %.0f %%", percent*now.Progress)
	}
	if now != nil && !now.CallSince.IsZero() && s.Step != "" {
		step += ", since " + Clock(now.CallSince)
		if now.CallMoved.After(now.CallSince) {
			step += ", last progress at " + Clock(now.CallMoved)
		}
	}
	return step
}

// OnContract is what the contract has of a sector, in words; empty: nothing, or it was not asked.
func OnContract(c *api.SectorChain) string {
	if c == nil {
		return ""
	}
	proven := "no window proven yet, or the last one missed"
	if c.LastProven > 0 {
		proven = fmt.Sprintf("last proven in the window from block %d", c.LastProven)
	}
	if c.Faulty {
		proven = "faulty"
	}
	return fmt.Sprintf("expires at block %d; deadline %d, partition %d; %s; "+
		"%s left of the deposit, %s a period as reward",
		c.Expiration, c.Deadline, c.Partition, proven, money.Base(c.Deposit), money.Base(c.RewardPerPeriod))
}
