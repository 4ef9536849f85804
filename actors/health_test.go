package actors_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

var then = events.Unix(1_750_000_000) // 2025-06-15 15:06:40Z

// inGoodOrder are the facts of a host that hosts a slot, has something to sell, and lacks nothing.
func inGoodOrder() actors.Facts {
	return actors.Facts{
		Stage: actors.Running, StageSince: then, Account: "0xabc", DataDir: "/data", Endpoint: "ws://node", Hosting: 1,
		Supply: actors.Supply{
			Now: then, Quota: 10, Allocated: 10, AtRisk: events.NewAmount(1),
			Offers: []actors.Offered{{Enabled: true, Until: then.Add(1), Free: 1, Remaining: events.NewAmount(1)}},
		},
		Funds: actors.Funds{
			Known: true, MinWei: events.NewAmount(10), Days: 2, Proofs: 4, Unpaid: events.NewAmount(2),
			Balance: events.Balance{
				Tokens: events.NewAmount(3), Wei: events.NewAmount(20), ProofWei: events.NewAmount(5),
			},
		},
		Prover: actors.ProverFacts{Busy: 59, Most: 60},
	}
}

// cell says what a cause makes of each word, and what its sentence and hint have.
type cell struct {
	code             string
	so               func(*actors.Facts)
	selling, proving actors.Answer
	alert            actors.AlertKind
	reason, hint     string
}

