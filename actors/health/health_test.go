package health_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

var then = events.Unix(1_750_000_000) // 2025-06-15 15:06:40Z

// inGoodOrder are the facts of a host that hosts a slot, has something to sell, and lacks nothing.
func inGoodOrder() health.Facts {
	return health.Facts{
		Stage: health.Running, StageSince: then, Account: "0xabc", DataDir: "/data", Endpoint: "ws://node", Hosting: 1,
		Supply: health.Supply{
			Now: then, Quota: 1012, Allocated: 1000, Unallocated: 13, Overhead: 12, AtRisk: events.NewAmount(1),
			Offers: []health.Offered{{
				Enabled: true, Until: then.Add(1), Free: events.BlockSize, Remaining: events.NewAmount(65_536),
			}},
		},
		Funds: health.Funds{
			Known: true, MinWei: events.NewAmount(10), Days: 2, Proofs: 4, Unpaid: events.NewAmount(2),
			Balance: events.Balance{
				Tokens: events.NewAmount(65_538), Wei: events.NewAmount(20), ProofWei: events.NewAmount(5),
			},
		},
		Prover: health.ProverFacts{Busy: 59, Most: 60},
	}
}

// cell says how a cause affects each answer, and what its sentence and hint contain.
type cell struct {
	code             string
	so               func(*health.Facts)
	selling, proving health.Answer
	alert            health.AlertKind
	reason, hint     string
}

