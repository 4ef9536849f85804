package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

func (a *app) membersCommand() *cobra.Command {
	return asAt(a, &cobra.Command{
		Use: "members", Short: "List the processes that together are the host", Args: cobra.NoArgs,
		Long: "List the processes that together are the host: where they run, when they were last heard, how their\n" +
			"space is used, how many sales they have, and which of them is the owner, which runs the queue, the\n" +
			"transactions and the validator. A host that is one process is one line.",
	}, func(ctx context.Context, p api.Past, _ []string) (api.Members, error) { return p.Members(ctx) }, printMembers)
}

func printMembers(p *paper, m api.Members) error {
	if len(m.Members) == 0 {
		return p.none("no process has started yet", m.AsOf)
	}
	var sectors events.Bytes
	for _, one := range m.Members {
		sectors += one.Space.Sectors + one.Space.Pieces
	}
	rows := [][]string{{
		"MEMBER", "NODE", "VERSION", "STATE", "SINCE", "LAST HEARD",
		"QUOTA", "UNALLOCATED", "FREE", "RESERVED", "STORED", "OVERHEAD", "SECTORS", "SALES", "OWNER SINCE",
	}}
	for _, one := range m.Members {
		s := one.Space
		rows = append(rows, []string{
			one.Name, one.Node, one.Version, one.State, clock(one.Since), clock(one.HeardAt),
			size(s.Quota), size(s.Unallocated), size(s.Free), size(s.Reserved), size(s.Stored), size(s.Overhead),
			size(s.Sectors + s.Pieces), fmt.Sprint(one.Sales), clock(one.OwnerSince),
		})
	}
	for i, row := range rows {
		if sectors == 0 {
			row = append(row[:12:12], row[13:]...)
		}
		if !m.Cluster {
			row = row[1 : len(row)-1]
		}
		rows[i] = row
	}
	p.rows(rows)
	if m.Cluster {
		p.line("%s", ownerLine(m.Term))
	}
	p.asOf(m.AsOf)
	return nil
}

func ownerLine(t *api.Term) string {
	const meanwhile = "; until a member takes it, no slot is taken and no transaction begins"
	switch {
	case t == nil:
		return "no member has ever had the term" + meanwhile
	case !t.Ended.IsZero():
		return fmt.Sprintf("term %d of %s ended at %s%s", t.Number, t.Member, clock(t.Ended), meanwhile)
	}
	return fmt.Sprintf("term %d: %s runs the queue, the transactions and the validator", t.Number, t.Member)
}
