// Package downtime is the pure core that judges host nodes by what they did: window by window it knows whether a node
// was online, and finds who was offline too much. Start reading here. The rules:
//
//  1. Time is cut into windows of one length, which begin at its multiples since 1970, in UTC. An audit belongs to
//     the window of its own time, however late it comes, and counts once. Of a window only what it has matters, not
//     in which order it came: nothing but offline audits (01), nothing but online ones (10), or both (11).
//  2. A window without audits is neither good nor bad. One in which nobody watched, or in which the network here was
//     at fault, is void: nobody is blamed for it, it counts as one that was not offline, and the clock of a review
//     stands still meanwhile.
//  3. Judged are complete windows only, those of the tracking period before now. By the rule set "document" a node is
//     offending when more than a fraction of them is 01; exactly the fraction is tolerated. By "scored" it is when
//     the mean of what its windows were online is below a limit. All arithmetic is in integers and fractions.
//  4. Who is offending is suspended. Who is suspended and not offending is reinstated, however late. Who is still
//     offending when grace period and tracking period have passed since the suspension is disqualified. No later
//     audit moves that clock.
//  5. Only a person takes a disqualification back. What a person decides has a name and a reason; a suspension by a
//     person is not lifted by the windows, and after a reinstatement by a person earlier windows do not count.
//  6. Each verdict has the windows, the counts and the limit that it rests on. The windows are recorded before it.
//  7. Time does not go back: what is said later about an earlier time is refused.
//
// # How an actor drives it
//
// Each node has a stream (events.NodeStream) and, like every machine, a journal, which appends at the revision that
// it knows; who is refused reloads and decides again, so two actors may do all of this at once. Each command may be
// repeated: what is recorded already brings nothing. At of every command is what the clock says then, the machine's or
// the chain's, but always the same one. In this order:
//
//   - at the start, and whenever a new node is seen: Join with the rules of the configuration (cause "start");
//   - after it did not watch for a while: Void for each node of the fleet, from when to when, before anything else is
//     decided ("start"). How long a pause has to be to matter depends on how often it audits, so it decides that;
//   - audits gather in memory until their windows are over (Service.StartOf), because a crash in between is a pause;
//     what the chain says is read again. Then Write, with all audits of a node ("look"). Late ones are written when
//     they come. A Write with one audit that is wrong records none, and its error names it; then each is written alone;
//   - after that Service.Chore over the states of all nodes, and for each run it returns its commands, in order
//     ("look"). A run that comes late is made once, for now;
//   - from an operator, whenever it comes: Force, Maintain ("operator").
//
// Nothing else has to be remembered beside the streams: who must be warned, and until when a node must be back,
// follows from the states (outlook.go). There are no effects: the queue asks State.Status before it hands out a slot.
//
// The package has no clock and does no I/O.
package downtime

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is an event of a node that is watched.
type Event = messages.NodeEvent

// Errors of commands.
var (
	ErrNotJoined  = errors.New("this node is not watched")
	ErrClock      = errors.New("the clock went back")
	ErrFuture     = errors.New("that is in the future")
	ErrOpen       = errors.New("the window of the audit is not over")
	ErrNotWatched = errors.New("the node was not watched then, or by windows of another length")
	// ErrContradiction: an audit was recorded with another outcome, from another source or in another window.
	ErrContradiction = errors.New("two sources disagree about one audit")
	ErrUnexplained   = errors.New("who decides gives a name and a reason")
	ErrUnderReview   = errors.New("the node cannot leave while it is suspended or under review")
)

const (
	// maxID is the most bytes of an audit's id: source, slot and period, as text, are about a hundred.
	maxID = 200
	// maxAudits is the most audits of one event, some 200 KB. A window may have more.
	maxAudits = 1_000
)

// Status is what became of a node.
type Status uint8

// The statuses.
const (
	Unknown Status = iota // It never joined.
	Active
	Suspended
	Disqualified
	Exited
)

func (s Status) String() string {
	return events.NameOf(s, "status %d", "unknown", "active", "suspended", "disqualified", "exited")
}

