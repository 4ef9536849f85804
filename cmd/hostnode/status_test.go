package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/projections"
)

// TestTheStatusOfABusyHost shows what no script can: a host with a chain and troubles.
func TestTheStatusOfABusyHost(t *testing.T) {
	now := time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)
	p := &cli.Printer{Now: now}
	err := printStatus(p, api.Status{
		AsOf:     api.AsOf{Position: 9, Time: now, Running: true},
		Standing: api.Standing{Selling: true, Reason: "5 bytes free, in one availability"},
		Account:  "0xabc", DataDir: "/d",
		Epoch: 2, Since: now, Version: "v1",
		Chain: api.Chain{
			ID: 1, Contract: "0xcc", Endpoint: "ws://n", Head: 1234, HeadTime: now.Add(-90 * time.Second), Live: true,
		},
		Balance: &api.Balance{Tokens: "1000000", Wei: "2500000000000000000"},
		Phases:  map[string]int{"Proving": 2, "Downloading": 1},
		Queue:   projections.Queue{Length: 1, Paused: true, PausedFor: "all seen"},
		Trouble: []api.Trouble{
			{Slot: "0x5107000000", Waiting: "the payout", Error: "the node is away", Tries: 3, Since: now},
			{Slot: "0x5108000000", Quarantined: "its record makes no sense"},
		},
		Views: projections.Status{Error: "the disk", Skipped: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SELLING: 5 bytes free", "as of 2031-04-05 06:07:08Z, log position 9, from the running host",
		"block 1,234, chain time 2031-04-05 06:05:38Z, 1 min 30 s ago\n", "1,000,000 base units", "gas money        2.5 coins",
		"start 2 at 2031-04-05 06:07:08Z, version v1", "1 Downloading, 2 Proving", "1 slot waiting, 0 in work, paused: all seen",
		"trouble slot 0x51070000 waits for the payout: the node is away (3 tries, since 2031-04-05 06:07:08Z)",
		"trouble slot 0x51080000 was set aside: its record makes no sense; what it owes is NOT PROVEN", "hostnode sale 0x5108000000", "stopped following the events: the disk",
		"1 event could not be read",
	} {
		if !strings.Contains(p.Text(), want) {
			t.Errorf("no %q in\n%s", want, p.Text())
		}
	}
	if !strings.HasPrefix(p.Text(), "SELLING") {
		t.Error("the first word is another")
	}
}

func TestTheHeadLineSaysThatNoEndpointOfTheChainAnswers(t *testing.T) {
	now := time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)
	s := api.Status{
		AsOf:     api.AsOf{Position: 9, Time: now, Running: true},
		Standing: api.Standing{NotProving: true, Reason: "the chain does not answer"},
		Chain: api.Chain{
			ID: 1, Contract: "0xcc", Endpoint: "http://other", EndpointSince: now, FirstEndpoint: "ws://n",
			WhyNotFirst: "refused", HeadTime: now, Live: true, Away: true, BlockTime: 0.25,
		},
	}
	p := &cli.Printer{Now: now}
	if err := printStatus(p, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"NOT SELLING, NOT PROVING: the chain does not answer\n", "1 at http://other\n",
		"since 2031-04-05 06:07:08Z, because of the first one, ws://n: refused\n", "no answer since\n",
		"a block every 0.25 seconds, as measured\n",
	} {
		if !strings.Contains(p.Text(), want) {
			t.Errorf("no %q in\n%s", want, p.Text())
		}
	}
	p, s.Chain.BlockTime, s.Chain.BlockTimeSet, s.Chain.Development = &cli.Printer{Now: now}, 1, true, true
	if err := printStatus(p, s); err != nil || !strings.Contains(p.Text(),
		"a block every second, the development chain's") {
		t.Errorf("%v\n%s", err, p.Text())
	}
}

func TestTheHeadLineTellsSellingFromProvingAndListsWhatElseIsInTheWay(t *testing.T) {
	for want, s := range map[string]api.Standing{
		"SELLING: on offer\n":                    {Selling: true, Reason: "on offer"},
		"SELLING, NOT PROVING: set aside\n":      {Selling: true, NotProving: true, Reason: "set aside"},
		"NOT KNOWN WHETHER SELLING: the views\n": {SellingUnknown: true, Reason: "the views"},
		"PROVING SECTORS: two\n":                 {Purpose: "proving sectors", Reason: "two"},
		"VALIDATING: others\n":                   {Purpose: "validating", Reason: "others"},
		"NOT PROVING SECTORS: one has a fault\n": {Purpose: "proving sectors", NotProving: true, Reason: "one has a fault"},
		"NOT SELLING: paused\n  resume\nalso: nothing is on offer\n  offer it\n": {
			Reason: "paused", Hint: "resume", Readiness: []api.Obstacle{
				{Code: "paused", Reason: "paused", Hint: "resume"},
				{Code: "nothing-offered", Reason: "nothing is on offer", Hint: "offer it"},
			},
		},
	} {
		p := &cli.Printer{}
		if err := printStatus(p, api.Status{Standing: s}); err != nil || !strings.HasPrefix(p.Text(), want) {
			t.Errorf("%v, %q, want %q", err, p.Text(), want)
		}
	}
}