var cells = []cell{
	{
		"not-running", func(f *actors.Facts) { f.Stage = actors.NotRunning },
		actors.No, actors.No, "", "no host is running in /data", "hostnode run --data-dir /data",
	},
	{
		"never-run", func(f *actors.Facts) { f.Stage = actors.NeverRun },
		actors.No, actors.Yes, "", "no host has ever run in /data", "hostnode run --data-dir /data",
	},
	{
		"not-answering", func(f *actors.Facts) { f.Stage, f.Process = actors.Silent, 77 },
		actors.NotKnown, actors.NotKnown, "", "process 77 has /data since 2025-06-15 15:06:40Z and does not answer", "kill -CONT 77",
	},
	{
		"starting", func(f *actors.Facts) { f.Stage, f.WaitsFor = actors.Starting, "keys are made" },
		actors.No, actors.No, "", "starting since 2025-06-15 15:06:40Z: keys are made", "log",
	},
	{
		"starting", func(f *actors.Facts) { f.Stage = actors.Starting },
		actors.No, actors.No, "", "starting since 2025-06-15 15:06:40Z", "wait",
	},
	{
		"stopping", func(f *actors.Facts) { f.Stage = actors.Stopping },
		actors.No, actors.No, "", "stopping since 2025-06-15 15:06:40Z", "hostnode run",
	},
	{
		"chain-away", func(f *actors.Facts) {
			f.Chain = actors.ChainFacts{Away: true, AwaySince: then, AwayReason: "refused", SilentSince: then}
		},
		actors.No, actors.No, actors.AlertChain, "does not answer since 2025-06-15 15:06:40Z: refused", "node",
	},
	{
		"chain-silent", func(f *actors.Facts) {
			f.Chain.SilentSince, f.Chain.Head = then, events.Head{Number: 7, Time: then}
		},
		actors.No, actors.No, actors.AlertChain, "no block has come since 2025-06-15 15:06:40Z; the newest is 7", "ws://node",
	},
	{
		"record-away", func(f *actors.Facts) { f.Record = shell.RecordStatus{Away: true, Since: then, Reason: "refused"} },
		actors.No, actors.Yes, actors.AlertRecord, "event store does not answer since 2025-06-15 15:06:40Z: refused", "Let the host run",
	},
	{
		"fee-limit", func(f *actors.Facts) { f.Chain.FeeLimit = "no transaction goes through" },
		actors.No, actors.No, actors.AlertFeeLimit, "no transaction goes through", "fees.maxFeeGwei",
	},
	{
		"no-gas", func(f *actors.Facts) { f.Funds.Balance.Wei = events.Amount{} },
		actors.No, actors.No, actors.AlertFunds, "nothing to pay for gas", "0xabc",
	},
	{
		"no-gas", func(f *actors.Facts) { f.Funds.Balance.Wei = events.NewAmount(4) },
		actors.No, actors.No, actors.AlertFunds, "holds 4 wei for gas, and a proof costs 5", "0xabc",
	},
	{
		"sale-quarantined", func(f *actors.Facts) {
			f.Quarantined = []actors.SlotTrouble{{events.SlotID{5}, "its record makes no sense"}, {events.SlotID{6}, "x"}}
		},
		actors.Yes, actors.No, actors.AlertQuarantined, "its record makes no sense, slot 0x0500", "hostnode sale 0x0500",
	},
	{
		"proofs-fail", func(f *actors.Facts) { f.ProofTrouble = []actors.SlotTrouble{{events.SlotID{5}, "refused"}} },
		actors.Yes, actors.No, "", "does not get through: refused, slot 0x0500", "hostnode sale 0x0500",
	},
	{
		"scheduler-down", func(f *actors.Facts) {
			f.Down = []actors.PartStatus{{Name: actors.PartScheduler, Since: then, Reason: "it panics"}}
		},
		actors.No, actors.No, actors.AlertPartDown, "is down since 2025-06-15 15:06:40Z: it panics", "hostnode audit",
	},
	{
		"part-down", func(f *actors.Facts) {
			f.Down = []actors.PartStatus{{Name: "SlotQueue", Since: then, Reason: "it panics"}}
		},
		actors.No, actors.Yes, actors.AlertPartDown, "SlotQueue is down since 2025-06-15 15:06:40Z: it panics", "hostnode audit",
	},
	{
		"disk-full", func(f *actors.Facts) { f.Disk = actors.DiskStatus{Full: true, Since: then, Reason: "no space left"} },
		actors.No, actors.Yes, actors.AlertDisk, "full since 2025-06-15 15:06:40Z, and no new slot is taken: no space left", "/data",
	},
	{
		"chain-behind", func(f *actors.Facts) { f.Chain.Behind = true },
		actors.No, actors.Yes, "", "reading what the chain said", "wait",
	},
	{
		"views-stopped", func(f *actors.Facts) { f.Views, f.Supply = "the disk", actors.Supply{Unknown: true} },
		actors.NotKnown, actors.Yes, actors.AlertViews, "not known: the views stopped following the record: the disk", "start it again",
	},
	{
		"paused", func(f *actors.Facts) { f.Supply.Paused, f.Supply.PausedFor = true, "a walk" },
		actors.No, actors.Yes, "", "paused until resumed: a walk", "drain --resume",
	},
	{
		"quota-too-small", func(f *actors.Facts) { f.Supply.Allocated = 2048 },
		actors.No, actors.Yes, actors.AlertQuota, "the quota is 10 B, availabilities and sales have 2 KiB", "`quota`",
	},
	{
		"nothing-offered", func(f *actors.Facts) { f.Supply.Offers = nil },
		actors.No, actors.Yes, "", "nothing is on offer", "availability add",
	},
	{
		"offers-disabled", func(f *actors.Facts) { f.Supply.Offers[0].Enabled = false },
		actors.No, actors.Yes, "", "all of 1 availabilities are disabled", "availability enable",
	},
	{
		"offers-over", func(f *actors.Facts) { f.Supply.Now = f.Supply.Offers[0].Until },
		actors.No, actors.Yes, "", "is over since 2025-06-15 15:06:40Z: 1 of 1", "--until",
	},
	{
		"offers-sold", func(f *actors.Facts) { f.Supply.Offers[0].Free = 0 },
		actors.No, actors.Yes, "", "everything on offer is sold", "--size",
	},
	{
		"collateral-committed", func(f *actors.Facts) { f.Supply.Offers[0].Remaining = events.Amount{} },
		actors.No, actors.Yes, "", "committed or lost", "--collateral",
	},
	{
		"collateral-at-risk", func(f *actors.Facts) { f.Supply.MaxAtRisk = &f.Supply.AtRisk },
		actors.No, actors.Yes, "", "have 1 of collateral, at most 1 may be at risk", "sales.maxCollateralAtRisk",
	},
	{
		"gas-low", func(f *actors.Facts) { f.Funds.Balance.Wei = events.NewAmount(9) },
		actors.No, actors.Yes, actors.AlertFunds, "holds 9 wei for gas, at least 10 are needed", "0xabc",
	},
	{
		"gas-low", func(f *actors.Facts) { f.Funds.Balance.Wei = events.NewAmount(19) },
		actors.No, actors.Yes, actors.AlertFunds, "the 4 proofs of the next 2 days need 20", "0xabc",
	},
	{
		"no-tokens", func(f *actors.Facts) { f.Funds.Balance.Tokens = events.Amount{} },
		actors.No, actors.Yes, "", "no tokens for collateral", "0xabc",
	},
	{
		"no-tokens", func(f *actors.Facts) { f.Funds.Unpaid = f.Funds.Balance.Tokens },
		actors.No, actors.Yes, "", "holds 3 tokens, and sales in work need 3", "0xabc",
	},
	{
		"proof-capacity", func(f *actors.Facts) { f.Prover.Busy = 60 },
		actors.No, actors.Yes, "", "busy 60 % of the time, the limit is 60 %", "sales.proofLoad",
	},
	{
		"periods-too-short", func(f *actors.Facts) { f.Chain.NoRoom = "a proof period is 72s" },
		actors.No, actors.Yes, "", "filled or proven in time: a proof period is 72s", "chain.blockTime",
	},
}