// State is what is known of a node. The zero State never joined. Evolve does not change the State that it gets.
type State struct {
	Status Status
	Since  time.Time // of the status
	Rules  Service
	// Windows are in order of time, without those that are needed no longer.
	Windows []Window
	// Voids are in order of From.
	Voids []Voided
	// Begins is where windows of the present length begin, First where the first one with an audit does.
	Begins, First int64
	// CountFrom is when a person reinstated the node: earlier windows do not count.
	CountFrom time.Time
	// SuspendedAt is zero if it is not suspended; Review is the beginning of a review that outlasts suspensions.
	SuspendedAt, Review time.Time
	// Proposed says that a person is asked to disqualify it, Held that a person suspended it.
	Proposed, Held bool
	Maintenance    Maintain // the newest that was announced
	// Latest is the time of the newest event.
	Latest time.Time
}

// Judged reports whether the windows decide about the node.
func (s State) Judged() bool { return s.Status == Active || s.Status == Suspended }

// Command is something to be decided about a node, at a time.
//
//sumtype:decl
type Command interface{ command() (at time.Time) }

// The commands.
type (
	// Join has a node watched, by these rules; or changes them.
	Join struct {
		At    time.Time
		Rules Service
	}
	// Write records audits of windows that are over.
	Write struct {
		At     time.Time
		Audits []Audit
	}
	// Void says of which time windows do not count: because nobody watched, or, with All, by the guard. Lifted: they
	// count again.
	Void struct {
		At, From, Until time.Time
		Reason          string
		All, Lifted     bool
	}
	// Judge has the windows decide.
	Judge struct{ At time.Time }
	// Force has a person decide: To is Active, Suspended or Disqualified; or Exited, if the node has left.
	Force struct {
		At         time.Time
		To         Status
		By, Reason string
	}
	// Maintain announces that the node will be away on purpose.
	Maintain struct {
		At, From, Until time.Time
		By, Reason      string
	}
)

func (c Join) command() time.Time     { return c.At }
func (c Write) command() time.Time    { return c.At }
func (c Void) command() time.Time     { return c.At }
func (c Judge) command() time.Time    { return c.At }
func (c Force) command() time.Time    { return c.At }
func (c Maintain) command() time.Time { return c.At }

// Decide returns the events that follow from c; none when it is recorded already, or no longer matters. An error
// comes without events.
func Decide(s State, c Command) ([]Event, error) {
	at := c.command()
	if at.Before(s.Latest) {
		return nil, fmt.Errorf("%w: it is %s, and the newest event is of %s", ErrClock, stamp(at), stamp(s.Latest))
	}
	out, err := decide(s, c)
	if err != nil {
		return nil, err
	}
	return events.Stamp(out, at), nil
}

func decide(s State, c Command) ([]Event, error) {
	if _, join := c.(Join); !join && (s.Status == Unknown || s.Status == Exited) {
		return nil, ErrNotJoined
	}
	switch c := c.(type) {
	case Join:
		return decideJoin(s, c)
	case Force:
		return decideForce(s, c)
	case Write:
		if s.Judged() {
			return decideWrite(s, c)
		}
	case Judge:
		if s.Judged() {
			return decideJudge(s, c.At), nil
		}
	case Void:
		if c.Until.After(c.At) {
			return nil, fmt.Errorf("void until %s: %w: it is %s", stamp(c.Until), ErrFuture, stamp(c.At))
		}
		if !s.Judged() || slices.ContainsFunc(s.Voids, c.same) != c.Lifted || !c.Until.After(c.From) {
			return nil, nil
		}
		return []Event{&messages.WindowsVoided{
			From: events.TimeToMessage(c.From), Until: events.TimeToMessage(c.Until), Reason: c.Reason, All: c.All,
			Lifted: c.Lifted,
		}}, nil
	case Maintain:
		told := s.Maintenance
		same := told.From.Equal(c.From) && told.Until.Equal(c.Until) && told.By == c.By && told.Reason == c.Reason
		if !s.Judged() || same || !c.Until.After(c.At) || !c.Until.After(c.From) {
			return nil, nil
		}
		if c.By == "" || c.Reason == "" {
			return nil, ErrUnexplained
		}
		return []Event{&messages.MaintenanceAnnounced{
			From: events.TimeToMessage(c.From), Until: events.TimeToMessage(c.Until), By: c.By, Reason: c.Reason,
		}}, nil
	}
	return nil, nil
}

