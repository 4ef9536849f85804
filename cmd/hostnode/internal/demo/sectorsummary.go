package demo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
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
	Totals
	// Complete: all of it happened.
	Complete bool   `json:"complete"`
	Missing  string `json:"missing,omitempty"` // what did not happen
	Proves   string `json:"proves"`            // what the proofs show
	Provider string `json:"provider"`
	// Days is how many days, which are proving periods, have begun.
	Days    uint64         `json:"days"`
	Sectors []SectorResult `json:"sectors"`
	// Proofs are those of possession, one for a sector and a day; Messages brought them to the contract.
	Proofs    int    `json:"proofs"`
	Messages  int    `json:"messages"`
	Damage    Damage `json:"damage"`
	Kills     []Kill `json:"kills"`
	Reward    string `json:"reward"`
	Withdrawn string `json:"withdrawn"` // rewards and returned deposits
	Owed      string `json:"owed"`      // the same, still with the contract
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
func (s *sectorDemo) summarize(ctx context.Context, of record) (_ SectorSummary, err error) {
	sum := SectorSummary{
		Totals: of.totals, Proves: "possession", Provider: s.account.String(), Days: s.today(), Damage: s.damage,
		Messages: s.contract.messages, Reward: s.contract.reward.String(), Withdrawn: s.contract.paid.String(),
	}
	owed, err := s.contract.owed(ctx)
	if err != nil {
		return sum, err
	}
	sum.Owed = owed.String()
	if sum.Kills, err = s.killsInRecord(ctx, of.store); err != nil {
		return sum, err
	}
	for _, p := range of.views.Sectors().Providers {
		for _, row := range p.Sectors {
			s.rows[row.SectorNumber] = row
		}
	}
	sum.Sectors = s.results()
	for _, r := range sum.Sectors {
		sum.Proofs += len(r.DaysProven)
	}
	sum.Missing = s.missing(sum)
	sum.Complete = sum.Missing == ""
	s.printLife(ctx, of.store, s.sectors[damaged])
	s.printDays(sum)
	s.printEvents(sum)
	s.printSteps(sum)
	s.printDeposits(sum, of)
	one := fmt.Sprint(s.sectors[damaged])
	s.printEnd(of, "hostnode sectors list", "hostnode sectors status "+one, "hostnode sectors timeline "+one)
	outcome := "all of it happened"
	if !sum.Complete {
		outcome = "NOT all of it happened: " + sum.Missing
		err = fmt.Errorf("%w: %s", problem.ErrDemoIncomplete, sum.Missing)
	}
	s.print("\n%d sectors, %d proofs of possession in %d messages on %d days of chain time, in %.0f s: %s.",
		len(sum.Sectors), sum.Proofs, sum.Messages, sum.Days, sum.Seconds, outcome)
	return sum, err
}

// results are what became of the sectors until now.
func (s *sectorDemo) results() (all []SectorResult) {
	for role, n := range s.sectors {
		row, on := s.rows[n], s.contract.of(n)
		r := SectorResult{
			Sector: n, Role: roles[role], State: row.State, Over: row.Over, Size: row.Size, CommD: row.CommD,
			DaysProven: on.proven, DaysMissed: uint64(len(on.missed)), DeclaredFrom: on.declared,
			RecoveredOn: on.recovered, Deposit: row.Deposit, Returned: row.DepositReturned, Fees: on.fees.String(),
			Steps: row.Steps, Messages: on.messages,
		}
		for _, p := range row.Pieces {
			r.Payload += p.Payload
		}
		all = append(all, r)
	}
	return all
}

// killsInRecord finds in the record which steps had begun and had no result when the host was killed. The next
// start continued them.
func (s *sectorDemo) killsInRecord(ctx context.Context, store events.Store) (kills []Kill, _ error) {
	codec := catalog.Codec()
	for _, k := range s.kills {
		then, err := projections.ViewsAt(ctx, store, s.scope(), func(r events.Recorded) bool {
			m, err := codec.Decode(r)
			start, is := m.(*messages.HostStarted)
			return err != nil || !is || !events.TimeFromMessage(start.GetAt()).After(k.at)
		})
		if err != nil {
			return nil, err
		}
		in := []string{}
		for _, p := range then.Sectors().Providers {
			for _, row := range p.Sectors {
				waits := strings.HasPrefix(row.Step, string(sector.StepWait)) // For the chain.
				if row.Step != "" && row.PausedUntil.IsZero() && !waits {
					in = append(in, fmt.Sprintf("%s of sector %d", row.Step, row.SectorNumber))
				}
			}
		}
		slices.Sort(in)
		kills = append(kills, Kill{k.at, in})
	}
	return kills, nil
}

// missing says what did not happen that should, by the record; empty: everything did.
func (s *sectorDemo) missing(sum SectorSummary) string {
	if what := s.toCome(sum.Sectors); what != "" {
		return what
	}
	inStep := slices.ContainsFunc(sum.Kills, func(k Kill) bool { return len(k.In) > 0 })
	if s.Crash && s.options.KillAt == nil && !inStep {
		return "the host was not killed in a step"
	}
	return ""
}

