// Package alert is the pure core of what needs a person: alerts that are open until they are cleared, who knows of
// them, which are muted, and what is still to be delivered by which channel. Start reading here. The rules:
//
//  1. An alert is known by its kind, the member that noticed it, and its subject. While it is open, raising it again
//     is no new alert. If its words change, that is recorded; if a warning becomes critical, it is delivered again,
//     although it was acknowledged, and so is what happened once more (rule 2).
//  2. It is open until it is cleared. One that says what happened at a moment, such as a slash, has no end of its own:
//     it is over when a person has acknowledged it, or after a week in which it was not raised again.
//  3. Each channel is told once that an alert was raised, and once that it is cleared. What was acknowledged or is
//     muted is not told. What was cleared before a channel took it is told in one message, as cleared.
//  4. A channel that fails is tried again after a pause that doubles, up to an hour, whatever was done to the clock. It
//     then begins with the alert that it refused least often, so that one alert cannot keep back the others.
//  5. Who acknowledges, mutes or unmutes gives a name. An end of a mute that is reached is recorded, too.
//
// The room (actors/alerts) has commands decided and performs what Next names. Each command may be repeated. A clock
// that goes back stops nothing: the time of an event is never before that of the one before it.
//
// The package has no clock and does no I/O.
package alert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is an event of the alerts of a host.
type Event = messages.AlertEvent

// Errors of commands.
var (
	ErrNoAlert = errors.New("no such alert is open")
	ErrNoMute  = errors.New("no such mute is in force")
	ErrUnnamed = errors.New("who acknowledges or mutes gives a name and says why")
	ErrEnd     = errors.New("a mute needs a kind and an end, within a year")
)

const (
	// firstPause and longestPause are those between two tries of a channel.
	firstPause, longestPause = 15 * time.Second, time.Hour
	// forgetAfter is how long an alert of a moment waits for an acknowledgement.
	forgetAfter = 7 * 24 * time.Hour
	longestMute = 366 * 24 * time.Hour
	// maxText limits what is recorded of the words of others, in bytes.
	maxText = 2_000
)

// Severity says how urgent an alert is. The zero Severity is that of none.
type Severity uint8

// The severities.
const (
	None     Severity = iota
	Warning           // Nothing is lost yet.
	Critical          // A limit is passed: something is being lost, or was.
)

func (s Severity) String() string {
	return events.NameOf(s, "severity %d", "none", "warning", "critical")
}

func severityOf(name string) Severity {
	if name == Warning.String() {
		return Warning
	}
	return Critical
}

// Key is what an alert is known by.
type Key struct{ Kind, Member, Subject string }

// stored is the key as the record has it.
func (k Key) stored() Key { return Key{clip(k.Kind), clip(k.Member), clip(k.Subject)} }

// Alert is one that is open, or whose end is not delivered everywhere.
type Alert struct {
	Number uint64
	Key
	Since, Last time.Time // it was noticed, and raised last
	Severity    Severity
	Text, Hint  string
	Slot        string
	Period      uint64
	Moment      bool
	// Times counts how often it was raised in other words.
	Times        uint64
	By, Note     string // who acknowledged it
	Acknowledged time.Time
	Cleared      time.Time // zero: it is open
	Reason       string    // why it is cleared
	Hushed       bool      // it was acknowledged or muted when it was cleared
	Told         []Told
}

// Told is what a channel has taken of an alert.
type Told struct {
	Channel  string
	Severity Severity // with which it was told that it was raised
	Times    uint64   // of the alert, then
	Cleared  bool
	Tries    uint32 // that failed
}

// Open reports whether it is not cleared.
func (a Alert) Open() bool { return a.Cleared.IsZero() }

func (a Alert) told(channel string) Told {
	i := slices.IndexFunc(a.Told, func(t Told) bool { return t.Channel == channel })
	if i < 0 {
		return Told{Channel: channel}
	}
	return a.Told[i]
}

// news reports whether a channel that was told this much has not been told how an open alert is now.
func (a Alert) news(t Told) bool { return t.Severity < a.Severity || a.Moment && t.Times < a.Times }

