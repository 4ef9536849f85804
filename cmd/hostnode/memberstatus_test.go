package main

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events"
)

func TestTheStatusOfAMemberSaysWhoHasTheTerm(t *testing.T) {
	s := api.Status{
		AsOf: api.AsOf{Position: 1}, Standing: api.Standing{Selling: true, Reason: "all is well"},
		Member: "north", Owner: "south",
		OwnerSince: events.Unix(1_750_000_000),
		Warnings:   []api.Obstacle{{Reason: "only member south may take the term", Hint: "give another member the key"}},
	}
	for owner, want := range map[events.Member]string{
		"south": "south has the term since 2025-06-15 15:06:40Z", "north": "it has the term since 2025-06-15 15:06:40Z",
	} {
		s.Owner = owner
		p := &cli.Printer{}
		if err := printStatus(p, s); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"member", want, "warning: only member south may take the term\n  give another"} {
			if !strings.Contains(p.Text(), line) {
				t.Errorf("%q is not in\n%s", line, p.Text())
			}
		}
	}
}

func TestTheListOfMembersSaysWhatEachHasToDo(t *testing.T) {
	m := api.Members{Cluster: true, Members: []api.Member{
		{Name: "north", State: api.MemberRunning, Sales: 3, Work: &api.MemberWork{
			Head: 90, Behind: 2, ProofsDue: 1, ProverBusy: 12, ProverMost: 60,
		}},
		{Name: "south", State: api.MemberSilent, Sales: 4},
	}}
	p := &cli.Printer{}
	if err := printMembers(p, m); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"SALES PROOFS DUE PROVER BUSY BLOCKS BEHIND OWNER SINCE", " 3 1 12 % of 60 % 2 -", " 4 - - - -",
	} {
		if !strings.Contains(strings.Join(strings.Fields(p.Text()), " "), line) {
			t.Errorf("%q is not in\n%s", line, p.Text())
		}
	}
}
