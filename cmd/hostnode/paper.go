package main

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

// paper is what a command says to people.
type paper struct {
	out      strings.Builder
	terminal bool
	now      time.Time
	dataDir  string // app.dataDir
}

// command is a command to type next.
func (p *paper) command(words string) string { return "hostnode " + words + p.dataDir }

func (p *paper) text() string { return harmless(p.out.String()) }

// harmless escapes what a terminal would obey, apart from our own colours:
// anybody who may append can choose the names of streams and events.
func harmless(text string) string {
	return rewritten(text, commands, func(r rune, _ string) string {
		if commands(r) {
			r = utf8.RuneError
		}
		return string(r)
	})
}

// rewritten replaces the doubtful characters of a text, except in our own colours.
// A text without any is returned as it is.
func rewritten(text string, doubtful func(rune) bool, write func(r rune, raw string) string) string {
	if !strings.ContainsFunc(text, doubtful) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		size := len(ourColour.FindString(text))
		if size > 0 {
			out.WriteString(text[:size])
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(text)
			out.WriteString(write(r, text[:size]))
		}
		text = text[size:]
	}
	return out.String()
}

var ourColour = regexp.MustCompile("^\x1b\\[(0|" + green + "|" + yellow + "|" + red + ")m")

// commands reports whether a terminal does anything else with a character than
// show it, such as change the direction of writing.
func commands(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }

// inLine returns a text as a part of one line: what would end the line, or command
// a terminal, is escaped as in Go. So no name can forge a line of ours.
func inLine(text string) string {
	doubtful := func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }
	return rewritten(text, doubtful, func(r rune, raw string) string {
		if unicode.IsGraphic(r) && (r != utf8.RuneError || len(raw) > 1) {
			return raw
		}
		escaped := strconv.Quote(raw)
		return escaped[1 : len(escaped)-1]
	})
}

// line writes one line, whatever texts are in it.
func (p *paper) line(format string, args ...any) {
	for i, arg := range args {
		switch text := arg.(type) {
		case string:
			args[i] = inLine(text)
		case error:
			args[i] = inLine(text.Error())
		case fmt.Stringer:
			args[i] = inLine(text.String())
		}
	}
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
}

// rows writes aligned columns. Each cell is a part of one line, whatever it contains.
func (p *paper) rows(rows [][]string) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = inLine(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // A strings.Builder takes everything.
	for line := range strings.Lines(text.String()) {
		p.out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// given leaves out the rows of two cells that say nothing.
func given(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// without leaves out the columns with these heads.
func without(rows [][]string, hidden map[string]bool) [][]string {
	heads, out := rows[0], make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			if !hidden[heads[j]] {
				out[i] = append(out[i], cell)
			}
		}
	}
	return out
}

// Colours of a terminal.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
)

// colour colours a text, on a terminal only.
func (p *paper) colour(code, text string) string {
	if !p.terminal {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// bar draws a part of a whole, on a terminal only.
func (p *paper) bar(part, whole events.Bytes) string {
	const width = 20
	if !p.terminal || whole == 0 {
		return ""
	}
	full := min(max(int(float64(part)/float64(whole)*width), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// asOf prints what an answer is as of. A position is that of an event in the log, and can be
// given to --at (@18). EventStoreDB counts the bytes of its log, so it is not a number of events.
func (p *paper) asOf(a api.AsOf) {
	if a.Position == 0 {
		p.line("as of %s", clock(a.Time))
		return
	}
	if !a.Recorded.IsZero() {
		p.line("as it was at %s, after log position %d", clock(a.Recorded), a.Position)
		return
	}
	how := "read from the record"
	if a.Running {
		how = "from the running host"
	}
	p.line("as of %s, log position %d, %s", clock(a.Time), a.Position, how)
}

// none says what an answer without anything in it means.
func (p *paper) none(text string, a api.AsOf) error {
	p.line("%s", text)
	p.asOf(a)
	return nil
}

// clock prints a point in time to the second, in UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// size prints bytes for people.
func size(b events.Bytes) string { return b.Human() }

// short is the beginning of an id, which commands accept.
func short(id string) string {
	const digits = 10
	return id[:min(len(id), digits)]
}

// span prints seconds as days, hours and minutes: the two largest units.
func span(seconds uint64) string {
	units := []struct {
		name string
		size uint64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	var parts []string
	for _, u := range units {
		if n := seconds / u.size; n > 0 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			seconds %= u.size
		} else if len(parts) == 1 {
			break
		}
	}
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}

// grouped puts commas into a decimal number, which may be negative.
func grouped(number string) string {
	first := len(number) - len(strings.TrimPrefix(number, "-"))
	for i := len(number) - 3; i > first; i -= 3 {
		number = number[:i] + "," + number[i:]
	}
	return number
}

// coins prints wei in units of 10^18, to six places, rounded down.
func coins(wei string) string {
	n, ok := new(big.Int).SetString(wei, 10)
	if !ok {
		return wei
	}
	micro := n.Div(n, big.NewInt(1_000_000_000_000))
	whole, rest := new(big.Int).DivMod(micro, big.NewInt(1_000_000), new(big.Int))
	return fmt.Sprintf("%s.%06d", grouped(whole.String()), rest.Int64())
}

// count writes a number with its noun.
func count[N int | uint64](n N, noun string) string {
	if rest, ok := strings.CutSuffix(noun, "y"); ok {
		return plural(n, noun, rest+"ies")
	}
	return plural(n, noun, noun+"s")
}

// plural writes a number with the words for one or for any other number.
func plural[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