func TestEveryCauseHasItsWords(t *testing.T) {
	if w := actors.Judge(inGoodOrder()); w.Selling != actors.Yes || w.Proving != actors.Yes || len(w.Causes) != 0 {
		t.Fatalf("all is well: %+v", w)
	}
	for i, c := range cells {
		t.Run(fmt.Sprintf("%d %s", i, c.code), func(t *testing.T) {
			f := inGoodOrder()
			c.so(&f)
			w := actors.Judge(f)
			if len(w.Causes) != 1 || w.Causes[0].Code != c.code {
				t.Fatalf("causes: %+v", w.Causes)
			}
			got := w.Causes[0]
			if w.Selling != c.selling || w.Proving != c.proving || got.Selling != c.selling || got.Proving != c.proving {
				t.Errorf("selling %s, proving %s; want %s, %s", w.Selling, w.Proving, c.selling, c.proving)
			}
			if got.Alert != c.alert || !strings.Contains(got.Reason, c.reason) || !strings.Contains(got.Hint, c.hint) {
				t.Errorf("%+v", got)
			}
			f.Hosting = 0 // Then nothing is owed, unless nobody knows.
			if w := actors.Judge(f); w.Proving != actors.Yes && c.code != "sale-quarantined" {
				t.Errorf("without slots: %+v", w)
			}
		})
	}
	for _, code := range actors.CauseCodes() {
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.code == code }) {
			t.Errorf("%s has no cells: what does the status say because of it?", code)
		}
	}
}

// TestAnyTwoCausesAreBothTold: the worse word counts, and the first reason is that of
// what has to be put right first.
func TestAnyTwoCausesAreBothTold(t *testing.T) {
	for _, a := range cells {
		for _, b := range cells {
			f := inGoodOrder()
			a.so(&f)
			if len(f.Supply.Offers) == 0 { // Nothing can be wrong with one.
				continue
			}
			b.so(&f)
			w := actors.Judge(f)
			if len(w.Causes) == 0 {
				t.Fatalf("%s and %s: none", a.code, b.code)
			}
			for _, c := range w.Causes {
				if c.Selling == actors.No && w.Selling != actors.No || c.Proving == actors.No && w.Proving != actors.No {
					t.Errorf("%s and %s: %+v", a.code, b.code, w)
				}
				if c.Reason == "" || c.Hint == "" {
					t.Errorf("%s says too little: %+v", c.Code, c)
				}
			}
			codes := actors.CauseCodes()
			if !slices.IsSortedFunc(w.Causes, func(x, y actors.Cause) int {
				return slices.Index(codes, x.Code) - slices.Index(codes, y.Code)
			}) {
				t.Errorf("%s and %s are out of order: %+v", a.code, b.code, w.Causes)
			}
		}
	}
}

func TestAnEndOfSomeOffersLeavesTheOthers(t *testing.T) {
	f := inGoodOrder()
	f.Supply.Offers = append(f.Supply.Offers, actors.Offered{
		Enabled: true, Until: then.Add(-time.Hour), Free: 5, Remaining: events.NewAmount(1),
	})
	if w := actors.Judge(f); w.Selling != actors.Yes || len(f.Supply.OnSale()) != 1 || f.Supply.FreeOnSale() != 1 {
		t.Fatalf("%+v", w)
	}
}

func TestThePageOfAlertsHasAllThatASaleOrACauseTells(t *testing.T) {
	page, err := os.ReadFile("../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if c.alert != "" && !strings.Contains(string(page), fmt.Sprintf("\n| `%s` |", c.alert)) {
			t.Errorf("docs/alerts.md has no row for %s", c.alert)
		}
	}
}
