package downtime

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Source is who asked whether a node is online.
type Source uint8

// The sources. What the chain says can be read again after the watcher slept; what the others would have said cannot.
const (
	NoSource Source = iota
	Proof           // a proof was owed to the market: it came, or it is missing
	Loss            // a slot was freed because proofs were missing
	Probe           // the node answered a scheduled question, or did not
	Member          // the lease of a member of our cluster
)

func (s Source) String() string { return events.NameOf(s, "source %d", sources...) }

var sources = []string{"", "proof", "loss", "probe", "member"}

// chain reports whether the chain is the source.
func (s Source) chain() bool { return s == Proof || s == Loss }

// Outcome is what an audit found.
type Outcome uint8

// The outcomes. A withdrawn audit, such as one of a proof that after a reorganisation was never owed, is none.
const (
	NoOutcome Outcome = iota
	Online
	Offline
	Withdrawn
)

func (o Outcome) String() string { return events.NameOf(o, "outcome %d", outcomes...) }

var outcomes = []string{"", "online", "offline", "withdrawn"}

// Audit is an answer to the question of whether a node is online. It counts once, by its ID, in the window of its
// Time. A higher Version of it, after a reorganisation, replaces it.
type Audit struct {
	ID      string
	Source  Source
	Outcome Outcome
	Time    time.Time
	Version uint32
}

// known reports whether it has an id, a source and an outcome.
func (a Audit) known() bool {
	return a.ID != "" && len(a.ID) <= maxID && a.Source != NoSource && int(a.Source) < len(sources) &&
		a.Outcome != NoOutcome && int(a.Outcome) < len(outcomes)
}

func (a Audit) mark() Mark { return Mark{idOf(a.ID), a.Version, a.Source, a.Outcome} }

// Mark is what a window remembers of an audit. ID is the beginning of the SHA-256 of the audit's.
type Mark struct {
	ID      uint64
	Version uint32
	Source  Source
	Outcome Outcome
}

