package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

// This file is what pages are made of. The texts of all blocks are shown as text, whatever is in them.

// Block is a part of a page. The template of its kind has the name that it returns.
type Block interface{ template() string }

// Level is how something stands. It is never shown by colour alone.
type Level string

// The levels, from well to worst. Bad is for limits that are passed, Warn for what is announced.
const (
	Plain Level = ""
	Good  Level = "good"
	Warn  Level = "warn"
	Bad   Level = "bad"
)

// Word is a level in a word, for those who see no colours.
func (l Level) Word() string { return map[Level]string{Good: "OK", Warn: "Warning", Bad: "Problem"}[l] }

// Link leads to another page.
type Link struct{ Text, To string }

// Cell is a value in a table or a list.
type Cell struct {
	Text  string
	To    string // where a click leads; empty: nowhere
	Under string // a second line in small letters
	Level Level
	// Number is set at the right, Code in letters of equal width.
	Number, Code bool
	Whole        bool      // no line is broken in it, where there is room
	At           time.Time // is shown instead of Text if it is not zero
	Lines        []Line    // are shown instead of Text if there are some
	Form         *Form     // a button
}

// Line is a line of a text that has changed. Its Sign says how, also to those who see no colours: + or -; empty: it
// is as before.
type Line struct{ Sign, Text string }

// Difference is how lines have changed: what is the same at the beginning and at the end, and between them first all
// that was removed, and then all that was added.
func Difference(before, after []string) (lines []Line) {
	begin, end, most := 0, 0, min(len(before), len(after))
	for begin < most && before[begin] == after[begin] {
		begin++
	}
	for end < most-begin && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	add := func(sign string, some []string) {
		for _, text := range some {
			lines = append(lines, Line{sign, text})
		}
	}
	add("", before[:begin])
	add("-", before[begin:len(before)-end])
	add("+", after[begin:len(after)-end])
	add("", before[len(before)-end:])
	return lines
}

// Text is a cell with a text.
func Text(text string) Cell { return Cell{Text: text} }

// Textf is a cell with a formatted text.
func Textf(format string, args ...any) Cell { return Cell{Text: fmt.Sprintf(format, args...)} }

// Number is a cell with a number, an amount or a size.
func Number(text any) Cell { return Cell{Text: fmt.Sprint(text), Number: true} }

// Leads is a cell that leads to a page.
func Leads(text, to string) Cell { return Cell{Text: text, To: to} }

// ID is a cell with an id, of which the beginning is shown and the whole is where it leads, or a click away.
func ID(id, to string) Cell { return Cell{Text: cli.Short(id), Code: true, To: to} }

// At is a cell with a time; zero: a dash.
func At(t time.Time) Cell {
	if t.IsZero() {
		return Text("–")
	}
	return Cell{At: t}
}

// Chain is a cell with a time of the chain, which may go differently from the browser's clock: how long ago it was is
// not said.
func Chain(t time.Time) Cell { return Cell{Text: cli.Clock(t), Whole: true} }

// Stands is a cell with a level.
func Stands(l Level, text string) Cell { return Cell{Text: text, Level: l} }

// Head is what every block may have: a heading, and an id that is unique on its page, by which it is replaced when it
// has changed.
type Head struct {
	ID    string
	Title string
	Note  string // said below the heading
}

// Facts are names with values.
type Facts struct {
	Head
	Rows []Fact
}

// Fact is a name with its value.
type Fact struct {
	Name  string
	Value Cell
}

func (Facts) template() string { return "facts" }

// Fact adds one, if it has a text, a time or a button.
func (f *Facts) Fact(name string, value Cell) {
	if value.Text != "" || !value.At.IsZero() || value.Form != nil {
		f.Rows = append(f.Rows, Fact{name, value})
	}
}

// Table is a table. On narrow screens each row becomes a list of its cells with their heads.
type Table struct {
	Head
	Heads  []string
	Rows   [][]Cell
	Empty  string // said when there is no row
	Next   *Link  // more rows
	Filter []Filter
}

func (Table) template() string { return "table" }

// Row adds one.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Columns pairs a row's cells with the heads of their columns.
func (t Table) Columns(row []Cell) (pairs []Fact) {
	for i, c := range row {
		pairs = append(pairs, Fact{t.Heads[i], c})
	}
	return pairs
}

// Number reports whether a column has numbers.
func (t Table) Number(column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return column < len(row) && row[column].Number })
}

// Filter is a choice above a table.
type Filter struct {
	Text, To string
	Chosen   bool
}

// Filters are the choices of one value of the address; the first choice is all.
func Filters(q *Asked, name string, choices ...string) (all []Filter) {
	for _, c := range append([]string{""}, choices...) {
		text := c
		if c == "" {
			text = "all"
		}
		all = append(all, Filter{text, q.With(name, c, "cursor", ""), q.Get(name) == c})
	}
	return all
}

// Notices are what must be known, one below the other, the worst first.
type Notices struct {
	Head
	Each []Notice
	Well string // said when there is none
}

