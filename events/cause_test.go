package events

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCausesAreTakenApart(t *testing.T) {
	id := "0x" + strings.Repeat("5a", 32)
	five := func() (b [32]byte) {
		for i := range b {
			b[i] = 0x5a
		}
		return b
	}()
	for text, want := range map[string]Cause{
		"operator":                {What: "operator"},
		"request":                 {What: "request"},
		"examined":                {What: "examined"},
		"packed":                  {What: "packed"},
		"broker":                  {What: "broker"},
		"look back: more space":   {What: "look back"},
		"block:0":                 {Kind: CauseBlock, What: "block", Number: 0},
		"block:331":               {Kind: CauseBlock, What: "block", Number: 331},
		"log:" + id + ":3":        {Kind: CauseLog, What: "log", Hash: five, Number: 3},
		"market@17":               {Kind: CauseMarket, What: "market", Number: 17},
		"sale:" + id + ":2:store": {Kind: CauseSale, What: "store", Slot: five, Attempt: 2},
		"work:" + id + ":1":       {Kind: CauseWork, What: "work", Request: five, Number: 1},
		"download:1":              {Kind: CauseEffect, What: "download", Attempt: 1},
		"read-collateral:9":       {Kind: CauseEffect, What: "read-collateral", Period: 9},
		"fill:1:" + id:            {Kind: CauseEffect, What: "fill", Attempt: 1, Challenge: five},
		"repair:2:3":              {Kind: CauseEffect, What: "repair", Attempt: 2, Number: 3},
		"repair-whole:2":          {Kind: CauseEffect, What: "repair-whole", Attempt: 2},
		"scrub":                   {What: "scrub"},
		"withdrawn":               {What: "withdrawn"},
		"orphan:" + id:            {What: "orphan", Slot: five},
		SectorCause("PreCommit1:7:2"): {
			Kind: CauseSector, What: "PreCommit1", Number: 7, Attempt: 2,
		},
		SectorCause("Wait:7:1700000015000000000"): {
			Kind: CauseSector, What: "Wait", Number: 7, End: 1_700_000_015_000_000_000,
		},
		"submit-proof:9:" + id: {Kind: CauseEffect, What: "submit-proof", Period: 9, Challenge: five},
	} {
		got, err := ParseCause(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestWhatIsNoCauseIsRefused(t *testing.T) {
	id := strings.Repeat("5a", 32)
	for _, text := range []string{
		"", "nobody", "block", "block:", "block:-1", "block:01", "block:1:2", "market@", "market@1x", "market",
		"sale:" + id + ":0:store", "sale:" + id + ":1:burn", "sale:1:1:store", "work:" + id, "download:0",
		"download:4294967296", "fill:1", "fill:1:2", "submit-proof:1:2", "operator ", "log:" + id,
		"look back", "read-collateral:+1", "repair:1", "repair:0:1", "repair:1:x", "orphan", "orphan:1",
		"sector", "sector:Pack:1", "sector:Pack:0:1", "sector:Pack:1:0", "sector:pack:1:1", "sector:Pack:1:4294967296",
		"sector::1:1", "sector:Pack:01:1", "sector:Wait:1:-1", "sector:Pa-ck:1:1", "sector:Pack:1:1:1",
	} {
		if c, err := ParseCause(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is %+v, error %v", text, c, err)
		}
	}
}

func FuzzParseCause(f *testing.F) {
	for _, text := range []string{"operator", "block:12", "market@3", "sale:x:1:store", "submit-proof:1:2", "sector:Pack:1:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseCause(text); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("%q: %+v, %v", text, c, err)
		}
	})
}
