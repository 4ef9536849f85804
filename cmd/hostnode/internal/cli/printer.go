package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
)

// Printer is what a command says to people.
type Printer struct {
	out      strings.Builder
	Terminal bool
	Width    int // App.Width
	Now      time.Time
	Typed    health.Typed // App.Typed
	// Token is what amounts are shown in; zero: base units.
	Token money.Token
}

// NewPrinter begins what the program says.
func (a *App) NewPrinter() *Printer {
	return &Printer{Terminal: a.Terminal, Width: a.Width, Now: a.Now(), Typed: a.Typed, Token: a.Shown()}
}

// Command is a command to type next. It stays in one line: a part of it could be another command.
func (p *Printer) Command(words string) string {
	return strings.ReplaceAll(p.Typed.Command(words), " ", hardSpace)
}

// hardSpace ends no line; it is printed as a space.
const hardSpace = "\u00a0"

// Text is all of it.
func (p *Printer) Text() string { return strings.ReplaceAll(Harmless(p.out.String()), hardSpace, " ") }

// Harmless escapes what a terminal would obey, apart from our own colours:
// anybody who may append can choose the names of streams and events.
func Harmless(text string) string {
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

// reset ends a colour.
const reset = "\x1b[0m"

var (
	ourColours = regexp.MustCompile("\x1b\\[(0|" + Green + "|" + Yellow + "|" + Red + ")m")
	ourColour  = regexp.MustCompile("^" + ourColours.String())
)

// commands reports whether a terminal does anything else with a character than
// Show it, such as change the direction of writing.
func commands(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }

// inLine returns a text as a part of one line, with its amounts as people read them: what would end the line, or
// command a terminal, is escaped as in Go. So no name can forge a line of ours.
func (p *Printer) inLine(text string) string {
	text = p.Token.Told(text)
	doubtful := func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }
	return rewritten(text, doubtful, func(r rune, raw string) string {
		if unicode.IsGraphic(r) && (r != utf8.RuneError || len(raw) > 1) {
			return raw
		}
		escaped := strconv.Quote(raw)
		return escaped[1 : len(escaped)-1]
	})
}

// Line writes one line, or as many as the terminal needs for it, whatever texts are in it.
func (p *Printer) Line(format string, args ...any) {
	for i, arg := range args {
		switch text := arg.(type) {
		case string:
			args[i] = p.inLine(text)
		case error:
			args[i] = p.inLine(text.Error())
		case fmt.Stringer:
			args[i] = p.inLine(text.String())
		}
	}
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		p.out.WriteString(paragraph(line, p.Width) + "\n")
	}
}

// Rows writes aligned columns, which fit the terminal. Whatever a cell contains, it cannot look like another one.
func (p *Printer) Rows(rows [][]string) {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			cells[i] = append(cells[i], p.inLine(cell))
		}
	}
	p.out.WriteString(columns(cells, p.Width))
}

// Given leaves out the rows of two cells that say nothing.
func Given(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// Without leaves out the columns with these heads.
func Without(rows [][]string, hidden map[string]bool) [][]string {
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
	Green  = "32"
	Yellow = "33"
	Red    = "31"
)

// Colour colours a text, on a terminal only.
func (p *Printer) Colour(code, text string) string {
	if !p.Terminal {
		return text
	}
	return "\x1b[" + code + "m" + text + reset
}

// Bar draws a part of a whole, on a terminal only.
func (p *Printer) Bar(part, whole events.Bytes) string {
	const width = 20
	if !p.Terminal || whole == 0 {
		return ""
	}
	full := min(max(int(float64(part)/float64(whole)*width), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// AsOf prints what an answer is as of. A position is that of an event in the log, and can be
// Given to --at (@18). EventStoreDB counts the bytes of its log, so it is not a number of events.
func (p *Printer) AsOf(a api.AsOf) {
	if a.Position == 0 {
		p.Line("as of %s", Clock(a.Time))
		return
	}
	if !a.Recorded.IsZero() {
		p.Line("as it was at %s, after log position %d", Clock(a.Recorded), a.Position)
		return
	}
	how := "read from the record"
	if a.Running {
		how = "from the running host"
	}
	p.Line("as of %s, log position %d, %s", Clock(a.Time), a.Position, how)
}

// End is AsOf as the last line of what a command prints.
func (p *Printer) End(a api.AsOf) error {
	p.AsOf(a)
	return nil
}

// None says what an answer without anything in it means.
func (p *Printer) None(text string, a api.AsOf) error {
	p.Line("%s", text)
	return p.End(a)
}

// Clock prints a point in time to the second, in UTC.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Size prints bytes for people.
func Size(b events.Bytes) string { return b.Human() }

// Short is the beginning of an id, which commands accept.
func Short(id string) string {
	const digits = 10
	return id[:min(len(id), digits)]
}

// Span prints seconds as days, hours and minutes: the two largest units.
func Span(seconds uint64) string {
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

// Count writes a number with its noun.
func Count[N int | uint64](n N, noun string) string {
	if rest, ok := strings.CutSuffix(noun, "y"); ok {
		return Plural(n, noun, rest+"ies")
	}
	return Plural(n, noun, noun+"s")
}

// Plural writes a number with the words for one or for any other number.
func Plural[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
