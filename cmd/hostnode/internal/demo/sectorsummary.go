package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// SectorSummary is the result of a demonstration of sectors. It is read from the event store and the chain after
// the host has stopped; only the times of kills and of damage are not.
type SectorSummary struct {
	// Complete: all of it happened.
	Complete bool   `json:"complete"`
	Missing  string `json:"missing,omitempty"` // what did not happen
	Proves   string `json:"proves"`            // what the proofs show
	Provider string `json:"provider"`
	// Days is how many days, which are proving periods, have begun.
	Days    uint64         `json:"days"`
	Sectors []SectorResult `json:"sectors"`
	// Proofs are those of possession, one for a sector and a day; Messages brought them to the contract.
	Proofs            int     `json:"proofs"`
	Messages          int     `json:"messages"`
	Damage            Damage  `json:"damage"`
	Kills             []Kill  `json:"kills"`
	Reward            string  `json:"reward"`
	Withdrawn         string  `json:"withdrawn"` // rewards and returned deposits
	Owed              string  `json:"owed"`      // the same, still with the contract
	HostBalanceBefore string  `json:"hostBalanceBefore"`
	HostBalanceAfter  string  `json:"hostBalanceAfter"`
	AuditFindings     int     `json:"auditFindings"`
	Events            uint64  `json:"events"`
	Seconds           float64 `json:"seconds"`
	DataDir           string  `json:"dataDir"`
}

// SectorResult is what became of a sector. Amounts are in base units.
type SectorResult struct {
	Sector     uint64       `json:"sector"`
	Role       string       `json:"role"`
	State      string       `json:"state"`
	Over       bool         `json:"over"`
	Size       events.Bytes `json:"size"`
	Payload    events.Bytes `json:"payload"`
	CommD      string       `json:"commD"`
	DaysProven []uint64     `json:"daysProven"`
	// DaysMissed is how many windows closed without a proof that was due, or was not due because of a
	// declared fault.
	DaysMissed   uint64                 `json:"daysMissed"`
	DeclaredFrom []uint64               `json:"declaredFrom,omitempty"` // days
	RecoveredOn  []uint64               `json:"recoveredOn,omitempty"`  // days
	Deposit      string                 `json:"deposit"`                // at stake
	Returned     string                 `json:"returned"`
	Fees         string                 `json:"fees"` // that the contract took from it
	Messages     map[string]int         `json:"messages"`
	Steps        []projections.StepTime `json:"steps"`
}

// Kill is an end of the host by SIGKILL, and the steps that had begun by then according to the record and had no
// result.
type Kill struct {
	At time.Time `json:"at"`
	In []string  `json:"in"`
}

// summarize reads the record and prints the summary.
func (s *sectorShow) summarize(ctx context.Context, of record) (_ SectorSummary, err error) {
	sum := SectorSummary{
		Proves: "possession", Provider: s.account.String(), Days: s.contract.dayOf(s.local.Head().Number),
		Damage: s.damage, Messages: s.contract.messages, Reward: s.contract.reward.String(),
		Withdrawn:         s.contract.paid.String(),
		HostBalanceBefore: s.before.String(), AuditFindings: len(of.report.Findings), Events: of.report.Events,
		DataDir: s.dir.Root,
	}
	after, err := s.client.account.BalanceOf(ctx, s.account)
	if err != nil {
		return sum, fmt.Errorf("read the host's balance: %w", err)
	}
	owed, err := s.contract.owed(ctx)
	sum.HostBalanceAfter, sum.Owed = after.Tokens.String(), owed.String()
	if err != nil {
		return sum, err
	}
	if sum.Kills, err = s.killsInRecord(ctx, of.store); err != nil {
		return sum, err
	}
	s.results(of.views, &sum)
	sum.Missing = s.missing(sum)
	sum.Complete = sum.Missing == ""
	sum.Seconds = time.Since(s.began).Seconds()
	s.tellSectors(ctx, of, sum)
	if !sum.Complete {
		return sum, fmt.Errorf("%w: %s", problem.ErrDemoIncomplete, sum.Missing)
	}
	return sum, nil
}