// Notice is one of them: what is wrong or well, since when, until when something can be done, and what.
type Notice struct {
	Level        Level
	Text         string
	Since, Until time.Time
	Do           string // what is to be done next
	More         []Link
	Forms        []Form
}

func (Notices) template() string { return "notices" }

// Timeline is what happened, in its order.
type Timeline struct {
	Head
	Moments []Moment
	Next    *Link
}

// Moment is one thing that happened.
type Moment struct {
	At    time.Time
	Text  string
	Cause string
	Level Level
	Raw   string // as it is stored, a click away
}

func (Timeline) template() string { return "timeline" }

// Strip is a row of small fields, one for each period or window, the oldest first. Several strips are a map.
type Strip struct {
	Head
	Rows   []StripRow
	Legend []Mark
}

// StripRow is one line of it.
type StripRow struct {
	Name  string
	To    string
	Marks []Mark
}

// Mark is one field: its level, a sign for those who see no colours, and what it says.
type Mark struct {
	Level Level
	Sign  string // one letter
	Says  string
	To    string
}

func (Strip) template() string { return "strip" }

// Tally says how many marks of each kind a row has, for those who do not see it.
func (r StripRow) Tally() string {
	var signs []string
	counts := map[string]int{}
	for _, m := range r.Marks {
		if counts[m.Sign] == 0 {
			signs = append(signs, m.Sign)
		}
		counts[m.Sign]++
	}
	for i, s := range signs {
		signs[i] = fmt.Sprintf("%d times %s", counts[s], s)
	}
	return strings.Join(signs, ", ")
}

// Bars is a chart of values, the oldest first. A value may be negative.
type Bars struct {
	Head
	Unit string
	Bars []Bar
}

// Bar is one value.
type Bar struct {
	Name  string
	Value float64
	Says  string // the value as it is read
	Faint bool   // expected, and not there yet
}

func (Bars) template() string { return "bars" }

// Sizes of a chart, in its own units.
const (
	chartHeight = 120.0
	barWidth    = 10.0
)

// BarAt is a bar as it is drawn.
type BarAt struct {
	Bar
	X, Y, Width, Height float64
}

// Width is that of the whole chart. A few bars do not fill it.
func (b Bars) Width() float64 { return float64(max(30, len(b.Bars))) * barWidth }

// Height is that of the whole chart.
func (Bars) Height() float64 { return chartHeight }

// Zero is where the values begin.
func (b Bars) Zero() float64 {
	low, high := b.span()
	return chartHeight * high / (high - low)
}

func (b Bars) span() (low, high float64) {
	for _, bar := range b.Bars {
		low, high = min(low, bar.Value), max(high, bar.Value)
	}
	if low == 0 && high == 0 {
		high = 1
	}
	return low, high
}

// Drawn are the bars with their places.
func (b Bars) Drawn() (all []BarAt) {
	low, high := b.span()
	for i, bar := range b.Bars {
		height := math.Abs(bar.Value) / (high - low) * chartHeight
		at := BarAt{bar, float64(i)*barWidth + 1, b.Zero() - height, barWidth - 2, height}
		if bar.Value < 0 {
			at.Y = b.Zero()
		}
		all = append(all, at)
	}
	return all
}

// Parts shows how a whole is divided.
type Parts struct {
	Head
	Whole string
	Parts []Part
}

// Part is one of them, with its share from 0 to 1.
type Part struct {
	Name, Says string
	Share      float64
	To         string
	// Colour is one of 0 to 4. It goes with what the part is, not with its place, so that a part has the same one
	// when another is gone.
	Colour int
}

func (Parts) template() string { return "parts" }

// PartAt is a part as it is drawn.
type PartAt struct {
	Part
	X, Width float64
}

// Drawn are the parts with their places, in a bar of 1000 units.
func (p Parts) Drawn() (all []PartAt) {
	at := 0.0
	for _, part := range p.Parts {
		width := min(max(part.Share, 0), 1) * 1000
		all = append(all, PartAt{part, at, width})
		at += width
	}
	return all
}

// Words are paragraphs.
type Words struct {
	Head
	Each  []string
	Links []Link
}

func (Words) template() string { return "words" }

// Code is a text in letters of equal width, folded if it says so.
type Code struct {
	Head
	Text   string
	Folded bool
}

func (Code) template() string { return "code" }

// Form gives an order.
type Form struct {
	Head
	Do     string // the order of the page that it gives
	Of     string // the address of the page, if it is another one
	Fields []Field
	Button string
	// Confirm is what must be agreed to first; empty: nothing.
	Confirm string
	// Asks: it only asks something, so its values are in the address, and everybody may.
	Asks bool
}

func (Form) template() string { return "form" }

// Field is one value of a form.
type Field struct {
	Name, Label, Value string
	Hint               string
	Choices            []string // empty: free text
	Hidden, Required   bool
	Long               bool  // several lines
	Checked            *bool // not nil: a box to be ticked
}

// Hidden is a field that is not seen.
func Hidden(name, value string) Field { return Field{Name: name, Value: value, Hidden: true} }

// Join puts blocks side by side where there is room.
type Join struct{ Each []Block }

func (Join) template() string { return "join" }