var cells = []cell{
	{
		"not-running", func(f *health.Facts) { f.Stage = health.NotRunning },
		health.No, health.No, "", "no host is running in /data", "hostnode run --data-dir /data",
	},
	{
		"not-running", func(f *health.Facts) {
			f.Stage, f.Typed = health.NotRunning, health.Typed{After: " --config f", Start: "systemctl start hostnode"}
		},
		health.No, health.No, "", "no host is running in /data", "start it: systemctl start hostnode",
	},
	{
		"never-run", func(f *health.Facts) { f.Stage = health.NeverRun },
		health.No, health.Yes, "", "no host has ever run in /data", "hostnode run --data-dir /data",
	},
	{
		"not-answering", func(f *health.Facts) { f.Stage, f.Process = health.Silent, 77 },
		health.NotKnown, health.NotKnown, "", "process 77 has /data since 2025-06-15 15:06:40Z and does not answer", "kill -CONT 77",
	},
	{
		"not-answering", func(f *health.Facts) { f.Stage, f.Process, f.Listens = health.Silent, 77, true },
		health.NotKnown, health.NotKnown, "", "process 77 has /data since 2025-06-15 15:06:40Z and is slow to answer",
		"overloaded: ask again. When it stays so, the process may be stopped (SIGSTOP, a debugger): kill -CONT 77",
	},
	{
		"starting", func(f *health.Facts) { f.Stage, f.WaitsFor = health.Starting, "keys are made" },
		health.No, health.No, "", "starting since 2025-06-15 15:06:40Z: keys are made", "log",
	},
	{
		"starting", func(f *health.Facts) { f.Stage = health.Starting },
		health.No, health.No, "", "starting since 2025-06-15 15:06:40Z", "wait",
	},
	{
		"stopping", func(f *health.Facts) { f.Stage = health.Stopping },
		health.No, health.No, "", "stopping since 2025-06-15 15:06:40Z", "hostnode run",
	},
	{
		"chain-away", func(f *health.Facts) {
			f.Chain = health.ChainFacts{Away: true, AwaySince: then, AwayReason: "refused", SilentSince: then}
		},
		health.No, health.No, health.AlertChain, "does not answer since 2025-06-15 15:06:40Z: refused", "node",
	},
	{
		"chain-away", func(f *health.Facts) {
			f.Chain = health.ChainFacts{Away: true, Limited: true, AwaySince: then, AwayReason: "429"}
		},
		health.No, health.No, health.AlertChain, "limits our requests since 2025-06-15 15:06:40Z: 429", "chain.fallbacks",
	},
	{
		"chain-silent", func(f *health.Facts) {
			f.Chain.SilentSince, f.Chain.Head = then, events.Head{Number: 7, Time: then}
		},
		health.No, health.No, health.AlertChain, "no block has come since 2025-06-15 15:06:40Z; the newest is 7", "ws://node",
	},
	{
		"record-away", func(f *health.Facts) { f.Record = shell.StoreStatus{Away: true, Since: then, Reason: "refused"} },
		health.No, health.Yes, health.AlertRecord, "event store does not answer since 2025-06-15 15:06:40Z: refused", "Let the host run",
	},
	{
		"no-owner", func(f *health.Facts) { f.Members.Member = "north" },
		health.No, health.No, health.AlertNoOwner, "no member has ever had the term", "account.transactions = true",
	},
	{
		"no-owner", func(f *health.Facts) { f.Members.Member, f.Members.TermSince = "north", then },
		health.No, health.No, health.AlertNoOwner, "no member has the term since 2025-06-15 15:06:40Z: no slot is taken", "hostnode members",
	},
	{
		"owner-silent", func(f *health.Facts) {
			f.Members = health.MembersFacts{
				Member: "north", Owner: "south", TermSince: then, Silent: []health.SilentMember{{Member: "south"}},
			}
		},
		health.NotKnown, health.NotKnown, health.AlertNoOwner,
		"member south has the term since 2025-06-15 15:06:40Z and does not seem to be alive", "hostnode members",
	},
	{
		"not-signing", func(f *health.Facts) { f.Chain.Signer = "the signer does not answer, since noon" },
		health.No, health.No, health.AlertSigner, "the signer does not answer, since noon", "have the account 0xabc",
	},
	{
		"fee-limit", func(f *health.Facts) { f.Chain.FeeLimit = "no transaction goes through" },
		health.No, health.No, health.AlertFeeLimit, "no transaction goes through", "fees.maxFeeGwei",
	},
	{
		"no-gas", func(f *health.Facts) { f.Funds.Balance.Wei = events.Amount{} },
		health.No, health.No, health.AlertFunds, "nothing to pay for gas", "0xabc",
	},
	{
		"no-gas", func(f *health.Facts) { f.Funds.Balance.Wei = events.NewAmount(4) },
		health.No, health.No, health.AlertFunds, "holds 4 wei for gas, and a proof costs 5 wei", "0xabc",
	},
	{
		"sale-quarantined", func(f *health.Facts) {
			f.Quarantined = []health.SlotTrouble{{events.SlotID{5}, "its record makes no sense"}, {events.SlotID{6}, "x"}}
		},
		health.Yes, health.No, health.AlertQuarantined, "its record makes no sense, slot 0x0500", "hostnode sale 0x0500",
	},
	{
		"proofs-fail", func(f *health.Facts) { f.ProofTrouble = []health.SlotTrouble{{events.SlotID{5}, "refused"}} },
		health.Yes, health.No, "", "could not be submitted: refused, slot 0x0500", "hostnode sale 0x0500",
	},
	{
		"scheduler-down", func(f *health.Facts) {
			f.Down = []health.PartStatus{{Name: health.PartScheduler, Since: then, Reason: "it panics"}}
		},
		health.No, health.No, health.AlertPartDown, "is down since 2025-06-15 15:06:40Z: it panics", "hostnode audit",
	},
	{
		"part-down", func(f *health.Facts) {
			f.Down = []health.PartStatus{{Name: "SlotQueue", Since: then, Reason: "it panics"}}
		},
		health.No, health.Yes, health.AlertPartDown, "SlotQueue is down since 2025-06-15 15:06:40Z: it panics", "hostnode audit",
	},
	{
		"sectors-down", func(f *health.Facts) {
			f.Down = []health.PartStatus{{Name: "Sectors", Since: then, Reason: "it panics"}}
		},
		health.Yes, health.No, health.AlertPartDown, "Sectors is down since 2025-06-15 15:06:40Z: it panics", "hostnode audit",
	},
	{
		"no-sealer", func(f *health.Facts) { f.NoSealer, f.SectorsAtStake = true, 2 },
		health.Yes, health.No, "", "sectors with a deposit at stake: 2, and this host has no sealer", "sectors.sealer",
	},
	{
		"sectors-stuck", func(f *health.Facts) {
			f.Sectors = []health.SectorTrouble{{Number: 4, Reason: "is parked: the disk is full"}, {Number: 5, Reason: "x"}}
		},
		health.Yes, health.No, health.AlertSector, "sector 4 is parked: the disk is full; sectors in trouble beside it: 1", "hostnode sectors status 4",
	},
	{
		"disk-away", func(f *health.Facts) {
			f.Disk = health.DiskStatus{Full: true, Away: true, Since: then, Reason: "not mounted"}
		},
		health.No, health.No, health.AlertDiskAway,
		"the slots cannot be read since 2025-06-15 15:06:40Z, and no new slot is taken: not mounted", "storage.filesLost",
	},
	{
		"sectors-disk-away", func(f *health.Facts) { f.Disk.SectorsAway = "not mounted" },
		health.Yes, health.No, health.AlertDiskAway, "the files of sectors cannot be read: not mounted", "mount the disk",
	},
	{
		"disk-full", func(f *health.Facts) { f.Disk = health.DiskStatus{Full: true, Since: then, Reason: "no space left"} },
		health.No, health.Yes, health.AlertDisk, "full since 2025-06-15 15:06:40Z, and no new slot is taken: no space left", "/data",
	},
	{
		"chain-behind", func(f *health.Facts) { f.Chain.Behind = true },
		health.No, health.Yes, "", "reading the blocks that it missed", "wait",
	},
	{
		"views-stopped", func(f *health.Facts) { f.Views, f.Supply = "the disk", health.Supply{Unknown: true} },
		health.NotKnown, health.Yes, health.AlertViews, "not known: the views stopped following the record: the disk", "start it again",
	},
	{
		"paused", func(f *health.Facts) { f.Supply.Paused, f.Supply.PausedFor = true, "a walk" },
		health.No, health.Yes, "", "paused until resumed: a walk", "drain --resume",
	},
	{
		"quota-too-small", func(f *health.Facts) { f.Supply.Allocated = 2048 },
		health.No, health.Yes, health.AlertQuota, "the quota is 1012 B, availabilities and sales have 2 KiB", "`quota`",
	},
	{
		"nothing-offered", func(f *health.Facts) { f.Supply.Offers = nil },
		health.No, health.Yes, "", "nothing is on offer", "availability add --size 1GiB",
	},
	{
		"offers-disabled", func(f *health.Facts) { f.Supply.Offers[0].Enabled = false },
		health.No, health.Yes, "", "all of 1 availabilities are disabled", "availability enable",
	},
	{
		"offers-over", func(f *health.Facts) { f.Supply.Now = f.Supply.Offers[0].Until },
		health.No, health.Yes, "", "is over since 2025-06-15 15:06:40Z: 1 of 1", "--until",
	},
	{
		"offers-sold", func(f *health.Facts) { f.Supply.Offers[0].Free = 0 },
		health.No, health.Yes, "", "everything on offer is sold", "--size",
	},
	{
		"collateral-committed", func(f *health.Facts) { f.Supply.Offers[0].Remaining = events.Amount{} },
		health.No, health.Yes, "", "committed or lost", "--collateral",
	},
	{
		"offers-sold", func(f *health.Facts) { f.Supply.Offers[0].Free = 1 },
		health.No, health.Yes, "", "fits no slot: the most is 1 B, the smallest slot has 64 KiB", "--size",
	},
	{
		"collateral-committed", func(f *health.Facts) { f.Supply.Offers[0].Remaining = events.NewAmount(65_535) },
		health.No, health.Yes, "", "one has left is 65535 base units, and any slot needs 65536 base units or more", "--collateral",
	},
	{
		"offers-unable", func(f *health.Facts) {
			f.Members = health.MembersFacts{
				Member: "north", Owner: "north", TermSince: then, Silent: []health.SilentMember{{Member: "south"}},
			}
			f.Supply.Offers[0].Member = "south"
		},
		health.No, health.Yes, "", "the space of members that do not sell: south (does not seem to be alive)",
		"hostnode members",
	},
	{
		"no-overhead", func(f *health.Facts) { f.Supply.Unallocated = 11 },
		health.No, health.Yes, "", "11 B of the quota is unallocated, and the trees and the manifest of any slot need 12 B",
		"`quota`",
	},
	{
		"no-overhead", func(f *health.Facts) { f.Supply.Allocated = 1001 }, // Less than the ledger's is configured.
		health.No, health.Yes, "", "11 B of the quota is unallocated", "`quota`",
	},
	{
		"no-sources", func(f *health.Facts) { f.Sources.None = true },
		health.No, health.Yes, "", "no source of content is set", "content.sources",
	},
	{
		"sources-away", func(f *health.Facts) { f.Sources.Away = "http://other: refused" },
		health.No, health.Yes, "", "no source of content can be reached, so the data of no slot can be fetched: http://other: refused",
		"content.sources",
	},
	{
		"collateral-at-risk", func(f *health.Facts) { f.Supply.MaxAtRisk = &f.Supply.AtRisk },
		health.No, health.Yes, "", "have 1 base units of collateral, at most 1 base units may be at risk", "sales.maxCollateralAtRisk",
	},
	{
		"collateral-at-risk", func(f *health.Facts) {
			most := events.NewAmount(65_536)
			f.Supply.MaxAtRisk = &most
		},
		health.No, health.Yes, "", "at most 65536 base units may be at risk, and any slot needs 65536 base units or more", "sales.maxCollateralAtRisk",
	},
	{
		"gas-low", func(f *health.Facts) { f.Funds.Balance.Wei = events.NewAmount(9) },
		health.No, health.Yes, health.AlertFunds, "holds 9 wei for gas, at least 10 wei are needed", "0xabc",
	},
	{
		"gas-low", func(f *health.Facts) { f.Funds.Balance.Wei = events.NewAmount(19) },
		health.No, health.Yes, health.AlertFunds, "the 4 proofs of the next 2 days and another sale need 20", "0xabc",
	},
	{
		"gas-low", func(f *health.Facts) { f.Funds.Proofs, f.Funds.Balance.SaleWei = 0, events.NewAmount(21) },
		health.No, health.Yes, health.AlertFunds, "the 0 proofs of the next 2 days and another sale need 21", "0xabc",
	},
	{
		"no-tokens", func(f *health.Facts) { f.Funds.Balance.Tokens = events.Amount{} },
		health.No, health.Yes, "", "no tokens for collateral", "0xabc",
	},
	{
		"no-tokens", func(f *health.Facts) { f.Funds.Unpaid = f.Funds.Balance.Tokens },
		health.No, health.Yes, "", "holds 65538 base units, sales in work need 65538 base units, and any slot 65536", "0xabc",
	},
	{
		"no-tokens", func(f *health.Facts) { f.Funds.Unpaid = events.NewAmount(3) },
		health.No, health.Yes, "", "holds 65538 base units, sales in work need 3 base units", "0xabc",
	},
	{
		"proof-capacity", func(f *health.Facts) { f.Prover.Busy = 60 },
		health.No, health.Yes, "", "busy 60 % of the time, the limit is 60 %", "sales.proofLoad",
	},
	{
		"periods-too-short", func(f *health.Facts) { f.Chain.NoRoom = "a proof period is 72s" },
		health.No, health.Yes, "", "filled or proven in time: a proof period is 72s", "chain.blockTime",
	},
}

