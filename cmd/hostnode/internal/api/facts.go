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
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// This file gathers the facts about a host from which package health judges its
// state. It judges nothing itself.

// judge fills in the state that follows from the facts.
func (s *Status) judge(f health.Facts) {
	s.Standing, s.Warnings = standing(f, health.JudgeHost(f)), nil
	if f.Members.Member != "" {
		here := standing(f, health.Judge(f))
		s.Here = &here
	}
	if s.Dry {
		why := dryObstacle(s.DataDir)
		s.Selling, s.SellingUnknown, s.Reason, s.Hint = false, false, why.Reason, why.Hint
		s.Readiness = slices.Insert(s.Readiness, 0, why)
	}
	for _, c := range health.Warnings(f) {
		s.Warnings = append(s.Warnings, obstacle(c))
	}
}

func obstacle(c health.Cause) Obstacle {
	return Obstacle{c.Code, c.Selling.String(), c.Proving.String(), c.Reason, c.Hint}
}

func standing(f health.Facts, w health.Judgement) Standing {
	s := Standing{
		Selling: w.Selling == health.Yes, SellingUnknown: w.Selling == health.NotKnown,
		NotProving: w.Proving != health.Yes, Purpose: w.Purpose, Readiness: []Obstacle{},
		Reason: onOffer(w),
	}
	switch w.Purpose {
	case health.Validating:
		s.Reason = "missing proofs of other hosts are marked; nothing is on offer"
	case health.ProvingSectors, health.SealingSectors:
		s.Reason = fmt.Sprintf("sectors with a deposit at stake: %d, begun: %d; nothing is on offer",
			f.SectorsAtStake, f.SectorsBegun)
	}
	for _, c := range w.Causes {
		s.Readiness = append(s.Readiness, obstacle(c))
	}
	if len(w.Causes) > 0 {
		s.Reason, s.Hint = w.Causes[0].Reason, w.Causes[0].Hint
	}
	return s
}

// onOffer says how much is on offer.
func onOffer(w health.Judgement) string {
	switch {
	case w.OnSale < w.Offers:
		return fmt.Sprintf("%s free, in %d of %d availabilities", w.Free.Human(), w.OnSale, w.Offers)
	case w.Offers == 1:
		return w.Free.Human() + " free, in one availability"
	}
	return fmt.Sprintf("%s free, in %d availabilities", w.Free.Human(), w.Offers)
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
	f := health.Facts{Account: s.Account, DataDir: s.DataDir, Typed: r.Typed, Views: s.Views.Error}
	if s.Token != nil {
		f.LeastPrice = s.Token.Unpriceable()
	}
	for _, p := range sale.Phases() {
		if (sale.State{Phase: p}).Hosting() {
			f.Hosting += s.Phases[p.String()]
		}
	}
	f.SectorsAtStake, f.SectorsBegun, f.Sectors = troubledSectors(r.provider().Sectors)
	if f.Supply.Unknown = f.Views != ""; f.Supply.Unknown { // Stopped views show old numbers.
		return f
	}
	f.Supply = supplyOf(r.ledger())
	f.Supply.Allocated, f.Supply.Unallocated = s.Ledger.Quota-s.Ledger.Unallocated, s.Ledger.Unallocated
	f.Supply.Now = r.now()
	addQueue(&f.Supply, s.Queue)
	return f
}

// addQueue adds what became of the requests of the market.
func addQueue(of *health.Supply, q projections.Queue) {
	var waiting []string
	for _, w := range q.Waiting {
		slots := fmt.Sprintf("%d slots", w.Slots)
		if w.Slots == 1 {
			slots = "1 slot"
		}
		waiting = append(waiting, slots+": "+slotqueue.Why(w.Criterion))
	}
	if of.Paused = q.Paused && q.ByOperator; of.Paused {
		of.PausedFor = q.PausedFor
	} else if q.Paused {
		of.NoneFits, of.Waiting = q.PausedFor, strings.Join(waiting, "; ")
	}
	for _, r := range q.RefusedInARow {
		of.Refused = append(of.Refused, health.RefusedRequest{Criterion: r.Criterion, Reason: r.Reason, At: r.At})
	}
}

// troubledSectors counts the sectors of which the contract has a deposit, and the others that are begun, and says
// which of them have a fault or wait for somebody. One that is parked before it is precommitted owes nothing.
func troubledSectors(all []projections.Sector) (atStake, begun int, trouble []health.SectorTrouble) {
	for _, s := range all {
		if s.Over {
			continue
		}
		precommitted := s.PreCommitMessage != ""
		if precommitted {
			atStake++
		} else {
			begun++
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
	return atStake, begun, trouble
}

// supplyOf is what all members together offer.
func supplyOf(l projections.Ledger) (of health.Supply) {
	for _, a := range l.Availabilities {
		// The views have printed these amounts, so they can be parsed.
		of.AtRisk = of.AtRisk.AddSaturating(events.Must(events.ParseAmount(a.Committed)))
		of.Offers = append(of.Offers, health.Offered{
			Member: a.Member, Enabled: a.Enabled, Until: a.Until, Free: a.FreeSize,
			Remaining: events.Must(events.ParseAmount(a.Remaining)),
		})
	}
	return of
}

// facts are those of a running host; held is its balance, nil: not known.
func (l *Live) facts(s Status, now actors.Status, held *events.Balance) health.Facts {
	f := l.known(s)
	f.Stage, f.Endpoint, f.Record, f.Disk = health.Running, s.Chain.Endpoint, now.Record, now.Disk
	f.Down, f.Members, f.NoSealer = now.Down, now.Members, l.cfg.Pieces == nil
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
	f.Supply.Quota, f.Supply.Overhead, f.Supply.MaxAtRisk, f.Prover = now.Quota, now.Overhead, now.MaxAtRisk, now.Prover
	if v := now.Validator; v != nil {
		f.Validating, f.ValidatorStopped = true, v.Trouble
	}
	f.Funds = now.Needs
	if held != nil {
		f.Funds.Known, f.Funds.Balance = true, *held
	}
	f.Sectors = append(f.Sectors, quarantinedSectors(now.Quarantined)...)
	if l.Member != "" && now.Booted { // The other members prove what they host.
		f.Hosting = now.Hosting
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
