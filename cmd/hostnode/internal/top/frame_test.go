package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	view "github.com/hostnode/hostnode/projections/alert"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var inTokens = money.Token{Symbol: "TST", Decimals: 18}.Told

// wellState is a host that sells.
func wellState() State {
	s := State{
		Read:   noon,
		Status: api.Status{Standing: api.Standing{Selling: true, Reason: "it takes slots that match"}},
	}
	s.Status.Ledger = projections.Ledger{Quota: 1 << 40, Unallocated: 1 << 39, Free: 1 << 38, Reserved: 1 << 37, Stored: 1 << 37}
	s.Status.Phases = map[string]int{"Proving": 12, "Downloading": 1}
	s.Status.Queue.Length = 7
	s.Status.Disk = &api.Disk{Free: 1 << 41}
	s.Status.Balance = &api.Balance{Tokens: "41000000000000000000", Wei: "500000000000000000"}
	s.Earnings.Settled = projections.Earnings{
		Net: "12500000000000000000", FeesWei: "1000000000000000", Sales: projections.Counts{Finished: 40, Cancelled: 2},
	}
	s.Earnings.ExpectedAtMost = events.Must(events.ParseAmount("3000000000000000000"))
	s.Duties = api.Duties{Now: noon, PeriodSeconds: 60}
	for i := range 9 {
		d := api.Duty{Kind: api.DutyProof, Deadline: noon.Add(40 * time.Second)}
		if i > 3 {
			d = api.Duty{Kind: api.DutyPossible, Deadline: noon.Add(100 * time.Second)}
		}
		s.Duties.Duties = append(s.Duties.Duties, d)
	}
	for i := range 30 {
		s.Events = append(s.Events, api.Event{
			Recorded: noon.Add(time.Duration(i-30) * time.Second), Type: "SlotFilled", Sentence: fmt.Sprintf("event %d happened", i),
		})
	}
	return s
}

// badState is one with members of which much is wrong.
func badState() State {
	s := wellState()
	s.Status.Standing = api.Standing{
		NotProving: true, Reason: "no block has come since 2026-11-29 11:00:00Z", Hint: "check the node",
		Readiness: []api.Obstacle{
			{Code: "chain-silent", Selling: "no", Proving: "no", Reason: "no block has come since 2026-11-29 11:00:00Z"},
			{Code: "disk-full", Selling: "no", Proving: "yes", Reason: "the disk is full", Hint: "make room"},
			{Code: "no-source", Selling: "no", Proving: "yes", Reason: "no source of content is set", Hint: "set content.sources"},
		},
	}
	s.Alerts.Open = []view.Alert{
		{
			Kind: "disk-full", Severity: "warning", Since: noon.Add(-3 * time.Hour), Text: "the disk is full", Hint: "make room",
			Muted: true,
		},
		{
			Kind: "chain-silent", Severity: "critical", Since: noon.Add(-time.Hour), Hint: "check the node",
			Text: "no block has come since 2026-11-29 11:00:00Z", Acknowledged: noon, By: "anna",
		},
		{
			Kind: "not-proving", Severity: "critical", Since: noon.Add(-2 * time.Hour), Subject: "0x56a0",
			Period: uint64(noon.Unix() / 60), Text: "slot 0x56a0 owes a proof, and its sale is quarantined",
			Hint: "find the cause with `hostnode sale 0x56a0` and the log, which has much more about it than fits here",
		},
	}
	s.Members = api.Members{Cluster: true, Members: []api.Member{
		{Name: "north", State: api.MemberRunning, Owner: true, Sales: 7, Work: &api.MemberWork{ProofsDue: 1, ProverBusy: 40}},
		{Name: "south", State: api.MemberSilent, Sales: 6},
	}}
	s.missing = errors.New("the host is starting")
	return s
}

func TestFrames(t *testing.T) {
	lost, never := badState(), State{lost: errors.New("no host answers at /data/hostnode.sock")}
	lost.lost = never.lost
	for name, s := range map[string]State{"well": wellState(), "bad": badState(), "lost": lost, "never": never, "first": {}} {
		for _, size := range [][2]int{{80, 24}, {40, 12}} {
			at := noon.Add(7 * time.Second)
			got := strings.Join(frame(s, inTokens, at, size[0], size[1]), "\n") + "\n"
			file := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// Whatever others have written, and however small the terminal is: no line is too long, there are not too many, and none
// commands the terminal.
func TestNoFrameIsTooLargeOrCommandsATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"<img onerror=1>", "\u202eevil", "nul\x00\x1b[2J\x1b]0;x\a", strings.Repeat("界", 5_000), strings.Repeat("x", 10_000),
			"\x1b[31mred", "a\r\nSELLING: forged\tx", "\xff\xfe", "e\u0301\u200d", "👩‍👩‍👧",
		}))
		draw := func(what string) string { return text.Draw(t, what) }
		s := badState()
		s.Status.Reason, s.Status.Hint = draw("reason"), draw("hint")
		s.Status.Readiness[1].Reason, s.Status.Phases = draw("obstacle"), map[string]int{draw("phase"): 1}
		for i := range s.Alerts.Open {
			s.Alerts.Open[i].Text, s.Alerts.Open[i].Hint, s.Alerts.Open[i].By = draw("text"), draw("do"), draw("by")
		}
		for i := range s.Events {
			s.Events[i].Sentence = draw("sentence")
		}
		s.Members.Members[0].Name = draw("member")
		s.Earnings.Settled.Net = draw("net")
		s.lost, s.missing = errors.New(draw("lost")), errors.New(draw("missing"))
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		page := frame(s, inTokens, noon, width, height)
		if len(page) > height {
			t.Fatalf("%d lines, there is room for %d", len(page), height)
		}
		for _, line := range page {
			if n := len([]rune(line)); n > width {
				t.Fatalf("%d columns, there is room for %d: %q", n, width, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 {
				t.Fatalf("the line has %q", line[i:])
			}
		}
	})
}

// Wide characters take two columns.
func TestALineOfWideCharactersFits(t *testing.T) {
	s := wellState()
	s.Status.Reason = strings.Repeat("界", 100)
	for _, line := range frame(s, inTokens, noon, 20, 5)[1:2] {
		if n := strings.Count(line, "界"); n != 7 { // 4 are set in, and 1 is for the dots.
			t.Errorf("%d wide characters in 20 columns: %s", n, line)
		}
	}
}
