package proofs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file watches the slots of quarantined sales. Nobody proves them, and while such a slot
// is ours on chain, each period that owes a proof raises an alert.

// Messages about slots whose sales are quarantined.
type (
	// quarantinedTerms is what the request of a quarantined slot says about proofs.
	quarantinedTerms struct {
		slot events.SlotID
		ask  events.Ask
		err  error
	}
	// quarantinedOwes says whether the slot of a quarantined sale is ours and owes a proof.
	quarantinedOwes struct {
		slot   events.SlotID
		period uint64
		ours   bool
		err    error
	}
)

// unproven is a slot whose sale is quarantined.
type unproven struct {
	sales.Quarantined
	duty.Slot
	known bool   // what its request says is known
	told  uint64 // the last period for which an alert was raised or is being prepared
}

// onQuarantined begins to watch what the slot of a quarantined sale owes.
func (p *Scheduler) onQuarantined(a *shell.Turn, m sales.Quarantined) {
	u := &unproven{Quarantined: m, Slot: duty.Slot{ID: m.Slot}}
	if old := p.unproven[m.Slot]; old != nil {
		u.told = old.told
	}
	if s := p.sales[m.Slot]; s != nil {
		u.FilledAt = s.FilledAt
		if s.proves {
			s.proves, s.paused = false, p.pauseFrom("the sale was quarantined: "+m.Why)
		}
	}
	p.unproven[m.Slot] = u
	p.askTerms(a, u)
}

func (p *Scheduler) askTerms(a *shell.Turn, u *unproven) {
	slot, request := u.Quarantined.Slot, u.Request
	p.Later(a, slot.String()+"/quarantined", func(ctx context.Context) any {
		r, err := chainview.Patiently(ctx, p.Base, p.Patience(), func(ctx context.Context) (events.Request, error) {
			return p.Market.Request(ctx, request)
		})
		return quarantinedTerms{slot, r.Ask, err}
	})
}

func (p *Scheduler) onTerms(m quarantinedTerms) {
	u := p.unproven[m.slot]
	switch {
	case u == nil:
	case m.err != nil: // It is asked again with the next try of the sale.
		p.Log.WithField("slot", m.slot.String()).Warnf("find out what the quarantined slot owes: %v", m.err)
	default:
		u.known, u.Probability = true, duty.Probability(p.Terms.Proofs, m.ask.ProofProbability)
	}
}

// lookAtUnproven asks the chain about each quarantined slot that owes a proof: is it ours?
func (p *Scheduler) lookAtUnproven(a *shell.Turn, head events.Head) {
	if len(p.unproven) == 0 {
		return
	}
	pass := duty.NewPass(p.Terms.Proofs, head, duty.Pace{Shortest: p.pace.Shortest(p.BlockTime())}, p.View.Hash)
	for _, slot := range slices.SortedFunc(maps.Keys(p.unproven), events.SlotID.Compare) {
		u := p.unproven[slot]
		if !u.known {
			continue
		}
		p.ofSlot(slot, func() {
			v := p.Verdict(pass, &u.Slot)
			switch {
			case !v.Known && !p.fetching:
				p.fetch(a)
			case v.Known && v.Owed && v.Period > u.told:
				u.told = v.Period
				p.askOurs(a, u, v.Period)
			}
		})
	}
}

func (p *Scheduler) askOurs(a *shell.Turn, u *unproven, period uint64) {
	slot, request, index := u.Quarantined.Slot, u.Request, u.Index
	p.Later(a, slot.String()+"/quarantined", func(ctx context.Context) any {
		facts, err := chainview.Patiently(ctx, p.Base, p.Patience(),
			func(ctx context.Context) (events.SlotFacts, error) { return p.Market.Slot(ctx, request, index) })
		return quarantinedOwes{slot, period, facts.Host == p.Me && facts.SlotState == events.SlotFilled, err}
	})
}

func (p *Scheduler) onOwes(m quarantinedOwes) {
	u := p.unproven[m.slot]
	switch {
	case u == nil:
	case m.err != nil:
		u.told = min(u.told, m.period-1) // It is asked again at the next block.
	case m.ours:
		p.Raise(health.AlertNotProving, m.slot, m.period,
			fmt.Sprintf("NOT PROVING: a proof of period %d is owed, and the sale is quarantined: %s", m.period, u.Why),
			fmt.Sprintf("find the cause in the log and with `hostnode sale %s`; the host tries the sale again "+
				"by itself, at once after a restart", m.slot))
	}
}
