// Package alert shows what needs a person, and judges whether the record of it can be so: alerts that are open, the
// newest that are cleared, what is muted, and by which channels alerts go out. It is a row in projections/catalog. The
// rules themselves are in events/alert.
package alert

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/machine"
)

// Machine is the row.
func Machine() machine.Machine {
	return machine.Machine{
		Category: events.CategoryAlert, View: machine.ViewOf((*seen).fold, (*seen).rows),
		Judge: machine.JudgeOf((*judged).judge), Rules: rules(),
	}
}

// Alerts is the one row of the view.
type Alerts struct {
	Open     []Alert   `json:"open"`    // the oldest first
	Cleared  []Alert   `json:"cleared"` // the newest 100, the newest first
	Mutes    []Mute    `json:"mutes"`
	Channels []Channel `json:"channels"`
}

// Stands implements machine.Row.
func (a Alerts) Stands() (key, state string) {
	if len(a.Open) > 0 {
		return "", "open"
	}
	return "", "quiet"
}

// Alert is something that needs a person, or did.
type Alert struct {
	Number   uint64    `json:"number"`
	Kind     string    `json:"kind"`
	Severity string    `json:"severity"` // warning, critical
	Member   string    `json:"member,omitempty"`
	Subject  string    `json:"subject,omitempty"`
	Since    time.Time `json:"since"`
	Text     string    `json:"text"`
	Hint     string    `json:"hint,omitempty"`
	Slot     string    `json:"slot,omitempty"`
	Period   uint64    `json:"period,omitempty"`
	Times    uint64    `json:"times,omitempty"` // it was raised again, in other words
	// Acknowledged is when a person did, whose name and note are By and Note.
	Acknowledged time.Time `json:"acknowledged,omitzero"`
	By           string    `json:"by,omitempty"`
	Note         string    `json:"note,omitempty"`
	Muted        bool      `json:"muted,omitempty"`
	Delivered    []string  `json:"delivered"` // the channels that were told that it was raised
	Cleared      time.Time `json:"cleared,omitzero"`
	Reason       string    `json:"reason,omitempty"` // why it is cleared
}

type (
	// Mute is shown as the core has it.
	Mute = alert.Mute
	// Channel is shown as the core has it.
	Channel = alert.Channel
)

// keptCleared is how many cleared alerts are shown.
const keptCleared = 100

// seen is the fold behind the view.
type seen struct {
	State alert.State
	Ended []alert.Alert // the oldest first
}

func (s *seen) fold(_ events.Recorded, e messages.AlertEvent) {
	was := s.State
	s.State = alert.Evolve(was, e)
	numbered, ok := e.(interface{ GetNumber() uint64 })
	if !ok {
		return
	}
	a, known := was.Of(numbered.GetNumber())
	if now, still := s.State.Of(a.Number); !known || !a.Open() || still && now.Open() {
		return
	}
	a.Cleared = alert.At(e)
	switch e := e.(type) {
	case *messages.AlertCleared:
		a.Reason = e.GetReason()
	case *messages.AlertAcknowledged:
		a.Acknowledged, a.By, a.Note = a.Cleared, e.GetBy(), e.GetNote()
		a.Reason = "acknowledged"
	}
	s.Ended = append(s.Ended, a)
	s.Ended = slices.Clone(s.Ended[max(0, len(s.Ended)-keptCleared):])
}

func (s *seen) rows() []Alerts {
	out := Alerts{
		Open: []Alert{}, Cleared: []Alert{}, Mutes: append([]Mute{}, s.State.Mutes...),
		Channels: append([]Channel{}, s.State.Channels...),
	}
	for _, a := range s.State.Alerts {
		if a.Open() {
			out.Open = append(out.Open, s.row(a))
		}
	}
	for _, a := range slices.Backward(s.Ended) {
		out.Cleared = append(out.Cleared, s.row(a))
	}
	return []Alerts{out}
}

func (s *seen) row(a alert.Alert) Alert {
	row := Alert{
		Number: a.Number, Kind: a.Kind, Severity: a.Severity.String(), Member: a.Member, Subject: a.Subject,
		Since: a.Since, Text: a.Text, Hint: a.Hint, Slot: a.Slot, Period: a.Period, Times: a.Times,
		Acknowledged: a.Acknowledged, By: a.By, Note: a.Note, Muted: a.Open() && s.State.Muted(a.Key),
		Delivered: []string{}, Cleared: a.Cleared, Reason: a.Reason,
	}
	for _, t := range a.Told {
		if t.Severity == a.Severity {
			row.Delivered = append(row.Delivered, t.Channel)
		}
	}
	return row
}

// judged is what an audit remembers.
type judged struct{ State alert.State }

const (
	orderRule    = "alert-order"
	deliveryRule = "alert-delivery"
	personRule   = "alert-person"
)

func rules() []machine.Rule {
	return []machine.Rule{
		{Code: orderRule, Demands: "An alert is raised once until it is cleared, and what else happens to it comes " +
			"in between; time does not go back."},
		{Code: deliveryRule, Demands: "A channel takes only what was raised, or cleared, and each only once; after a " +
			"failure it is tried again after the pause that follows from the failures before."},
		{Code: personRule, Demands: "An alert is acknowledged, and alerts are muted, by a person with a name and a " +
			"reason; a mute ends at its end, or by a person."},
	}
}

// judge decides each event again.
func (j *judged) judge(e messages.AlertEvent, find machine.Find) {
	rule := orderRule
	switch e.(type) {
	case *messages.AlertDelivered, *messages.AlertUndelivered, *messages.AlertChannelsSet:
		rule = deliveryRule
	case *messages.AlertAcknowledged, *messages.AlertsMuted, *messages.AlertsUnmuted:
		rule = personRule
	}
	switch all, err := alert.Decide(j.State, alert.Asked(j.State, e)); {
	case err != nil:
		find(rule, "it could not be decided: %v", err)
	case len(all) == 0:
		find(rule, "nothing was to be decided, by what was recorded before it")
	case !slices.ContainsFunc(all, func(again alert.Event) bool { return proto.Equal(again, e) }):
		find(rule, "by what was recorded before it, it is %s", all[0])
	}
	j.State = alert.Evolve(j.State, e)
}