// Mute keeps alerts of a kind from being delivered. Subject empty: any.
type Mute struct {
	Kind    string    `json:"kind"`
	Subject string    `json:"subject,omitempty"`
	Until   time.Time `json:"until"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
}

// Channel is a way by which alerts are delivered.
type Channel struct {
	Name     string    `json:"name"`
	Failures uint32    `json:"failures,omitempty"` // in a row
	Retry    time.Time `json:"retry,omitzero"`     // the next try
	Reason   string    `json:"reason,omitempty"`   // of the newest failure
}

// State is what is known of the alerts of a host. Evolve does not change the State that it gets.
type State struct {
	Latest   time.Time // of the newest event
	Raised   uint64    // alerts ever
	Alerts   []Alert   // by number
	Mutes    []Mute
	Channels []Channel
}

// Find is the open alert with a key; false: there is none.
func (s State) Find(key Key) (Alert, bool) {
	i := slices.IndexFunc(s.Alerts, func(a Alert) bool { return a.Key == key && a.Open() })
	if i < 0 {
		return Alert{}, false
	}
	return s.Alerts[i], true
}

// Muted reports whether alerts like this one are not delivered now.
func (s State) Muted(key Key) bool {
	return slices.ContainsFunc(s.Mutes, func(m Mute) bool {
		return m.Kind == key.Kind && (m.Subject == "" || m.Subject == key.Subject)
	})
}

// Of is the alert of a number, open or not; false: it is done with, or there never was one.
func (s State) Of(number uint64) (Alert, bool) {
	i := slices.IndexFunc(s.Alerts, func(a Alert) bool { return a.Number == number })
	if i < 0 {
		return Alert{}, false
	}
	return s.Alerts[i], true
}

// due reports whether a channel has yet to be told of an alert as it is now.
func (s State) due(a Alert, channel string) bool {
	t := a.told(channel)
	if !a.Open() {
		return !t.Cleared && (t.Severity > None || !a.Hushed)
	}
	return a.news(t) && a.Acknowledged.IsZero() && !s.Muted(a.Key)
}

// Delivery is an alert that is to be delivered by a channel, not before a time.
type Delivery struct {
	Alert     Alert
	Channel   string
	NotBefore time.Time
}

// Key names the delivery, and no other one. One that is under way goes on if only the words change.
func (d Delivery) Key() string {
	times := d.Alert.Times
	if !d.Alert.Moment {
		times = 0
	}
	return fmt.Sprintf("%s/%d/%s/%d/%t/%d", d.Channel, d.Alert.Number, d.Alert.Severity,
		times, !d.Alert.Open(), d.Alert.told(d.Channel).Tries)
}

// Due reports whether the channel may be tried at a time. A try that is further away than the longest pause was planned
// before the clock was set back.
func (d Delivery) Due(at time.Time) bool {
	wait := d.NotBefore.Sub(at)
	return wait <= 0 || wait > longestPause
}

// Outcome is the command that says what the delivery came to; failed empty: the channel took it.
func (d Delivery) Outcome(at time.Time, failed string) Outcome {
	return Outcome{
		At: at, Number: d.Alert.Number, Channel: d.Channel, Severity: d.Alert.Severity, Times: d.Alert.Times,
		Cleared: !d.Alert.Open(), Failed: failed,
	}
}

// Next are the deliveries that are wanted now, at most one by each channel.
func Next(s State) (all []Delivery) {
	for _, c := range s.Channels {
		var next *Alert
		for i, a := range s.Alerts {
			if s.due(a, c.Name) && (next == nil || a.told(c.Name).Tries < next.told(c.Name).Tries) {
				next = &s.Alerts[i]
			}
		}
		if next != nil {
			all = append(all, Delivery{*next, c.Name, c.Retry})
		}
	}
	return all
}

// Command is something to be decided, at a time.
//
//sumtype:decl
type Command interface{ command() (at time.Time) }

// The commands.
type (
	// Raise says that something needs a person.
	Raise struct {
		Key
		At, Since  time.Time // Since it was noticed; zero: at At
		Severity   Severity
		Text, Hint string
		Slot       string
		Period     uint64
		Moment     bool
		// Delivered are the channels that have taken it already, before it could be recorded.
		Delivered []string
	}
	// Clear says that it is over.
	Clear struct {
		Key
		At     time.Time
		Reason string
	}
	// Acknowledge says that a person knows of an alert; 0: of all that are open. ErrNoAlert, ErrUnnamed.
	Acknowledge struct {
		At       time.Time
		Number   uint64
		By, Note string
	}
	// SetMute has alerts not delivered for a while. ErrEnd, ErrUnnamed.
	SetMute struct {
		At time.Time
		Mute
	}
	// Unmute has them delivered again. ErrNoMute, ErrUnnamed.
	Unmute struct {
		At                time.Time
		Kind, Subject, By string
	}
	// SetChannels says by which channels alerts are delivered.
	SetChannels struct {
		At    time.Time
		Names []string
	}
	// Outcome is what a delivery came to; Failed empty: the channel took it.
	Outcome struct {
		At      time.Time
		Number  uint64
		Channel string
		// Severity, Times and Cleared are those of the alert when it was delivered.
		Severity Severity
		Times    uint64
		Cleared  bool
		Failed   string
	}
	// Tick says that time has passed.
	Tick struct{ At time.Time }
)

func (c Raise) command() time.Time       { return c.At }
func (c Clear) command() time.Time       { return c.At }
func (c Acknowledge) command() time.Time { return c.At }
func (c SetMute) command() time.Time     { return c.At }
func (c Unmute) command() time.Time      { return c.At }
func (c SetChannels) command() time.Time { return c.At }
func (c Outcome) command() time.Time     { return c.At }
func (c Tick) command() time.Time        { return c.At }

// Decide returns the events that follow from c; none when it changes nothing. An error comes without events.
func Decide(s State, c Command) ([]Event, error) {
	at := c.command().UTC()
	if at.Before(s.Latest) {
		at = s.Latest
	}
	all, err := decide(s, c, at)
	return events.Stamp(all, at), err
}

func decide(s State, c Command, at time.Time) ([]Event, error) {
	switch c := c.(type) {
	case Raise:
		return raise(s, c, at), nil
	case Clear:
		if a, open := s.Find(c.stored()); open {
			return []Event{&messages.AlertCleared{Number: a.Number, Reason: clip(c.Reason)}}, nil
		}
	case Acknowledge:
		return acknowledge(s, c)
	case SetMute:
		return mute(s, c, at)
	case Unmute:
		switch {
		case c.By == "":
			return nil, ErrUnnamed
		case !slices.ContainsFunc(s.Mutes, func(m Mute) bool { return m.Kind == c.Kind && m.Subject == c.Subject }):
			return nil, fmt.Errorf("%w: %.50q %.80q", ErrNoMute, c.Kind, c.Subject)
		}
		return []Event{&messages.AlertsUnmuted{Kind: c.Kind, Subject: c.Subject, By: clip(c.By)}}, nil
	case SetChannels:
		if !slices.EqualFunc(s.Channels, c.Names, func(known Channel, name string) bool { return known.Name == name }) {
			return []Event{&messages.AlertChannelsSet{Channels: c.Names}}, nil
		}
	case Outcome:
		return outcome(s, c), nil
	case Tick:
		return tick(s, at), nil
	}
	return nil, nil
}

func raise(s State, c Raise, at time.Time) (out []Event) {
	key, text, hint := c.stored(), clip(c.Text), clip(c.Hint)
	a, open := s.Find(key)
	since := c.Since
	if since.IsZero() || since.After(at) {
		since = at
	}
	switch {
	case !open:
		a.Number = s.Raised + 1
		out = append(out, &messages.AlertRaised{
			Number: a.Number, Kind: key.Kind, Member: key.Member, Subject: key.Subject,
			Since: events.TimeToMessage(since), Severity: c.Severity.String(), Text: text, Hint: hint, Slot: c.Slot,
			Period: c.Period, Moment: c.Moment,
		})
	case a.Severity != c.Severity || a.Text != text || a.Hint != hint:
		out = append(out, &messages.AlertRepeated{
			Number: a.Number, Severity: c.Severity.String(), Text: text, Hint: hint, Period: c.Period,
		})
	}
	for _, e := range events.Stamp(slices.Clone(out), at) {
		s = Evolve(s, e)
	}
	for _, channel := range c.Delivered {
		is, _ := s.Of(a.Number)
		out = append(out, outcome(s, Delivery{Alert: is, Channel: channel}.Outcome(at, ""))...)
	}
	return out
}

func acknowledge(s State, c Acknowledge) (out []Event, err error) {
	if c.By == "" || c.Note == "" {
		return nil, ErrUnnamed
	}
	found := false
	for _, a := range s.Alerts {
		if !a.Open() || c.Number != 0 && c.Number != a.Number {
			continue
		}
		if found = true; a.Acknowledged.IsZero() {
			out = append(out, &messages.AlertAcknowledged{Number: a.Number, By: clip(c.By), Note: clip(c.Note)})
		}
	}
	if !found && c.Number != 0 {
		return nil, fmt.Errorf("%w: number %d", ErrNoAlert, c.Number)
	}
	return out, nil
}

func mute(s State, c SetMute, at time.Time) ([]Event, error) {
	m := c.Mute
	m.Kind, m.Subject, m.By, m.Reason = clip(m.Kind), clip(m.Subject), clip(m.By), clip(m.Reason)
	m.Until = m.Until.UTC()
	switch {
	case m.By == "" || m.Reason == "":
		return nil, ErrUnnamed
	case m.Kind == "" || !m.Until.After(at) || m.Until.Sub(at) > longestMute:
		return nil, fmt.Errorf("%w: %.50q until %s", ErrEnd, m.Kind, m.Until.Format(time.RFC3339))
	case slices.Contains(s.Mutes, m):
		return nil, nil
	}
	return []Event{&messages.AlertsMuted{
		Kind: m.Kind, Subject: m.Subject, Until: events.TimeToMessage(m.Until), By: m.By, Reason: m.Reason,
	}}, nil
}

// outcome records what a delivery came to, if that was not known.
func outcome(s State, c Outcome) []Event {
	a, known := s.Of(c.Number)
	i := slices.IndexFunc(s.Channels, func(ch Channel) bool { return ch.Name == c.Channel })
	t := a.told(c.Channel)
	if !known || i < 0 || t.Cleared || !c.Cleared && !a.news(t) || c.Cleared && a.Open() {
		return nil
	}
	if c.Failed == "" {
		if !c.Cleared && a.news(Told{Severity: c.Severity, Times: c.Times}) {
			return nil // It became worse meanwhile, and that is still to be delivered.
		}
		return []Event{&messages.AlertDelivered{Number: c.Number, Channel: c.Channel, Cleared: c.Cleared}}
	}
	failures := s.Channels[i].Failures + 1
	return []Event{&messages.AlertUndelivered{
		Number: c.Number, Channel: c.Channel, Cleared: c.Cleared, Failures: failures,
		Retry: events.TimeToMessage(c.At.UTC().Add(pause(failures))), Reason: clip(c.Failed),
	}}
}

// pause is how long a channel is left alone after failures in a row.
func pause(failures uint32) time.Duration {
	return min(longestPause, firstPause<<min(failures-1, 10)) // 2^10 of the first are more than the longest.
}

// tick ends what has an end.
func tick(s State, at time.Time) (out []Event) {
	for _, m := range s.Mutes {
		if !at.Before(m.Until) {
			out = append(out, &messages.AlertsUnmuted{Kind: m.Kind, Subject: m.Subject})
		}
	}
	for _, a := range s.Alerts {
		if a.Open() && a.Moment && !at.Before(a.Last.Add(forgetAfter)) {
			out = append(out, &messages.AlertCleared{Number: a.Number, Reason: "it was not acknowledged within a week"})
		}
	}
	return out
}

// clip makes words of others fit the record.
func clip(text string) string { return strings.ToValidUTF8(events.Clip(text, maxText), "?") }