func (c Void) same(v Voided) bool {
	return v.From.Equal(c.From) && v.Until.Equal(c.Until) && v.All == c.All
}

func decideJoin(s State, c Join) ([]Event, error) {
	if err := c.Rules.Check(); err != nil {
		return nil, err
	}
	switch {
	case s.Status == Unknown || s.Status == Exited:
		return []Event{&messages.NodeJoined{Rules: c.Rules.message()}}, nil
	case s.Judged() && s.Rules != c.Rules:
		return []Event{&messages.NodeRulesChanged{Rules: c.Rules.message()}}, nil
	}
	return nil, nil
}

// decideWrite records the audits, window by window. Those of windows that are kept no longer do not matter.
func decideWrite(s State, c Write) (out []Event, err error) {
	audits := slices.SortedFunc(slices.Values(c.Audits), func(a, b Audit) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
	})
	audits = slices.DeleteFunc(audits, func(a Audit) bool { return s.Rules.start(a.Time) < s.Rules.bound(c.At) })
	for _, a := range audits {
		if err := s.refuses(a, c.At); err != nil {
			return nil, fmt.Errorf("audit %s of %s: %w", events.Clip(a.ID, maxID), stamp(a.Time), err)
		}
	}
	for len(audits) > 0 {
		w, known := s.windowOf(audits[0].Time)
		var fresh []*messages.NodeAudit
		for len(audits) > 0 && len(fresh) < maxAudits && audits[0].Time.Unix() < w.end() {
			a := audits[0]
			if s.contradicts(w, a) {
				return nil, fmt.Errorf("audit %s of %s: %w", a.ID, stamp(a.Time), ErrContradiction)
			}
			with, changed := w.add(a.mark())
			if changed {
				fresh = append(fresh, a.message())
			}
			w, audits = with, audits[1:]
		}
		if len(fresh) > 0 {
			e := windowEvent(w, known, fresh)
			out, s = append(out, e), Evolve(s, e)
		}
	}
	return out, nil
}

// refuses says what is wrong with an audit.
func (s State) refuses(a Audit, now time.Time) error {
	w, known := s.windowOf(a.Time)
	switch {
	case !a.known():
		return fmt.Errorf("%w: an id of at most %d bytes, source and outcome are needed", events.ErrMalformed, maxID)
	case a.Time.After(now):
		return fmt.Errorf("%w: it is %s", ErrFuture, stamp(now))
	case w.end() > now.Unix():
		return fmt.Errorf("%w: it is %s", ErrOpen, stamp(now))
	case !known && w.Start < s.Begins:
		return fmt.Errorf("%w: windows of %s begin at %s", ErrNotWatched, s.Rules.WindowLength,
			stamp(time.Unix(s.Begins, 0)))
	}
	return nil
}

// windowOf is the window that a time belongs to; false: it has no audits yet. What has audits keeps its length.
func (s State) windowOf(t time.Time) (Window, bool) {
	i, exact := slices.BinarySearchFunc(s.Windows, t.Unix(), byStart)
	if !exact {
		i--
	}
	if i >= 0 && t.Unix() < s.Windows[i].end() {
		return s.Windows[i], true
	}
	return Window{Start: s.Rules.start(t), Length: s.Rules.length()}, false
}

// contradicts reports whether an audit of a window was counted as another one.
func (s State) contradicts(w Window, a Audit) bool {
	m := a.mark()
	if i, found := w.find(m.ID); found && w.Marks[i].Version == m.Version {
		return w.Marks[i] != m
	}
	return slices.ContainsFunc(s.Windows, func(other Window) bool {
		_, found := other.find(m.ID)
		return found && other.Start != w.Start
	})
}

// Revised is an audit that replaces what was recorded of the same one, if that was found otherwise. It is for audits
// that can be made again, such as those of the chain after a reorganisation.
func (s State) Revised(a Audit) Audit {
	w, _ := s.windowOf(a.Time)
	if i, found := w.find(idOf(a.ID)); found {
		known := w.Marks[i]
		if a.Version = known.Version; known.Outcome != a.Outcome {
			a.Version++
		}
	}
	return a
}

// WatchedSince is when the first window began of which audits are taken.
func (s State) WatchedSince() time.Time { return time.Unix(s.Begins, 0).UTC() }

