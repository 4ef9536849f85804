package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/audit"
)

func TestNumbersArePrintedForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Span(0), "0 s"},
		{Span(59), "59 s"},
		{Span(90), "1 min 30 s"},
		{Span(3600), "1 h"},
		{Span(3601), "1 h"},
		{Span(90_000), "1 d 1 h"},
		{Span(30 * 86400), "30 d"},
		{Count(1, "slot"), "1 slot"},
		{Count(0, "slot"), "0 slots"},
		{Count(2, "try"), "2 tries"},
		{Short("0x123456789abc"), "0x12345678"},
		{Short("0x1"), "0x1"},
		{Clock(time.Time{}), "-"},
		{Clock(time.Unix(0, 0)), "1970-01-01 00:00:00Z"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestColourAndBarsAreForTerminalsOnly(t *testing.T) {
	plain, terminal := &Printer{}, &Printer{Terminal: true}
	if plain.Colour(Green, "x") != "x" || plain.Bar(1, 2) != "" {
		t.Fatal("a plain page is coloured")
	}
	if got := terminal.Colour(Green, "x"); got != "\x1b[32mx\x1b[0m" {
		t.Fatalf("%q", got)
	}
	for _, c := range []struct {
		part, whole events.Bytes
		full        int
	}{{0, 5, 0}, {5, 5, 20}, {1, 2, 10}, {9, 5, 20}} {
		bar := terminal.Bar(c.part, c.whole)
		if n := strings.Count(bar, "█"); n != c.full || len([]rune(bar)) != 20 {
			t.Errorf("%d of %d: %s", c.part, c.whole, bar)
		}
	}
	if terminal.Bar(1, 0) != "" {
		t.Error("a part of nothing has a bar")
	}
}

func TestNobodyElsesTextCommandsTheTerminal(t *testing.T) {
	p := &Printer{Terminal: true}
	p.Line("%s %s", p.Colour(Red, "error"), "stream \x1b]0;title\x07\x1b[2J\x9b5n\rnothing\nCLEAN: 0 events\u202e")
	p.Line("%v, %s", errors.New("one\ntwo"), audit.Finding{Stream: "a\nb", Sentence: "c\u2028d"})
	p.Rows([][]string{{"TYPE", "WHAT"}, {"two\nlines\tand a tab", "\x1b[31mred"}})
	want := "\x1b[31merror\x1b[0m stream " + `\x1b]0;title\a\x1b[2J\x9b5n\rnothing\nCLEAN: 0 events\u202e` + "\n" +
		`one\ntwo,   at log position 0 (a\nb revision 0): c\u2028d` + "\n" +
		"TYPE                   WHAT\n" + `two\nlines\tand a tab  ` + "\x1b[31mred\n"
	if got := p.Text(); got != want {
		t.Errorf("shown\n%q, want\n%q", got, want)
	}
}
