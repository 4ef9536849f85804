package demo

import (
	"context"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// tellSectors prints the summary for a person.
func (s *sectorShow) tellSectors(ctx context.Context, of record, sum SectorSummary) {
	p := func(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }
	p("\n== The life of sector %d, read back from the event store; in this machine's time and base units ==",
		s.sectors[damaged])
	s.tellLife(ctx, of.store, s.sectors[damaged])
	p("\n== Proofs of possession, not of replication ==")
	s.tellDays(sum)
	p("\n== What happened to them ==")
	s.tellFates(sum)
	p("\n== How long steps took, in milliseconds ==")
	s.tellSteps(sum)
	p("\n== Money, in tokens ==")
	s.tellDeposits(sum)
	one := fmt.Sprint(s.sectors[damaged])
	s.tellRest(of, "hostnode sectors list", "hostnode sectors status "+one, "hostnode sectors timeline "+one)
	outcome := "all of it happened"
	if !sum.Complete {
		outcome = "NOT all of it happened: " + sum.Missing
	}
	p("\n%d sectors, %d proofs of possession in %d messages on %d days of chain time, in %.0f s: %s.",
		len(sum.Sectors), sum.Proofs, sum.Messages, sum.Days, sum.Seconds, outcome)
}

// tellLife prints what happened to a sector, without the steps that were scheduled.
func (s *sectorShow) tellLife(ctx context.Context, store events.Store, number uint64) {
	line, err := projections.ReadSectorTimeline(ctx, store, s.account, number,
		projections.Page{Most: math.MaxInt}, nil)
	if err != nil {
		fmt.Fprintln(s.Out, "the timeline cannot be read:", err)
		return
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, m := range line.Moments {
		if m.Type != scheduled {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.At.Local().Format("15:04:05"), m.State, m.Type, m.Sentence)
		}
	}
	_ = w.Flush()
}

// scheduled is the event that says that a step begins.
const scheduled = "SectorStepScheduled"

func (s *sectorShow) tellDays(sum SectorSummary) {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, r := range sum.Sectors {
		fmt.Fprintf(w, "sector %d\t%s\t%s\tproven on %s\tmissed %s\n", r.Sector, r.Role, r.State,
			numbered("day", r.DaysProven), numbered("day", s.missedDays(r.Sector)))
	}
	_ = w.Flush()
	leaves := s.contract.rules.Proving.Leaves
	fmt.Fprintf(s.Out, "%d proofs of %d leaves each, in %d messages, one per partition and window.\n",
		sum.Proofs, leaves, sum.Messages)
}

func (s *sectorShow) missedDays(number uint64) (all []uint64) {
	for _, m := range s.contract.of(number).missed {
		for i := range m.days {
			all = append(all, m.day+i)
		}
	}
	return all
}

func (s *sectorShow) tellFates(sum SectorSummary) {
	p := func(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }
	d := sum.Damage
	if d.Sector > 0 {
		p("sector %d: %d of its %d bytes were damaged on day %d. A challenge of %d leaves finds that with a "+
			"probability of %.0f %%.",
			d.Sector, d.Bytes, d.Of, d.Day, s.contract.rules.Proving.Leaves,
			100*(1-math.Pow(1-float64(d.Bytes)/float64(d.Of), float64(s.contract.rules.Proving.Leaves))))
	}
	if d.FoundOn > 0 {
		p("  The challenge of day %d found it: %s", d.FoundOn, d.Reason)
	}
	for _, r := range sum.Sectors {
		if len(r.DeclaredFrom) > 0 {
			p("sector %d: fault declared from %s, recovered on %s",
				r.Sector, numbered("day", r.DeclaredFrom), numbered("day", r.RecoveredOn))
		}
		if r.Role == roles[terminated] {
			p("sector %d: terminated; its files are gone, and its deposit is settled", r.Sector)
		}
	}
	for _, k := range sum.Kills {
		in := "in no step"
		if len(k.In) > 0 {
			in = "in " + strings.Join(k.In, ", ")
		}
		p("host: SIGKILL at %s, %s", k.At.Format(time.TimeOnly), in)
	}
	p("Each sector has one precommit and one proof of its seal on chain.")
}

func (s *sectorShow) tellSteps(sum SectorSummary) {
	shown := []string{
		"AddPiece", "Pack", "PreCommit1", "PreCommit2", "SendPreCommit", "Commit", "SendCommit", "Restore",
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t%s\t\n", strings.Join(shown, "\t"))
	for _, r := range sum.Sectors {
		fmt.Fprintf(w, "sector %d\t", r.Sector)
		for _, name := range shown {
			cell := ""
			for _, step := range r.Steps {
				if step.Step == name {
					cell = fmt.Sprintf("%.0f", step.Total*1000)
				}
			}
			fmt.Fprintf(w, "%s\t", cell)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
}

func (s *sectorShow) tellDeposits(sum SectorSummary) {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, r := range sum.Sectors {
		fmt.Fprintf(w, "sector %d\tdeposit at stake %s\treturned %s\tfees %s\n", r.Sector, amount(r.Deposit),
			amount(r.Returned), amount(r.Fees))
	}
	_ = w.Flush()
	after := events.Must(events.ParseAmount(sum.HostBalanceAfter))
	fmt.Fprintf(s.Out, "Proofs earned %s. The host has withdrawn %s of rewards and returned deposits, and can "+
		"still withdraw %s.\n",
		amount(sum.Reward), amount(sum.Withdrawn), amount(sum.Owed))
	stake := events.Amount{}
	for _, r := range sum.Sectors {
		stake = stake.Add(events.Must(events.ParseAmount(r.Deposit)))
	}
	fmt.Fprintf(s.Out, "The host held %s before and %s after: %s, and %s are its deposits, which come back when the "+
		"sectors end.\n", tokens(s.before), tokens(after), signed(s.before, after), tokens(stake))
}
