package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections"
)

// This file gathers the facts about a host from which package health judges its
// state. It judges nothing itself.

// judge fills in the state that follows from the facts.
func (s *Status) judge(f health.Facts) {
	w := health.Judge(f)
	s.Selling, s.SellingUnknown = w.Selling == health.Yes, w.Selling == health.NotKnown
	s.NotProving = w.Proving != health.Yes
	s.Readiness = []Obstacle{}
	for _, c := range health.Warnings(f) {
		s.Warnings = append(s.Warnings, Obstacle{c.Code, c.Selling.String(), c.Proving.String(), c.Reason, c.Hint})
	}
	for _, c := range w.Causes {
		s.Readiness = append(s.Readiness, Obstacle{c.Code, c.Selling.String(), c.Proving.String(), c.Reason, c.Hint})
	}
	if s.Selling {
		on := f.Supply.OnSale()
		s.Reason = fmt.Sprintf("%d of %d availabilities on offer, %s free",
			len(on), len(f.Supply.Offers), f.Supply.FreeOnSale().Human())
	}
	if len(w.Causes) > 0 {
		s.Reason, s.Hint = w.Causes[0].Reason, w.Causes[0].Hint
	}
}

// StatusWithout is the status where there is no host to ask.
func StatusWithout(f health.Facts) Status {
	s := Status{DataDir: f.DataDir, Phases: map[string]int{}}
	f.Supply.Unknown = true
	s.judge(f)
	return s
}

// known are the facts in the host's events: what is on offer, and what is hosted.
func (r *reader) known(s Status) health.Facts {
	f := health.Facts{Account: s.Account, DataDir: s.DataDir, Views: s.Views.Error}
	for _, p := range sale.Phases() {
		if (sale.State{Phase: p}).Hosting() {
			f.Hosting += s.Phases[p.String()]
		}
	}
	f.SectorsAtStake, f.Sectors = troubledSectors(r.provider().Sectors)
	if f.Supply.Unknown = f.Views != ""; f.Supply.Unknown { // Stopped views show old numbers.
		return f
	}
	f.Supply = supplyOf(s.Ledger)
	f.Supply.Now = r.now()
	f.Supply.Paused, f.Supply.PausedFor = s.Queue.Paused && s.Queue.ByOperator, s.Queue.PausedFor
	return f
}

// troubledSectors counts the sectors of which the contract has a deposit, and says which of them have a fault
// or wait for somebody. One that is parked before it is precommitted owes nothing.
func troubledSectors(all []projections.Sector) (atStake int, trouble []health.SectorTrouble) {
	for _, s := range all {
		if s.Over {
			continue
		}
		precommitted := s.PreCommitMessage != ""
		if precommitted {
			atStake++
		}
		switch {
		case s.Bleeds:
			trouble = slices.Insert(trouble, 0, health.SectorTrouble{
				Number: s.SectorNumber, Reason: "is not proven in state " + s.State + ", and loses its deposit; " +
					bleedNext(s.SectorNumber),
			})
		case s.Parked != "" && (precommitted || faulty(s.State)):
			trouble = append(trouble, health.SectorTrouble{
				Number: s.SectorNumber, Reason: "is parked in state " + s.State + ": " + s.Parked,
			})
		case faulty(s.State):
			trouble = append(trouble, health.SectorTrouble{
				Number: s.SectorNumber,
				Reason: "has a fault that is not recovered; next: " + nextAfter[sector.State(s.State)],
			})
		}
	}
	return atStake, trouble
}

func supplyOf(l projections.Ledger) (of health.Supply) {
	of.Allocated = l.Quota - l.Unallocated
	for _, a := range l.Availabilities {
		// The views have printed these amounts, so they can be parsed.
		of.AtRisk = of.AtRisk.AddSaturating(events.Must(events.ParseAmount(a.Committed)))
		of.Offers = append(of.Offers, health.Offered{
			Enabled: a.Enabled, Until: a.Until, Free: a.FreeSize,
			Remaining: events.Must(events.ParseAmount(a.Remaining)),
		})
	}
	return of
}

// facts are those of a running host; held is its balance, nil: not known.
func (l *Live) facts(s Status, now actors.Status, held *events.Balance) health.Facts {
	f := l.known(s)
	f.Stage, f.Endpoint, f.Record, f.Disk = health.Running, s.Chain.Endpoint, now.Record, now.Disk
	f.Down, f.Members = now.Down, now.Members
	if !now.Booted {
		f.Stage, f.StageSince, f.WaitsFor = health.Starting, s.Since, now.WaitsFor
		f.Outage = l.cfg.Outage()
		f.ProofTrouble = f.Outage.Trouble
	}
	f.Chain = health.ChainFacts{
		Away: s.Chain.Away, AwaySince: s.Chain.AwaySince, AwayReason: s.Chain.AwayReason,
		Limited: s.Chain.Limited,
		Head:    now.Head, Behind: !now.Live, FeeLimit: s.Chain.FeeLimit, Signer: s.Chain.Signer,
		NoRoom: now.NoRoom,
	}
	if now.Stalled {
		f.Chain.SilentSince = now.LastNews
	}
	if !now.Head.Time.IsZero() {
		f.Supply.Now = now.Head.Time
	}
	f.Supply.Quota, f.Supply.MaxAtRisk, f.Prover = now.Quota, now.MaxAtRisk, now.Prover
	f.Funds = now.Needs
	if held != nil {
		f.Funds.Known, f.Funds.Balance = true, *held
	}
	f.Sectors = append(f.Sectors, quarantinedSectors(now.Quarantined)...)
	if l.Member != "" && now.Booted { // The other members prove what they host.
		f.Hosting = 0
		for _, one := range now.Sales {
			if one.State.Hosting() {
				f.Hosting++
			}
		}
	}
	proving, _, _ := strings.Cut(sale.SubmitProof{}.Key(), ":")
	for _, one := range now.Sales {
		slot := one.State.Slot
		switch {
		case one.Quarantined != "":
			f.Quarantined = append(f.Quarantined, health.SlotTrouble{Slot: slot, Reason: one.Quarantined})
		case strings.HasPrefix(one.Trouble.Effect, proving):
			f.ProofTrouble = append(f.ProofTrouble, health.SlotTrouble{Slot: slot, Reason: one.Trouble.Error})
		}
	}
	return f
}

// quarantinedSectors returns the sectors that are quarantined.
func quarantinedSectors(all []quarantine.Work) (trouble []health.SectorTrouble) {
	for _, q := range all {
		if n, err := strconv.ParseUint(q.Subject.Key, 10, 64); err == nil && q.Subject.Kind == shell.SubjectSector {
			trouble = append(trouble, health.SectorTrouble{Number: n, Reason: "is quarantined: " + q.Reason})
		}
	}
	return trouble
}