func (a Audit) message() *messages.NodeAudit {
	return &messages.NodeAudit{
		Id: a.ID, Source: a.Source.String(), Outcome: a.Outcome.String(), Time: events.TimeToMessage(a.Time),
		Version: a.Version,
	}
}

// windowEvent says what is new in a window; w has it already.
func windowEvent(w Window, known bool, fresh []*messages.NodeAudit) Event {
	start, t := events.TimeToMessage(time.Unix(w.Start, 0)), w.Tally()
	if known {
		return &messages.WindowRevised{
			Start: start, LengthSeconds: uint64(w.Length), Audits: fresh, Online: t.Online, Offline: t.Offline,
		}
	}
	return &messages.WindowClosed{
		Start: start, LengthSeconds: uint64(w.Length), Audits: fresh, Online: t.Online, Offline: t.Offline,
	}
}

// decideJudge is one node in a run of the chore.
func decideJudge(s State, at time.Time) (out []Event) {
	v, r := s.Judge(at), s.Rules
	if !r.SuspensionOff && (s.Held || r.Evidence && v.Windows == 0) {
		return nil
	}
	say := func(e Event) { out, s = append(out, e), Evolve(s, e) }
	offending := v.Offending && !r.SuspensionOff
	if offending && s.Status == Active {
		say(&messages.NodeSuspended{At: events.TimeToMessage(at), Verdict: v.message()})
	}
	if s.Status == Suspended && r.single() && s.Review.IsZero() {
		say(&messages.ReviewStarted{Verdict: v.message()})
	}
	late := s.late(at)
	switch {
	case offending && late && r.Disqualification == Disqualify:
		say(&messages.NodeDisqualified{Verdict: v.message()})
	case offending && late && r.Disqualification == Propose && !s.Proposed:
		say(&messages.DisqualificationProposed{Verdict: v.message()})
	case !offending && s.Status == Suspended && (r.SuspensionOff || !r.Evidence || s.onlineSince(s.SuspendedAt)):
		say(&messages.NodeReinstated{Verdict: v.message()})
	}
	if s.Status == Active && !s.Review.IsZero() && (late || !r.single() || r.SuspensionOff) {
		say(&messages.ReviewEnded{Verdict: v.message()})
	}
	return out
}

func (r Service) single() bool { return r.SingleReview || r.RuleSet == Scored }

// clock is since when a node that is suspended, or under review, has to be back; zero: it is neither.
func (s State) clock() time.Time {
	if s.Review.IsZero() {
		return s.SuspendedAt
	}
	return s.Review
}

// Deadline is by when it must not be offending any more; zero: it is neither suspended nor under review.
func (s State) Deadline() time.Time {
	since := s.clock()
	if since.IsZero() {
		return since
	}
	return since.Add(s.Rules.GracePeriod + s.Rules.TrackingPeriod + s.asleep(since))
}

// late reports whether the deadline is over. When it is reached exactly it is, by Document, and is not, by Scored.
func (s State) late(at time.Time) bool {
	deadline := s.Deadline()
	return !deadline.IsZero() && (at.After(deadline) || at.Equal(deadline) && s.Rules.RuleSet == Document)
}

func decideForce(s State, c Force) ([]Event, error) {
	switch {
	case c.To == Exited && s.Status == Disqualified: // Joining again would take that back.
		return nil, nil
	case c.To == Exited && !s.clock().IsZero():
		return nil, fmt.Errorf("%w, until %s; a person may reinstate or disqualify it first",
			ErrUnderReview, stamp(s.Deadline()))
	case c.By == "" || c.Reason == "":
		return nil, ErrUnexplained
	case c.To == Exited:
		return []Event{&messages.NodeExited{By: c.By, Reason: c.Reason}}, nil
	case c.To == Suspended && (s.Status == Active || s.Status == Suspended && !s.Held):
		return []Event{&messages.NodeSuspended{By: c.By, Reason: c.Reason}}, nil
	case c.To == Active && s.Status != Active:
		return []Event{&messages.NodeReinstated{By: c.By, Reason: c.Reason}}, nil
	case c.To == Disqualified && s.Status != Disqualified:
		return []Event{&messages.NodeDisqualified{By: c.By, Reason: c.Reason}}, nil
	}
	return nil, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
