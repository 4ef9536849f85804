package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

func (a *app) membersCommand() *cobra.Command {
	return cli.AsAt(a.App, &cobra.Command{
		Use: "members", Short: "List the processes that together are the host", Args: cobra.NoArgs,
		Long: "List the processes that together are the host: where they run, when they were last heard, how their\n" +
			"space is used, how many sales they have, and which of them is the owner, which runs the queue, the\n" +
			"transactions and the validator. Members that answer also say how many proofs of this period are still\n" +
			"due, how busy proofs keep their prover, of how much, and how many blocks they are behind the one that\n" +
			"has seen the most. A host that is one process is one line.",
	}, cli.Plain(api.ListMembers), printMembers)
}

func printMembers(p *cli.Printer, m api.Members) error {
	if len(m.Members) == 0 {
		return p.None("no process has started yet", m.AsOf)
	}
	sectors := slices.ContainsFunc(m.Members, func(one api.Member) bool {
		return one.Space.Sectors+one.Space.Pieces > 0
	})
	asked := slices.ContainsFunc(m.Members, func(one api.Member) bool { return one.Work != nil })
	rows := [][]string{{
		"MEMBER", "NODE", "VERSION", "STATE", "SINCE", "LAST HEARD", "QUOTA", "UNALLOCATED", "FREE", "RESERVED",
		"STORED", "OVERHEAD", "SECTORS", "SALES", "PROOFS DUE", "PROVER BUSY", "BLOCKS BEHIND", "OWNER SINCE",
	}}
	for _, one := range m.Members {
		s := one.Space
		rows = append(rows, slices.Concat([]string{
			one.Name, one.Node, one.Version, one.State, cli.Clock(one.Since), cli.Clock(one.HeardAt), cli.Size(s.Quota),
			cli.Size(s.Unallocated), cli.Size(s.Free), cli.Size(s.Reserved), cli.Size(s.Stored), cli.Size(s.Overhead),
			cli.Size(s.Sectors + s.Pieces), fmt.Sprint(one.Sales),
		}, workOf(one.Work), []string{cli.Clock(one.OwnerSince)}))
	}
	p.Rows(cli.Without(rows, map[string]bool{
		"MEMBER": !m.Cluster, "OWNER SINCE": !m.Cluster, "SECTORS": !sectors,
		"PROOFS DUE": !asked, "PROVER BUSY": !asked, "BLOCKS BEHIND": !asked,
	}))
	if m.Cluster {
		p.Line("%s", ownerLine(m.Term))
	}
	return p.End(m.AsOf)
}

// workOf is what a member says that it has to do; one that did not answer has said nothing.
func workOf(w *api.MemberWork) []string {
	if w == nil {
		return []string{"-", "-", "-"}
	}
	return []string{
		fmt.Sprint(w.ProofsDue), fmt.Sprintf("%d %% of %d %%", w.ProverBusy, w.ProverMost), fmt.Sprint(w.Behind),
	}
}

func ownerLine(t *api.Term) string {
	const meanwhile = "; until a member takes it, no slot is taken and no transaction begins"
	switch {
	case t == nil:
		return "no member has ever had the term" + meanwhile
	case !t.Ended.IsZero():
		return fmt.Sprintf("term %d of %s ended at %s%s", t.Number, t.Member, cli.Clock(t.Ended), meanwhile)
	}
	return fmt.Sprintf("term %d: %s runs the queue, the transactions and the validator", t.Number, t.Member)
}