// results reads what became of each sector.
func (s *sectorShow) results(views *projections.Projector, sum *SectorSummary) {
	for _, p := range views.Sectors().Providers {
		for _, row := range p.Sectors {
			s.rows[row.SectorNumber] = row
		}
	}
	for role, n := range s.sectors {
		row, on := s.rows[n], s.contract.of(n)
		r := SectorResult{
			Sector: n, Role: roles[role], State: row.State, Over: row.Over, Size: row.Size, CommD: row.CommD,
			DaysProven: s.contract.daysProven(n), DeclaredFrom: on.declared, RecoveredOn: on.recovered,
			Deposit: row.Deposit, Returned: row.DepositReturned, Fees: on.fees.String(), Steps: row.Steps,
			Messages: map[string]int{
				"precommit": on.precommits, "commit": on.commits, "fault": len(on.declared),
				"recovery": len(on.promised), "termination": on.terminations,
			},
		}
		for _, p := range row.Pieces {
			r.Payload += p.Payload
		}
		for _, m := range on.missed {
			r.DaysMissed += m.days
		}
		sum.Proofs += len(r.DaysProven)
		sum.Sectors = append(sum.Sectors, r)
	}
}

// killsInRecord finds in the record which steps had begun and had no result when the host was killed. The next
// start continued them.
func (s *sectorShow) killsInRecord(ctx context.Context, store events.Store) ([]Kill, error) {
	type start struct {
		at   time.Time
		open []string
	}
	var starts []start
	states, codec := map[uint64]sector.Info{}, catalog.Codec()
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		if r.Stream != events.HostStream(s.account) {
			host, n, err := events.ParseSectorStream(r.Stream)
			if err != nil || host != s.account {
				continue
			}
			st, known := states[n]
			if !known {
				st = sector.New(sector.Policy{})
			}
			if e, err := codec.Decode(r); err == nil {
				states[n] = sector.Evolve(st, e.(sector.Event)) //nolint:forcetypeassert // In such a stream.
			}
			continue
		}
		if e, err := codec.Decode(r); err == nil {
			if began, is := e.(*messages.HostStarted); is {
				starts = append(starts, start{events.TimeFromMessage(began.GetAt()), openSteps(states)})
			}
		}
	}
	var kills []Kill
	for _, when := range s.killed {
		next := slices.IndexFunc(starts, func(s start) bool { return s.at.After(when) })
		if next < 0 {
			return nil, fmt.Errorf("%w: the host was killed, and no start of it is recorded", problem.ErrDemoIncomplete)
		}
		kills = append(kills, Kill{when, starts[next].open})
	}
	return kills, nil
}

// openSteps are the steps that have begun and have no result, without those that only wait.
func openSteps(states map[uint64]sector.Info) (open []string) {
	for n, st := range states {
		if st.Step.Key != "" && st.Until.IsZero() && !waits[st.Step.Name] {
			open = append(open, fmt.Sprintf("%s of sector %d", st.Step.Name, n))
		}
	}
	slices.Sort(open)
	return open
}

// waits are the steps in which nothing is done but waiting for the chain.
var waits = map[sector.Step]bool{
	sector.StepWaitSeed: true, sector.StepWaitCommit: true, sector.StepWaitFault: true,
	sector.StepWaitRecovery: true, sector.StepWaitTermination: true, sector.StepWaitFinality: true,
}

// missing says what did not happen that should; empty: everything did.
func (s *sectorShow) missing(sum SectorSummary) string {
	for role, r := range sum.Sectors {
		hasFault := role == damaged || role == faulty
		for _, want := range []struct {
			met  bool
			what string
		}{
			{r.Messages["precommit"] == 1 && r.Messages["commit"] == 1, "not one precommit and one proof of its seal"},
			{role == terminated || r.State == "Proving", "it is not proving"},
			{role == terminated || len(r.DaysProven) >= s.options.Days, "it was not proven on enough days"},
			{role != sound || r.DaysMissed == 0, "it was sound, and missed a proof"},
			{role != terminated || r.Over && r.Messages["termination"] == 1, "it was not terminated, or is not over"},
			{!hasFault || len(r.DeclaredFrom) > 0, "its fault was not declared"},
			{!hasFault || len(r.RecoveredOn) > 0, "it did not recover"},
			{role != damaged || sum.Damage.FoundOn > 0, "no challenge found its damage"},
		} {
			if !want.met {
				return fmt.Sprintf("sector %d (%s): %s", r.Sector, r.Role, want.what)
			}
		}
	}
	inStep := slices.ContainsFunc(sum.Kills, func(k Kill) bool { return len(k.In) > 0 })
	if s.Crash && s.options.KillAt == nil && !inStep {
		return "the host was not killed in a step"
	}
	return ""
}