// The host's is the first line, then comes the member that was asked, with what is its own alone.
func TestTheHeadLineOfAMemberIsThatOfTheHost(t *testing.T) {
	fees := api.Obstacle{Code: "fee-limit", Reason: "no transaction goes through", Hint: "raise it"}
	full := api.Obstacle{Code: "disk-full", Reason: "the disk is full", Hint: "make room"}
	s := api.Status{
		Member: "north", Standing: api.Standing{Reason: fees.Reason, Hint: fees.Hint, Readiness: []api.Obstacle{fees}},
		Here: &api.Standing{Reason: fees.Reason, Hint: fees.Hint, Readiness: []api.Obstacle{fees, full}},
	}
	for _, want := range []string{
		"NOT SELLING: no transaction goes through\n  raise it\nmember north: NOT SELLING: no transaction goes through\n" +
			"also: the disk is full\n  make room\n",
		"SELLING: on offer\nmember north: NOT SELLING: the disk is full\n  make room\n",
	} {
		p := &cli.Printer{}
		if err := printStatus(p, s); err != nil || !strings.HasPrefix(p.Text(), want) {
			t.Errorf("%v, %q, want %q", err, p.Text(), want)
		}
		s.Standing = api.Standing{Selling: true, Reason: "on offer"}
		s.Here = &api.Standing{Reason: full.Reason, Hint: full.Hint, Readiness: []api.Obstacle{full}}
	}
}

func TestTheExitCodeIsThatOfTheHeadLine(t *testing.T) {
	for want, all := range map[exit][]api.Status{
		0: {{Standing: api.Standing{Selling: true}}, {Standing: api.Standing{Purpose: "proving sectors"}}},
		3: {{}, {Standing: api.Standing{SellingUnknown: true}}},
		4: {{Standing: api.Standing{Selling: true, NotProving: true}}, {Elsewhere: true}},
	} {
		for _, s := range all {
			code, _ := errors.AsType[exit](exitOf(s))
			if code != want {
				t.Errorf("%+v: %v, want %v", s.Standing, code, want)
			}
		}
	}
}

func TestFlagsOfAnOfferTakeOnlyWhatMakesSense(t *testing.T) {
	for _, c := range []struct {
		parse func(string) (any, error)
		good  map[string]string
		bad   []string
	}{
		{
			func(text string) (any, error) { return cli.ParseDuration(text) },
			map[string]string{"1h": "1h0m0s", "30d": "720h0m0s", "1.5d": "36h0m0s", " 2s ": "2s"},
			[]string{"", "0", "0s", "-1h", "1500ms", "1", "d", "300000d", "99999999999h", "1dd", "1y"},
		},
		{
			func(text string) (any, error) { return cli.ParseTime(text) },
			map[string]string{
				"never": "0001-01-01 00:00:00 +0000 UTC", "2031-12-31": "2031-12-31 00:00:00 +0000 UTC",
				"2031-12-31T18:00:00+02:00": "2031-12-31 16:00:00 +0000 UTC",
			},
			[]string{"", "soon", "31.12.2031", "2031-13-01"},
		},
		{
			func(text string) (any, error) { return cli.ParseSize(text) },
			map[string]string{"1GiB": "1073741824", "1024": "1024"},
			[]string{"", "0", "0GiB", "-1", "1G"},
		},
	} {
		for text, want := range c.good {
			if got, err := c.parse(text); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%T %q is %v, %v; want %q", got, text, got, err, want)
			}
		}
		for _, text := range c.bad {
			if got, err := c.parse(text); err == nil {
				t.Errorf("%T takes %q", got, text)
			}
		}
	}
}

func FuzzFlags(f *testing.F) {
	for _, text := range []string{"30d", "1.5d", "-1h", "1,000", "2031-12-31", "1GiB", "0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := cli.ParseDuration(text); err == nil && (d <= 0 || d%time.Second != 0) {
			t.Fatalf("duration %q is %d", text, d)
		}
		if n, err := cli.ParseSize(text); err == nil && n == 0 {
			t.Fatalf("size %q is zero", text)
		}
		m, err := cli.ParseTime(text)
		if err == nil && m.IsZero() && strings.TrimSpace(text) != "never" && !strings.HasPrefix(text, "0001") {
			t.Fatalf("moment %q is never", text)
		}
	})
}
