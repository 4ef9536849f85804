package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/prover/sealer"
)

func (a *app) sectorsCommand() *cobra.Command {
	all := append(a.sectorOrders(), a.sectorsList(), a.sectorsStatus(), a.sectorsTimeline(), a.sectorsFaults())
	for _, cmd := range all {
		if strings.HasSuffix(cmd.Use, " N") {
			cli.Completing(a.App, cmd, func(ctx context.Context, b api.Backend) (api.Sectors, error) {
				return api.ListSectors.Ask(ctx, b, api.Then{})
			}, func(s api.Sectors) (numbers []string) {
				for _, one := range s.Provider.Sectors {
					numbers = append(numbers, fmt.Sprint(one.SectorNumber))
				}
				return numbers
			})
		}
	}
	return cli.Group(&cobra.Command{Use: "sectors", Short: "Show sectors, and seal pieces in them"}, all...)
}

func (a *app) sectorsList() *cobra.Command {
	var states []string
	cmd := &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List the sectors, those that lose their deposit first",
		Long:  "List the sectors: those that lose their deposit first, then the parked, then those that wait.",
	}
	cmd.Flags().StringSliceVar(&states, "state", nil,
		"show only those in these `states`, such as Faulty,PreCommitFailed")
	return cli.AsAt(a.App, cmd, func(ctx context.Context, b api.Backend, _ []string) (api.Sectors, error) {
		if err := knownStates(states); err != nil {
			return api.Sectors{}, err
		}
		all, err := api.ListSectors.Ask(ctx, b, api.Then{})
		if len(states) > 0 {
			all.Provider.Sectors = slices.DeleteFunc(all.Provider.Sectors, func(s projections.Sector) bool {
				return !slices.Contains(states, s.State)
			})
		}
		return all, err
	}, printSectors)
}

// knownStates refuses names of states that there are not.
func knownStates(states []string) error {
	for _, s := range states {
		if !sector.State(s).Known() || s == "" {
			err := fmt.Errorf("%w: --state %.40q: there are %v", cli.ErrUsage, s, sector.States()[1:])
			return cli.Nearest(err, s, "", func(yield func(string) bool) {
				for _, known := range sector.States()[1:] {
					if !yield(string(known)) {
						return
					}
				}
			})
		}
	}
	return nil
}

func printSectors(p *cli.Printer, s api.Sectors) error {
	if len(s.Sectors) == 0 {
		return p.None("no sectors yet", s.AsOf)
	}
	p.Line("%s; parked %d, paused %d", stateCounts(s.Counts), s.Parked, s.Paused)
	rows := [][]string{{"SECTOR", "STATE", "SINCE", "SIZE", "STEP", "SPACE", "DEPOSIT", "WAITS FOR"}}
	now := map[uint64]*api.SectorNow{}
	for _, one := range s.Now {
		now[one.SectorNumber] = &one
	}
	for _, one := range s.Provider.Sectors {
		rows = append(rows, []string{
			fmt.Sprint(one.SectorNumber), one.State, cli.Clock(one.Since), cli.Size(one.Size),
			cli.SectorStep(one, now[one.SectorNumber]),
			cli.Size(one.Space.Unsealed + one.Space.Sealed + one.Space.Tree + one.Space.Scratch),
			money.Base(one.Deposit), waitsNow(one, now[one.SectorNumber]),
		})
	}
	p.Rows(rows)
	if s.Forgotten > 0 {
		p.Line("%s not shown; `hostnode sectors timeline N` shows the history of each",
			cli.Count(s.Forgotten, "older finished sector"))
	}
	p.Line("`hostnode sectors status N` shows everything about a sector")
	types := map[string]int{}
	for _, one := range s.Provider.Sectors {
		if shows := proofsShow(cmp.Or(one.Proves, s.Proves)); shows != "" {
			types[shows]++
		}
	}
	for _, shows := range slices.Sorted(maps.Keys(types)) {
		p.Line("what the proofs of %d of them show: %s", types[shows], shows)
	}
	return p.End(s.AsOf)
}