func idOf(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

// Window is what is known of a node in a window of time. Start is in seconds since 1970, Length in seconds. Marks are
// in order of their IDs.
type Window struct {
	Start, Length int64
	Marks         []Mark
}

// Tally counts audits.
type Tally struct{ Online, Offline uint32 }

// Total is how many there are.
func (t Tally) Total() uint32 { return t.Online + t.Offline }

// Bits are 01 if there was an offline audit, 10 if there was an online one, 11 for both.
func (t Tally) Bits() (bits uint8) {
	if t.Offline > 0 {
		bits |= 0b01
	}
	if t.Online > 0 {
		bits |= 0b10
	}
	return bits
}

// Tally counts all audits of the window.
func (w Window) Tally() Tally { return w.tally(false) }

func (w *Window) tally(chainOnly bool) (t Tally) {
	for i := range w.Marks {
		switch m := &w.Marks[i]; {
		case chainOnly && !m.Source.chain() || m.Outcome == Withdrawn:
		case m.Outcome == Online:
			t.Online++
		default:
			t.Offline++
		}
	}
	return t
}

func (w *Window) end() int64 { return w.Start + w.Length }

// find returns the place of an audit among the marks.
func (w Window) find(id uint64) (int, bool) {
	return slices.BinarySearchFunc(w.Marks, id, func(m Mark, id uint64) int { return cmp.Compare(m.ID, id) })
}

// add returns the window with an audit; false: it has that one, or a higher version.
func (w Window) add(m Mark) (Window, bool) {
	i, found := w.find(m.ID)
	switch {
	case !found:
		w.Marks = slices.Insert(slices.Clone(w.Marks), i, m)
	case m.Version > w.Marks[i].Version:
		w.Marks = slices.Clone(w.Marks)
		w.Marks[i] = m
	default:
		return w, false
	}
	return w, true
}

// Voided is a time of which windows do not count: audits by probes and members, or All.
type Voided struct {
	From, Until time.Time
	Reason      string
	All         bool
}

func (v Voided) overlaps(w *Window) bool {
	return v.From.Unix() < w.end() && v.Until.After(time.Unix(w.Start, 0))
}

// tallyBut counts the audits of a window that count; void: some do not, and none are left. Without all, only the times
// in which nobody watched are left out.
func (w *Window) tallyBut(voids []Voided, all bool) (t Tally, void bool) {
	chainOnly := false
	for _, v := range voids {
		if v.overlaps(w) {
			if v.All && all {
				return Tally{}, w.Tally().Total() > 0
			}
			chainOnly = chainOnly || !v.All
		}
	}
	t = w.tally(chainOnly)
	return t, chainOnly && t.Total() == 0 && w.Tally().Total() > 0
}

// Counted is the tally of a window as it is judged. Void: it has audits, and none of them counts.
func (s State) Counted(w Window) (t Tally, void bool) { return w.tallyBut(s.Voids, true) }

// span are the windows that are judged at a point in time: complete ones of the tracking period, of the present
// length.
func (s *State) span(now time.Time) []Window {
	until := s.Rules.start(now)
	i, _ := slices.BinarySearchFunc(s.Windows, s.judgedFrom(until), byStart)
	n, _ := slices.BinarySearchFunc(s.Windows[i:], until, byStart)
	return s.Windows[i : i+n]
}

// judgedFrom is where the first window may start that is judged before a point in time.
func (s *State) judgedFrom(until int64) int64 {
	from := until - int64(s.Rules.TrackingPeriod/time.Second)
	if !s.CountFrom.IsZero() {
		from = max(from, s.CountFrom.Add(time.Second-1).Unix())
	}
	return max(from, s.Begins)
}

func byStart(w Window, start int64) int { return cmp.Compare(w.Start, start) }

// Score is what a set of rules says of windows. A void window counts as one that was not offline: if it were left out,
// a node with a few offline windows would be suspended because nobody watched for long.
type Score struct {
	Offline uint32 `json:"offline"` // windows with nothing but offline audits
	Windows uint32 `json:"windows"` // with audits that count
	Void    uint32 `json:"void"`    // with audits of which none counts
	// Value is the fraction that is offline (document), or the mean of what was online (scored), as text with six
	// digits; Limit is what it may not pass, in hundredths of a percent.
	Value string     `json:"value"`
	Limit Percentage `json:"limit"`
}

// Verdict is what the windows of a tracking period say.
type Verdict struct {
	RuleSet RuleSet
	Score
	From, Until time.Time
	Offending   bool
}

// Judge judges the windows before a point in time. No status depends on it alone.
func (s State) Judge(now time.Time) Verdict {
	r := s.Rules
	until := r.StartOf(now)
	v := Verdict{RuleSet: r.RuleSet, From: until.Add(-r.TrackingPeriod), Until: until}
	up, partly := int64(0), new(big.Rat)
	span := s.span(now)
	for i := range span { // This is where a run of the chore spends its time: nothing is copied, and no text made.
		t, void := span[i].tallyBut(s.Voids, true)
		switch {
		case void:
			v.Void++
			continue
		case t.Total() == 0: // Nothing but what was withdrawn.
			continue
		case t.Online == 0:
			v.Offline++
		case t.Offline == 0:
			up++
		case r.RuleSet == Scored:
			partly.Add(partly, big.NewRat(int64(t.Online), int64(t.Total())))
		}
		v.Windows++
	}
	v.Void += s.slept(until)
	n, enough := int64(max(v.Of(), 1)), v.Windows >= max(r.MinimumWindows, 1)
	if r.RuleSet == Scored {
		mean := partly.Add(partly, big.NewRat(up+int64(v.Void), 1))
		if v.Of() == 0 {
			mean.SetInt64(1)
		}
		mean.Quo(mean, big.NewRat(n, 1))
		v.Limit, v.Value = r.RequiredOnlinePercentage, mean.FloatString(6)
		v.Offending = enough && s.full(v) && mean.Cmp(big.NewRat(int64(v.Limit), int64(whole))) < 0
		return v
	}
	v.Limit, v.Value = r.AllowedOfflinePercentage, sixDigits(int64(v.Offline), n)
	v.Offending = enough && int64(v.Offline)*int64(whole) > int64(v.Limit)*n
	return v
}

// sixDigits is a fraction as text, rounded as big.Rat does it, which takes several times as long.
func sixDigits(part, of int64) string {
	millionths := (2*part*1_000_000 + of) / (2 * of)
	return fmt.Sprintf("%d.%06d", millionths/1_000_000, millionths%1_000_000)
}

// Of is how many windows it is about.
func (s Score) Of() uint32 { return s.Windows + s.Void }

// slept is how many windows of the judged span have no audits because nobody watched.
func (s State) slept(until time.Time) (n uint32) {
	from, length := s.judgedFrom(until.Unix()), s.Rules.length()
	for _, v := range s.Voids { // In order of From, and they may overlap.
		if v.All {
			continue
		}
		start := max(from, s.Rules.start(v.From))
		for ; start < until.Unix() && start < v.Until.Unix(); start += length {
			if _, audited := slices.BinarySearchFunc(s.Windows, start, byStart); !audited {
				n++
			}
		}
		from = max(from, start)
	}
	return n
}

// Slept reports whether nobody watched in a window, or in a part of it.
func (s State) Slept(start time.Time) bool {
	w := &Window{Start: start.Unix(), Length: s.Rules.length()}
	return slices.ContainsFunc(s.Voids, func(v Voided) bool { return !v.All && v.overlaps(w) })
}

// full reports whether the tracking period before a verdict is full.
func (s State) full(v Verdict) bool {
	if s.Rules.ElapsedGaps {
		return s.First > 0 && v.From.Unix() >= s.First
	}
	return time.Duration(v.Of())*s.Rules.WindowLength >= s.Rules.TrackingPeriod
}

func (v Verdict) message() *messages.NodeVerdict {
	return &messages.NodeVerdict{
		RuleSet: string(v.RuleSet), Offline: v.Offline, Windows: v.Windows, Void: v.Void, Value: v.Value,
		Limit: uint32(v.Limit), From: events.TimeToMessage(v.From), Until: events.TimeToMessage(v.Until),
	}
}

// VerdictOf is a verdict as it was recorded.
func VerdictOf(m *messages.NodeVerdict) Verdict {
	return Verdict{
		RuleSet: RuleSet(m.GetRuleSet()), From: events.TimeFromMessage(m.GetFrom()),
		Until: events.TimeFromMessage(m.GetUntil()),
		Score: Score{m.GetOffline(), m.GetWindows(), m.GetVoid(), m.GetValue(), Percentage(m.GetLimit())},
	}
}

// String is the verdict in a sentence: "10 of 48 windows offline: 0.208333, at most 20.00 % may be".
func (v Verdict) String() string {
	limit := fmt.Sprintf("at most %s may be", v.Limit)
	if v.RuleSet == Scored {
		limit = fmt.Sprintf("online on average at least %s", v.Limit)
	}
	void := ""
	if v.Void > 0 {
		void = fmt.Sprintf(", %d of them void", v.Void)
	}
	return fmt.Sprintf("%d of %d windows offline%s: %s, %s", v.Offline, v.Of(), void, v.Value, limit)
}

// onlineSince reports whether a window that began since then has an online audit that counts.
func (s State) onlineSince(since time.Time) bool {
	return slices.ContainsFunc(s.Windows, func(w Window) bool {
		t, _ := s.Counted(w)
		return !time.Unix(w.Start, 0).Before(since) && t.Online > 0
	})
}

// asleep is how much of the time since then is void.
func (s State) asleep(since time.Time) (sum time.Duration) {
	end := since
	for _, v := range s.Voids { // In order of From.
		from := v.From
		if from.Before(end) {
			from = end
		}
		if v.Until.After(from) {
			sum, end = sum+v.Until.Sub(from), v.Until
		}
	}
	return sum
}