func TestEveryCauseHasItsWords(t *testing.T) {
	if w := health.JudgeHost(inGoodOrder()); w.Selling != health.Yes || w.Proving != health.Yes || len(w.Causes) != 0 {
		t.Fatalf("all is well: %+v", w)
	}
	for i, c := range cells {
		t.Run(fmt.Sprintf("%d %s", i, c.code), func(t *testing.T) {
			f := inGoodOrder()
			c.so(&f)
			w := health.JudgeHost(f)
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
			if strings.Contains(got.Hint, ": hostnode ") && !strings.Contains(got.Hint, "--data-dir /data") {
				t.Errorf("typed as it is said, it means another host: %s", got.Hint)
			}
			f.Hosting = 0 // Then nothing is owed, unless that is unknown.
			known := c.code == "sale-quarantined" || c.code == "sectors-stuck" || c.code == "no-sealer"
			if w := health.JudgeHost(f); w.Proving != health.Yes && !known {
				t.Errorf("without slots: %+v", w)
			}
			f.SectorsAtStake = 1
			if w := health.JudgeHost(f); w.Proving != c.proving {
				t.Errorf("without slots, and with a sector: %+v", w)
			}
		})
	}
	for _, code := range health.CauseCodes() {
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.code == code }) {
			t.Errorf("%s has no cells: what does the status say because of it?", code)
		}
	}
}