// states says how many sectors are in each state, in the order in which a sector normally passes through them.
func states(by map[string]uint64) string {
	var counts []string
	for _, state := range sector.States() {
		if n := by[string(state)]; n > 0 {
			counts = append(counts, strings.TrimSpace(fmt.Sprintf("%d %s", n, state)))
		}
	}
	return strings.Join(counts, ", ")
}

// stateCounts says how many sectors are in each state.
func stateCounts(all []projections.StateCount) string {
	var counts []string
	for _, c := range all {
		counts = append(counts, fmt.Sprintf("%d %s", c.Sectors, c.State))
	}
	return strings.Join(counts, ", ")
}

// waitsNow says what a sector waits for; now may be nil.
func waitsNow(s projections.Sector, now *api.SectorNow) string {
	if now != nil && now.Quarantined != "" {
		return fmt.Sprintf("hostnode quarantine retry sector:%d: %s", s.SectorNumber, now.Quarantined)
	}
	if now != nil && now.LosesPerDay != "" {
		return fmt.Sprintf("%s; it loses %s a day", sectorWaits(s), money.Base(now.LosesPerDay))
	}
	return sectorWaits(s)
}

// sectorWaits says what a sector waits for.
func sectorWaits(s projections.Sector) string {
	switch {
	case s.Bleeds:
		return fmt.Sprintf("somebody (hostnode sectors terminate %d): the contract has it and nobody proves it, so "+
			"each window costs a part of its deposit", s.SectorNumber)
	case s.Parked != "":
		return fmt.Sprintf("somebody (%s): %s", orders(s), s.Parked)
	case !s.PausedUntil.IsZero():
		return fmt.Sprintf("%s: %s", cli.Clock(s.PausedUntil), s.LastErr)
	case !sector.State(s.State).Known():
		return fmt.Sprintf("a version that knows its state: this one does not know %q", s.State)
	case !s.Over && s.Step != "":
		return "the step"
	case sector.State(s.State) == sector.Empty, sector.State(s.State) == sector.WaitDeals:
		return fmt.Sprintf("further pieces since %s, or hostnode sectors seal %d (sectors.sealAfter seals by itself)",
			cli.Clock(s.StartedAt), s.SectorNumber)
	}
	return "nothing"
}

// orders are the commands for what may be done with a parked sector.
func orders(s projections.Sector) string {
	verbs := []string{}
	for _, action := range s.Actions {
		verb := map[string]string{
			"SectorRestart": "retry", "SectorForceState": "force",
			"SectorTerminate": "terminate", "SectorRemove": "remove",
		}[action]
		verbs = append(verbs, cmp.Or(verb, action))
	}
	return fmt.Sprintf("hostnode sectors %s %d", strings.Join(verbs, "|"), s.SectorNumber)
}

func (a *app) sectorsStatus() *cobra.Command {
	return cli.AsAt(a.App, &cobra.Command{
		Use: "status N", Short: "Show the state of a sector, and what can be done about it", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, b api.Backend, args []string) (api.Sector, error) {
		n, err := sectorNumber(args[0])
		if err != nil {
			return api.Sector{}, err
		}
		return api.ShowSector.Ask(ctx, b, api.OfSector{Number: n})
	}, printSector)
}

func sectorNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: %.40q is not a sector number; the first one is 1", cli.ErrUsage, text)
	}
	return n, nil
}

