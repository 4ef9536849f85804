package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	view "github.com/hostnode/hostnode/projections/alert"
)

// What lines begin with; the screen colours these words.
const (
	wordCritical  = "CRITICAL"
	wordWarning   = "WARNING"
	wordNoContact = "NO CONTACT"
	wordNot       = "NOT "
	wordSelling   = "SELLING"
)

const (
	// keptLines is how many lines figures, duties and events have, however much is wrong.
	keptLines = 6
	// mostDuties is how many deadlines are shown.
	mostDuties = 4
)

// frame is the screen of a height and a width, at a moment of this machine's clock: what is wrong first. No line is
// longer than the width, and none has anything in it that a terminal would obey. told is a text as people read it.
func frame(s State, told func(string) string, now time.Time, width, height int) []string {
	f := &lines{width: width, height: height, told: told}
	f.head(s, now)
	if !s.Read.IsZero() {
		f.wrong(problemsOf(s, now), max(height-keptLines, len(f.all)+1))
		f.gap(1)
		for _, text := range figuresOf(s) {
			f.wrapped(text)
		}
		f.part(append(dutiesOf(s.Duties), membersOf(s.Members)...)...)
		var newest []string
		for _, e := range s.Events[max(0, len(s.Events)-max(0, height-len(f.all)-1)):] {
			newest = append(newest, e.Recorded.UTC().Format(time.TimeOnly)+"  "+e.Type+"  "+e.Sentence)
		}
		f.part(newest...)
	}
	return f.all[:min(len(f.all), height)]
}

// lines are those of a frame.
type lines struct {
	all           []string
	width, height int
	told          func(string) string
}

// gap sets a part of some lines off, if there is room.
func (f *lines) gap(lines int) {
	if lines > 0 && f.height-len(f.all) > lines {
		f.all = append(f.all, "")
	}
}

// part adds lines, cut at the width.
func (f *lines) part(some ...string) {
	f.gap(len(some))
	for _, text := range some {
		f.all = append(f.all, fit(f.harmless(text), f.width))
	}
}

// wrapped adds a text in one line or two, of which the second is set in.
func (f *lines) wrapped(text string) {
	text = f.harmless(text)
	end := cutAt(text, f.width)
	if space := strings.LastIndexByte(text[:end], ' '); end < len(text) && space > end/2 {
		end = space
	}
	f.all = append(f.all, strings.TrimRight(text[:end], " "))
	if end < len(text) {
		f.all = append(f.all, fit("    "+strings.TrimSpace(text[end:]), f.width))
	}
}

// harmless is a text as one line, with nothing in it that a terminal would obey.
func (f *lines) harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // Tabs, ends of lines, and the colours that Harmless leaves.
			return ' '
		}
		return r
	}, cli.Harmless(f.told(text)))
}

// fit cuts a text that is too wide.
func fit(text string, width int) string {
	if cutAt(text, width) == len(text) {
		return text
	}
	return text[:cutAt(text, width-1)] + "…"
}

// cutAt is how many bytes of a text fit into a width. A character that may be a wide one counts as two.
func cutAt(text string, width int) int {
	for i, r := range text {
		if width--; r >= 0x2300 || r >= 0x1100 && r < 0x1200 {
			width--
		}
		if width < 0 {
			return i
		}
	}
	return len(text)
}

// head says whether there is contact, and whether the host does what it is there for.
func (f *lines) head(s State, now time.Time) {
	switch {
	case s.lost != nil && s.Read.IsZero():
		f.wrapped(fmt.Sprintf("%s: %v", wordNoContact, s.lost))
	case s.lost != nil:
		f.wrapped(fmt.Sprintf("%s, what follows is %s old: %v", wordNoContact, ago(s.Read, now), s.lost))
	case s.Read.IsZero():
		f.wrapped("the host is asked")
	}
	if !s.Read.IsZero() {
		f.wrapped(cli.Headline(&cli.Printer{}, s.Status) + ": " + s.Status.Reason)
		f.hint(s.Status.Hint)
	}
}

func (f *lines) hint(text string) {
	if text != "" {
		f.wrapped("  do: " + text)
	}
}

// trouble is something that needs a person.
type trouble struct {
	word       string
	since      time.Time
	text, hint string
}