// TestAnyTwoCausesAreBothTold: the worse answer counts, and the first reason is that of the
// cause to remove first.
func TestAnyTwoCausesAreBothTold(t *testing.T) {
	for _, a := range cells {
		for _, b := range cells {
			f := inGoodOrder()
			a.so(&f)
			if len(f.Supply.Offers) == 0 { // Nothing can be wrong with one.
				continue
			}
			b.so(&f)
			w := health.JudgeHost(f)
			if len(w.Causes) == 0 {
				t.Fatalf("%s and %s: none", a.code, b.code)
			}
			for _, c := range w.Causes {
				if c.Selling == health.No && w.Selling != health.No || c.Proving == health.No && w.Proving != health.No {
					t.Errorf("%s and %s: %+v", a.code, b.code, w)
				}
				if c.Reason == "" || c.Hint == "" {
					t.Errorf("%s says too little: %+v", c.Code, c)
				}
			}
			codes := health.CauseCodes()
			if !slices.IsSortedFunc(w.Causes, func(x, y health.Cause) int {
				return slices.Index(codes, x.Code) - slices.Index(codes, y.Code)
			}) {
				t.Errorf("%s and %s are out of order: %+v", a.code, b.code, w.Causes)
			}
		}
	}
}

// A start that waits for its event store says whether it proves meanwhile. When it does
// not, nobody knows that nothing is owed, although nothing is known to be hosted.
func TestAStartWithoutItsEventStoreSaysWhatItProves(t *testing.T) {
	for name, c := range map[string]struct {
		outage  health.OutageFacts
		proving health.Answer
		codes   string
		words   []string
	}{
		"it proves": {
			health.OutageFacts{Proves: true, Slots: 3, Proofs: 7},
			health.Yes, "record-away",
			[]string{
				"does not answer since 2025-06-15 15:06:41Z: refused; the host is starting since 2025-06-15 15:06:40Z",
				"proven meanwhile: slots 3, proofs handed in 7",
			},
		},
		"it does not": {
			health.OutageFacts{Nothing: "no key"},
			health.No, "record-away starting",
			[]string{"refused; nothing is proven meanwhile: no key"},
		},
		"a slot cannot be proven": {
			health.OutageFacts{Proves: true, Slots: 1}, health.No, "record-away proofs-fail", []string{"slots 1"},
		},
	} {
		f := health.Facts{
			Stage: health.Starting, StageSince: then, Outage: c.outage, Supply: health.Supply{Unknown: true},
			Record: shell.StoreStatus{Away: true, Since: then.Add(time.Second), Reason: "refused"},
		}
		f.Hosting = c.outage.Slots
		if c.proving == health.No && c.outage.Proves {
			f.ProofTrouble = []health.SlotTrouble{{Slot: events.SlotID{5}, Reason: "no data"}}
		}
		w := health.Judge(f)
		var codes []string
		for _, cause := range w.Causes {
			codes = append(codes, cause.Code)
		}
		if w.Selling != health.No || w.Proving != c.proving || strings.Join(codes, " ") != c.codes {
			t.Errorf("%s: %+v", name, w)
		}
		for _, word := range c.words {
			if !strings.Contains(w.Causes[0].Reason, word) {
				t.Errorf("%s: %q does not say %q", name, w.Causes[0].Reason, word)
			}
		}
	}
}