func printSector(p *cli.Printer, answer api.Sector) error {
	s := answer.Sector
	proves := cmp.Or(s.Proves, answer.Proves)
	p.Line("Sector %d of %s", s.SectorNumber, s.Host)
	p.Line("%s since %s; waits for %s.", s.State, cli.Clock(s.Since), waitsNow(s, answer.Now))
	p.Line("")
	rows := [][]string{
		{"size", cli.Size(s.Size)},
		{"pieces", fmt.Sprintf("%d, and %d to be added", len(s.Pieces), len(s.Pending))},
		{"space", fmt.Sprintf("%s unsealed, %s sealed, %s tree, %s scratch", cli.Size(s.Space.Unsealed),
			cli.Size(s.Space.Sealed), cli.Size(s.Space.Tree), cli.Size(s.Space.Scratch))},
		{"deposit", fmt.Sprintf("%s at stake, %s returned, %s lost", money.Base(s.Deposit),
			money.Base(s.DepositReturned), money.Base(s.DepositLost))},
	}
	p.Rows(append(rows, cli.Given([][]string{
		{"step", cli.SectorStep(s, answer.Now)},
		{"on the contract", cli.OnContract(answer.Chain)},
		{"last error", s.LastErr},
		{"forced by", s.ForcedBy},
		{"wanted by", s.Wanted},
		{"ticket", s.TicketValue},
		{"CommD", s.CommD},
		{"CommR", s.CommR},
		{"", aboutCommR(s.CommR, proves)},
		{"proofs show", proofsShow(proves)},
		{"seed", s.SeedValue},
		{"precommit", s.PreCommitMessage},
		{"commit", s.CommitMessage},
		{"fault report", s.FaultReportMsg},
		{"recovery", s.RecoveryMsg},
		{"termination", s.TerminateMsg},
	})...))
	if len(s.Steps) > 0 {
		p.Line("")
		steps := [][]string{{"STEP", "ATTEMPTS", "LAST TOOK", "IN ALL"}}
		for _, step := range s.Steps {
			steps = append(steps, []string{
				step.Step, fmt.Sprint(step.Attempts), seconds(step.Last), seconds(step.Total),
			})
		}
		p.Rows(steps)
	}
	return p.End(answer.AsOf)
}

// proofsShow says in words what proofs show; it is empty if no running host was asked.
func proofsShow(proves string) string {
	if proves == "" {
		return ""
	}
	return sealer.Describe(proves)
}

// aboutCommR says what a CommR commits to, which depends on the sealer.
func aboutCommR(commR, proves string) string {
	switch {
	case commR == "":
		return ""
	case proves == sealer.Possession:
		return "(of the stored data, under this sector's name; there is no replica)"
	}
	return "(what it commits to depends on the sealer: docs/sealers.md)"
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

func (a *app) sectorsTimeline() *cobra.Command {
	page := projections.Page{}
	cmd := &cobra.Command{
		Use: "timeline N", Short: "Show the history of a sector, in pages", Args: cobra.ExactArgs(1),
	}
	cmd.Flags().Uint64Var(&page.From, "from", 0, "begin with this revision")
	cmd.Flags().IntVar(&page.Most, "most", api.DefaultMoments, "show at most this many events")
	return cli.AsAt(a.App, cmd, func(ctx context.Context, b api.Backend, args []string) (api.SectorTimeline, error) {
		n, err := sectorNumber(args[0])
		if err != nil {
			return api.SectorTimeline{}, err
		}
		return api.ShowTimeline.Ask(ctx, b, api.TimelineQuestion{Number: n, From: page.From, Most: page.Most})
	}, printSectorTimeline)
}

func printSectorTimeline(p *cli.Printer, t api.SectorTimeline) error {
	rows := [][]string{{"REVISION", "AT", "EVENT", "STATE AFTER", "WHAT IT SAYS"}}
	for _, m := range t.Page.Moments {
		rows = append(rows, []string{fmt.Sprint(m.Revision), cli.Clock(m.At), m.Type, m.State, m.Sentence})
	}
	p.Rows(rows)
	if t.Page.Next > 0 {
		p.Line("more: hostnode sectors timeline %d --from %d", t.Page.SectorNumber, t.Page.Next)
	}
	return p.End(t.AsOf)
}