// problemsOf are the open alerts, and what else is in the way: the worst first, and of these the oldest.
func problemsOf(s State, now time.Time) (all []trouble) {
	known := map[string]bool{}
	for _, a := range s.Alerts.Open {
		known[a.Text], known[a.Kind], known[a.Subject] = true, true, true
		word := wordCritical
		if a.Severity == alert.Warning.String() {
			word = wordWarning
		}
		all = append(all, trouble{word, a.Since, fmt.Sprintf(" %s since %s%s: %s", a.Kind, clock(a.Since, now),
			untilOf(a, s.Duties), a.Text), a.Hint})
	}
	for _, o := range slices.Concat(s.Status.Readiness[min(1, len(s.Status.Readiness)):], s.Status.Warnings) {
		word := wordWarning
		if o.Proving == "no" {
			word = wordCritical
		}
		if !known[o.Reason] && !known[o.Code] {
			all = append(all, trouble{word, now, "  " + o.Reason, o.Hint})
		}
	}
	if s.missing != nil {
		all = append(all, trouble{wordWarning, now, "  not all is known: " + s.missing.Error(), ""})
	}
	slices.SortStableFunc(all, func(a, b trouble) int {
		return cmp.Or(cmp.Compare(a.word, b.word), a.since.Compare(b.since)) // C is before W.
	})
	return all
}

// untilOf says until when something can be done about an alert, or that nothing need be.
func untilOf(a view.Alert, d api.Duties) string {
	switch end := events.Unix((a.Period + 1) * d.PeriodSeconds); {
	case !a.Acknowledged.IsZero():
		return ", known to " + a.By
	case a.Muted:
		return ", muted"
	case a.Period > 0 && end.After(d.Now):
		return ", until " + clock(end, d.Now)
	}
	return ""
}

// wrong lists what needs a person, up to a line of the frame.
func (f *lines) wrong(all []trouble, last int) {
	for i, t := range all {
		if len(f.all) >= last {
			f.all = append(f.all[:last-1], fit(fmt.Sprintf("at least %d more: hostnode alerts", len(all)-i), f.width))
			return
		}
		f.wrapped(t.word + t.text)
		f.hint(t.hint)
	}
	f.all = f.all[:min(len(f.all), last)]
}

// figuresOf are space, money and sales.
func figuresOf(s State) []string {
	l, e := s.Status.Ledger, s.Earnings.Settled
	space := fmt.Sprintf("space   %s: %s unallocated, %s free, %s reserved, %s stored", cli.Size(l.Quota),
		cli.Size(l.Unallocated), cli.Size(l.Free), cli.Size(l.Reserved), cli.Size(l.Stored))
	if d := s.Status.Disk; d != nil {
		space += fmt.Sprintf("; disk: %s left", cli.Size(d.Free))
	}
	earned := fmt.Sprintf("money   %s earned, %s to come at most, %s paid for gas", money.Base(e.Net),
		money.Base(s.Earnings.ExpectedAtMost.String()), money.Wei(e.FeesWei))
	if b := s.Status.Balance; b != nil && b.Error == "" {
		earned += fmt.Sprintf("; has %s, %s", money.Base(b.Tokens), money.Wei(b.Wei))
	}
	sales, c := "sales   ", e.Sales
	for _, phase := range slices.Sorted(maps.Keys(s.Status.Phases)) {
		sales += fmt.Sprintf("%d %s, ", s.Status.Phases[phase], phase)
	}
	return []string{space, earned, sales + fmt.Sprintf("%d in the queue; %d finished, %d cancelled, %d failed",
		s.Status.Queue.Length, c.Finished, c.Cancelled, c.Failed)}
}

// dutiesOf counts what is owed, by deadline and kind, the soonest first.
func dutiesOf(d api.Duties) (told []string) {
	count := map[string]int{}
	var rows []string
	for _, one := range d.Duties {
		left := "over"
		if one.Deadline.After(d.Now) {
			left = "in " + ago(d.Now, one.Deadline)
		}
		row := fmt.Sprintf("by %s (%s)  %s", clock(one.Deadline, d.Now), left, one.Kind)
		if count[row]++; count[row] == 1 {
			rows = append(rows, row)
		}
	}
	for _, row := range rows[:min(len(rows), mostDuties)] {
		told = append(told, fmt.Sprintf("duties  %s: %d", row, count[row]))
	}
	return told
}

// membersOf are the members of a host that has several.
func membersOf(m api.Members) (told []string) {
	for _, one := range m.Members {
		text := fmt.Sprintf("member  %s %s, %s", one.Name, one.State, cli.Count(one.Sales, "sale"))
		if one.Owner {
			text += ", has the term"
		}
		if w := one.Work; w != nil {
			text += fmt.Sprintf(", %s due, prover %d %% busy", cli.Count(w.ProofsDue, "proof"), w.ProverBusy)
		}
		if m.Cluster {
			told = append(told, text)
		}
	}
	return told
}

// clock is a moment, without its date if it is less than a day away.
func clock(at, now time.Time) string {
	if at.Sub(now).Abs() < 24*time.Hour {
		return at.UTC().Format("15:04:05Z")
	}
	return cli.Clock(at)
}

// ago is the time between two moments; none if it is negative.
func ago(from, to time.Time) string { return cli.Span(uint64(max(0, to.Sub(from)) / time.Second)) }