// toCome says what has not happened to the sectors yet; empty: everything has.
func (s *sectorDemo) toCome(sectors []SectorResult) string {
	for role, r := range sectors {
		hasFault := role == damaged || role == faulty
		for _, want := range []struct {
			met  bool
			what string
		}{
			{r.Messages["precommit"] == 1 && r.Messages["commit"] == 1, "not one precommit and one proof of its seal"},
			{role == terminated || r.State == "Proving", "it is not proving, but " + r.State},
			{role == terminated || len(r.DaysProven) >= s.options.Days, "it was not proven on enough days"},
			{role != sound || r.DaysMissed == 0, "it was sound, and missed a proof"},
			{role != terminated || r.Over && r.Messages["termination"] == 1, "it was not terminated, or is not over"},
			{!hasFault || len(r.DeclaredFrom) > 0, "its fault was not declared"},
			{!hasFault || len(r.RecoveredOn) > 0, "it did not recover"},
			{role != damaged || s.damage.FoundOn > 0, "no challenge found its damage"},
		} {
			if !want.met {
				return fmt.Sprintf("sector %d (%s): %s", r.Sector, r.Role, want.what)
			}
		}
	}
	return ""
}

// printLife prints what happened to a sector, without the steps that were scheduled.
func (s *sectorDemo) printLife(ctx context.Context, store events.Store, number uint64) {
	s.print("\n== The life of sector %d, read back from the event store; in this machine's time ==",
		number)
	line, err := projections.ReadSectorTimeline(ctx, store, s.account, number, projections.Page{Most: math.MaxInt}, nil)
	if err != nil {
		s.print("The timeline cannot be read: %v", err)
	}
	for _, m := range line.Moments {
		if m.Type != scheduled {
			s.print("%s\t%s\t%s\t%s", m.At.Local().Format(time.TimeOnly), m.State, m.Type, m.Sentence)
		}
	}
}

func (s *sectorDemo) printDays(sum SectorSummary) {
	s.print("\n== Proofs of possession, not of replication ==")
	for _, r := range sum.Sectors {
		s.print("sector %d\t%s\t%s\tproven on %s\tmissed %s", r.Sector, r.Role, r.State,
			numbered("day", r.DaysProven), numbered("day", s.contract.of(r.Sector).missed))
	}
	s.print("%d proofs of %d leaves each, in %d messages, one per partition and window.",
		sum.Proofs, s.contract.rules.Proving.Leaves, sum.Messages)
}

func (s *sectorDemo) printEvents(sum SectorSummary) {
	s.print("\n== What happened to them ==")
	d, leaves := sum.Damage, s.contract.rules.Proving.Leaves
	s.print("sector %d: %d of its %d bytes were damaged on day %d. A challenge of %d leaves finds that with a "+
		"probability of %.0f %%.", d.Sector, d.Bytes, d.Of, d.Day, leaves,
		100*(1-math.Pow(1-float64(d.Bytes)/float64(d.Of), float64(leaves))))
	if d.FoundOn > 0 {
		s.print("  The challenge of day %d found it: %s", d.FoundOn, d.Reason)
	}
	for _, r := range sum.Sectors {
		if len(r.DeclaredFrom) > 0 {
			s.print("sector %d: fault declared from %s, recovered on %s",
				r.Sector, numbered("day", r.DeclaredFrom), numbered("day", r.RecoveredOn))
		}
		if r.Role == roles[terminated] {
			s.print("sector %d: terminated; its files are gone, and its deposit is settled", r.Sector)
		}
	}
	for _, k := range sum.Kills {
		in := cmp.Or(strings.Join(k.In, ", "), "no step")
		s.print("host: SIGKILL at %s, in %s", k.At.Format(time.TimeOnly), in)
	}
	s.print("Each sector has one precommit and one proof of its seal on chain.")
}

func (s *sectorDemo) printSteps(sum SectorSummary) {
	s.print("\n== How long steps took, in milliseconds ==")
	shown := []string{
		"AddPiece", "Pack", "PreCommit1", "PreCommit2", "SendPreCommit", "Commit", "SendCommit", "Restore",
	}
	s.print("\t%s", strings.Join(shown, "\t"))
	for _, r := range sum.Sectors {
		took := make([]string, len(shown))
		for _, step := range r.Steps {
			if i := slices.Index(shown, step.Step); i >= 0 {
				took[i] = fmt.Sprintf("%.0f", step.Total*1000)
			}
		}
		s.print("sector %d\t%s", r.Sector, strings.Join(took, "\t"))
	}
}

func (s *sectorDemo) printDeposits(sum SectorSummary, of record) {
	s.print("\n== Money ==")
	stake := events.Amount{}
	for _, r := range sum.Sectors {
		stake = stake.Add(events.Must(events.ParseAmount(r.Deposit)))
		s.print("sector %d\tdeposit at stake %s\treturned %s\tfees %s", r.Sector, money.Base(r.Deposit),
			money.Base(r.Returned), money.Base(r.Fees))
	}
	s.print("Proofs earned %s. The host has withdrawn %s of rewards and returned deposits, and can still withdraw %s.",
		money.Base(sum.Reward), money.Base(sum.Withdrawn), money.Base(sum.Owed))
	s.print("The host held %s before and %s after: %s, and %s are its deposits, which come back when the sectors end.",
		base(s.before), base(of.after), difference(s.before, of.after), base(stake))
}
