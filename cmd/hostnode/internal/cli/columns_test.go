package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/actors/health"
)

func TestTablesFitTheTerminal(t *testing.T) {
	sales := [][]string{
		{"SLOT", "STATE", "SINCE (CHAIN)", "SIZE", "REWARD", "WAITS FOR"},
		{
			"0x12345678", "SlotReserving", "2026-11-20 08:00:00Z", "1.5 GiB", "0.25 TST",
			"\x1b[31mthe chain\x1b[0m (connection refused)",
		},
	}
	for _, c := range []struct {
		name  string
		width int
		rows  [][]string
		want  string
	}{
		{"there is room", 0, sales, `
SLOT        STATE          SINCE (CHAIN)         SIZE     REWARD    WAITS FOR
0x12345678  SlotReserving  2026-11-20 08:00:00Z  1.5 GiB  0.25 TST  <the chain> (connection refused)
`},
		{"the longest text goes on below, and keeps its colour", 80, sales, `
SLOT        STATE          SINCE (CHAIN)         SIZE     REWARD    WAITS FOR
0x12345678  SlotReserving  2026-11-20 08:00:00Z  1.5 GiB  0.25 TST  <the chain>
                                                                    (connection
                                                                    refused)
`},
		{"the last columns go on below", 60, sales, `
SLOT        STATE          SINCE (CHAIN)         SIZE
  REWARD    WAITS FOR
0x12345678  SlotReserving  2026-11-20 08:00:00Z  1.5 GiB
  0.25 TST  <the chain> (connection refused)
`},
		{"a colour ends with its line", 40, [][]string{
			{"state", "\x1b[31mno proof was made in the last period\x1b[0m", "red"},
		}, `
state  <no proof was made in the>      red
       <last period>
`},
		{"wide letters, an id and a number that has no room", 40, [][]string{
			{"name", "日本語日本語", "x"}, {"id", "0x" + strings.Repeat("0123456789", 5), "yz"}, {"n", strings.Repeat("9", 45), "z"},
		}, `
name
  日本語日本語
  x
id
  0x012345678901234567890123456789012345
  67890123456789
  yz
n
  99999999999999999999999999999999999999
  9999999
  z
`},
		{"a row that is shorter", 40, [][]string{
			{"one", "two", "three"}, {"a remark that has all of the room behind it"}, {"1", "2", "3"}, {},
		}, `
one  two  three
a remark that has all of the room behind
it
1    2    3

`},
	} {
		p := Printer{Width: c.width}
		p.Rows(c.rows)
		got := strings.NewReplacer("\x1b[31m", "<", "\x1b[0m", ">").Replace(p.Text())
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
			t.Errorf("%s: %s\n%s", c.name, diff, got)
		}
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	p := Printer{Width: 40, Typed: health.Typed{After: " --data-dir /var/lib/hostnode"}}
	p.Line("  %s is what the host waits for, since 10 GiB are not there", "the event store")
	p.Line("more: %s", p.Command("sales"))
	p.Line("see https://example.com/%s for more", strings.Repeat("x", 40))
	want := `  the event store is what the host waits
    for, since 10 GiB are not there
more:
  hostnode sales --data-dir /var/lib/hostnode
see
  https://example.com/` + strings.Repeat("x", 40) + `
  for more
`
	if diff := cmp.Diff(want, p.Text()); diff != "" {
		t.Error(diff)
	}
}

// Whatever is in a table, no line is longer than the terminal, and nothing is lost.
func TestNothingOfATableIsLost(t *testing.T) {
	part := rapid.OneOf(
		rapid.StringMatching(`[a-zé-]{1,30}`), rapid.StringMatching(`[0-9]{1,80}`), rapid.StringMatching(`0x[0-9a-f]{64}`),
		rapid.SampledFrom([]string{
			"日本語", "e\u0301", " ", "", "12.5 GiB", "2026-11-20 08:00:00Z", "\x1b[31mred and long\x1b[0m", "🙂", "░", "-", "\n",
		}),
	)
	cell := rapid.Map(rapid.SliceOfN(part, 0, 8), func(parts []string) string { return strings.Join(parts, " ") })
	rows := rapid.SliceOfN(rapid.SliceOfN(cell, 0, 12), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		table := rows.Draw(t, "rows")
		p, free := Printer{Width: rapid.IntRange(40, 200).Draw(t, "width")}, Printer{}
		p.Rows(table)
		free.Rows(table)
		for line := range strings.Lines(p.Text()) {
			if n := columnsOf(strings.TrimSuffix(line, "\n")); n > p.Width {
				t.Fatalf("%d columns, want at most %d: %s", n, p.Width, line)
			}
		}
		letters := func(text string) []rune {
			text = ourColours.ReplaceAllString(text, "")
			return slices.Sorted(slices.Values([]rune(strings.Join(strings.Fields(text), ""))))
		}
		if diff := cmp.Diff(string(letters(free.Text())), string(letters(p.Text()))); diff != "" {
			t.Fatalf("letters are lost or made up: %s\n%s", diff, p.Text())
		}
		if n := strings.Count(free.Text(), "\n"); n != len(table) {
			t.Fatalf("%d lines of %d rows without a limit", n, len(table))
		}
	})
}
