package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/messages"
)

// This file has what needs a person, and the channels by which it is told. What is so, and what each channel took, is
// known, and the record is compared with it. That an alert is also delivered at once, before it is recorded, is not
// simulated.

const (
	// channelsAway: the channels of alerts take nothing.
	channelsAway = "channels away"
	// moment is the kind of alert that says what happened.
	moment = "moment"
	// alertSlack is for how many steps before the end of a run its alerts must be in order.
	alertSlack = 500
)

// bells is what needs a person. It outlives hosts, and is guarded by the lock of its world.
type bells struct {
	is    map[string]alert.Raise // by kind; without a severity it is over
	known map[string]alert.Raise // what this process has had recorded
	taken map[string]taking      // by what a channel was told
	desk  *shell.Part
	life  int // of the room
}

// taking is something that a channel took, in a life of the room.
type taking struct {
	life               int
	answered, recorded bool
}

// toldOf names what a channel is told of an alert.
func toldOf(channel string, a alert.Alert) string {
	if !a.Moment {
		a.Times = 0 // Other words are not told.
	}
	if !a.Open() {
		return fmt.Sprintf("%s %d cleared", channel, a.Number)
	}
	return fmt.Sprintf("%s %d %s %d", channel, a.Number, a.Severity, a.Times)
}

// alertsRoom is the room in which alerts are recorded, and delivered by two channels.
func (s *simulator) alertsRoom(w *world) actors.Room {
	decide := s.Plant.Alert
	if decide == nil {
		decide = alert.Decide
	}
	b := w.bells
	b.desk, b.known = shell.NewPart(alerts.Name), map[string]alert.Raise{}
	return actors.Room{
		Part: b.desk, Runs: actors.Owner, Lost: "no alert is told while it is down",
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			w.mu.Lock()
			defer w.mu.Unlock()
			b.life++
			return alerts.New(alerts.Deps{
				Base: c.Base, Channels: []string{"command", "webhook"}, Deliver: w.deliver, Decide: decide, Broken: broken,
			})
		},
	}
}

// deliver has a channel take an alert. It is told the same again only if it was not heard, or if the room died before
// that was recorded.
func (w *world) deliver(ctx context.Context, channel string, a alert.Alert) error {
	key, came := toldOf(channel, a), false
	_, err := do(ctx, w.bus, "alert.deliver "+key, locked(w, func() (struct{}, error) {
		was, again := w.bells.taken[key]
		if again && !came && (was.recorded || was.answered && was.life == w.bells.life) {
			w.wrong = broken(AlertsAreTold, "%s once more: %+v", key, was)
		}
		came = true
		w.bells.taken[key] = taking{life: w.bells.life}
		return struct{}{}, nil
	}))
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.bells.taken[key]; came && err == nil {
		t.answered = true
		w.bells.taken[key] = t
	}
	return err
}

// workAlerts lets something become so, or worse, or end, and has it recorded, as a host does that notices it.
func (s *simulator) workAlerts(ctx context.Context) {
	s.world.mu.Lock()
	b, busy, h := s.world.bells, s.ordering, s.host
	s.world.mu.Unlock()
	if !s.calm() {
		s.mayBegin(s.ringers, channelsAway, 2)
		if s.ringers.IntN(50) == 0 {
			r := alert.Raise{Key: alert.Key{Kind: []string{"dark", "cold", moment}[s.ringers.IntN(3)]}}
			if r.Severity = alert.Severity(s.ringers.IntN(3)); r.Kind == moment {
				r.Severity, r.Moment = alert.Critical, true
			}
			r.Text = fmt.Sprintf("%s at step %d", r.Severity, s.steps)
			b.is[r.Kind] = r
			s.note("%s is %s", r.Kind, r.Severity)
		}
	}
	if busy || h == nil || s.stopping {
		return
	}
	give := func(o alerts.Order, then func()) {
		s.order(ctx, "alert", func() error {
			_, err := actors.OrderOwner[alerts.Answer](ctx, h, b.desk, o)
			s.world.mu.Lock()
			defer s.world.mu.Unlock()
			if err == nil {
				then()
			}
			return err
		})
	}
	if !s.calm() && s.ringers.IntN(300) == 0 {
		give(alerts.Order{Acknowledge: &alert.Acknowledge{By: "anna", Note: "I know"}}, func() {})
		return
	}
	known := b.known // Another process has its own.
	for _, kind := range slices.Sorted(maps.Keys(b.is)) {
		r := b.is[kind]
		if known[kind].Text == r.Text || s.steps%8 > 0 {
			continue
		}
		o := alerts.Order{Raise: &r}
		if r.Severity == alert.None {
			o = alerts.Order{Clear: &alert.Clear{Key: r.Key, Reason: r.Text}}
		}
		give(o, func() {
			if known[kind] = r; r.Moment && b.is[kind].Text == r.Text {
				delete(b.is, kind)
			}
		})
		return
	}
}

// onAlert judges an event of an alert by the rules and by what is true.
func (a *audit) onAlert(e alert.Event) error {
	all, err := alert.Decide(a.alerts, alert.Asked(a.alerts, e))
	if err != nil || !slices.ContainsFunc(all, func(d alert.Event) bool { return proto.Equal(d, e) }) {
		return fmt.Errorf("%s is recorded, and decided is %v: %w", e, all, err)
	}
	if d, ok := e.(*messages.AlertDelivered); ok {
		if err := a.onDelivered(d); err != nil {
			return err
		}
	}
	a.alerts = alert.Evolve(a.alerts, e)
	return nil
}

// onDelivered: what is recorded as taken was taken.
func (a *audit) onDelivered(d *messages.AlertDelivered) error {
	is, _ := a.alerts.Of(d.GetNumber())
	if !d.GetCleared() { // It may be cleared since.
		is.Cleared = time.Time{}
	}
	worse := is
	worse.Severity = alert.Critical
	if key := toldOf(d.GetChannel(), worse); is.Severity == alert.Warning && is.Open() {
		if t, came := a.bells.taken[key]; came && !t.recorded {
			delete(a.bells.taken, key) // It became less since. If it is critical again, that is told.
			return nil
		}
	}
	key := toldOf(d.GetChannel(), is)
	t, came := a.bells.taken[key]
	if !came {
		return broken(AlertsAreTold, "%s, says the record, and nobody was", key)
	}
	t.recorded = true
	a.bells.taken[key] = t
	return nil
}

// alertsNow compares the alerts of the record with what is so, and with what was told.
func (s *simulator) alertsNow() error {
	b := s.world.bells
	if due := alert.Next(s.audit.alerts); len(due) > 0 {
		return broken(AlertsAreTold, "still to be delivered: %s", due[0].Key())
	}
	for kind, r := range b.is {
		if a, open := s.audit.alerts.Find(r.Key); open != (r.Severity > alert.None) || open && a.Severity != r.Severity {
			return broken(AlertsAreTrue, "%s is %s; the alert is open: %t, %s", kind, r.Severity, open, a.Severity)
		}
	}
	return nil
}

// alertsOver reports whether the alerts are in order, or should have been.
func (s *simulator) alertsOver() bool {
	s.hurried = true
	err := s.alertsNow()
	if err == nil || s.steps > s.MaxSteps-alertSlack {
		return true
	}
	s.waits = err.Error()
	return false
}