// Others may have recorded another owner meanwhile.
func TestWhoOwnsIsNotToldByAMemberWhoseEventStoreDoesNotAnswer(t *testing.T) {
	for _, c := range cells {
		if c.code != "no-owner" && c.code != "owner-silent" {
			continue
		}
		f := inGoodOrder()
		c.so(&f)
		f.Record = shell.StoreStatus{Away: true, Since: then, Reason: "refused"}
		if w := health.JudgeHost(f); len(w.Causes) != 1 || w.Causes[0].Code != "record-away" {
			t.Errorf("%s: %+v", c.code, w.Causes)
		}
	}
}

func TestAnEndOfSomeOffersLeavesTheOthers(t *testing.T) {
	f := inGoodOrder()
	f.Supply.Offers = append(f.Supply.Offers, health.Offered{
		Enabled: true, Until: then.Add(-time.Hour), Free: 5 * events.BlockSize, Remaining: events.NewAmount(65_536),
	})
	if w := health.Judge(f); w.Selling != health.Yes || w.Offers != 2 || w.OnSale != 1 || w.Free != events.BlockSize {
		t.Fatalf("%+v", w)
	}
}

func TestThePageOfAlertsHasAllThatASaleOrACauseTells(t *testing.T) {
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if c.alert != "" && !strings.Contains(string(page), fmt.Sprintf("\n| `%s` |", c.alert)) {
			t.Errorf("docs/alerts.md has no row for %s", c.alert)
		}
	}
}
