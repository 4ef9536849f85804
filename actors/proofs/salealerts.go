package proofs

import (
	"fmt"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// This file raises alerts about sales, once what went wrong is recorded.

// alertSale raises alerts about a sale's new events.
func (p *Scheduler) alertSale(slot events.SlotID, fresh []sale.Event) {
	look := fmt.Sprintf("read what happened with `hostnode sale %s`", slot)
	for _, ev := range fresh {
		switch ev := ev.(type) {
		case *messages.ProofSubmitted:
			why := fmt.Sprintf("the proof of period %d was accepted", ev.GetPeriod())
			p.Clear(health.AlertProofMissed, slot, why)
			p.Clear(health.AlertNotProving, slot, why)
		case *messages.ProofMissed:
			p.Raise(health.AlertProofMissed, slot, ev.GetPeriod(),
				fmt.Sprintf("the proof of period %d was missed: %s", ev.GetPeriod(), ev.GetReason()), look)
		case sale.Reading: // Either event; if nothing was taken, Slashed is 0.
			if ev.GetSlashed() != "0" {
				p.Raise(health.AlertSlashed, slot, ev.GetPeriod(), fmt.Sprintf(
					"the contract took %s base units of the collateral and holds %s base units",
					ev.GetSlashed(), ev.GetCollateral()), look)
			}
		case *messages.SlotForfeited:
			p.Raise(health.AlertForfeited, slot, 0, "the slot and its collateral are lost: "+ev.GetReason(), look)
		case *messages.SlotDropped:
			p.Raise(health.AlertForfeited, slot, 0,
				"the request failed, and with it the collateral of the slot is lost", look)
		}
	}
}

// alertDamaged raises one alert when needed data is damaged, until all of it is sound again.
func (p *Scheduler) alertDamaged(told *health.Incident, slot events.SlotID, st sale.State) {
	was := told.Told
	told.Lasts(st.Damaged(), true, func() {
		p.Raise(health.AlertDamaged, slot, 0, fmt.Sprintf("data of the slot is damaged on disk since %s: %s",
			st.Damage.Since.UTC().Format(health.SinceFormat), sale.Sentence(&messages.SlotDamaged{
				Blocks: st.Damage.Blocks, Whole: st.Damage.Whole, FoundBy: st.Damage.FoundBy,
			})),
			fmt.Sprintf("the host repairs it from content.sources: follow it with `hostnode sale %s`, "+
				"and check the disk", slot))
	}, func() {
		p.Clear(health.AlertDamaged, slot, "the data of the slot is sound again, or not needed any more")
	})
	if was && !told.Told && st.KeepsData() {
		p.Log.WithField("slot", slot.String()).Info("the data of the slot is sound again")
	}
}
