// Package alerts runs what needs a person (events/alert) as an actor: it records that alerts are raised and cleared,
// who knows of them and what is muted, and has them delivered by each channel until it has taken them, also after a
// restart. It runs with the owner of the host, by the machine's clock.
//
// Not for: the first delivery of an alert, which does not wait for the record. Who notices trouble delivers at once,
// and then tells this room what was delivered (cmd/hostnode/internal/alerts).
package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

// Name is the name of the actor.
const Name = "Alerts"

// The causes of its events.
const (
	causeStart    = "start"
	causeLook     = "look"
	causeOperator = "operator"
)

// every is the pause between two looks at what has an end, and at channels that are to be tried again.
const every = 15 * time.Second

// ErrOrder: an order says nothing.
var ErrOrder = errors.New("there is no such order about alerts")

// Order is something to be recorded: the one that is set, whose At is filled in. The answer is an Answer, once what
// follows is durable. Errors are those of the core.
type Order struct {
	Raise       *alert.Raise       `json:",omitempty"`
	Clear       *alert.Clear       `json:",omitempty"`
	Acknowledge *alert.Acknowledge `json:",omitempty"`
	Mute        *alert.SetMute     `json:",omitempty"`
	Unmute      *alert.Unmute      `json:",omitempty"`
}

// Answer says how many events an order has brought.
type Answer struct {
	Changed int `json:"changed"`
}

// command is the one that is set, at a time, and its cause; nil: none is.
func (o Order) command(at time.Time) (alert.Command, string) {
	switch {
	case o.Raise != nil:
		return timed(*o.Raise, func(c *alert.Raise) { c.At = at }), causeLook
	case o.Clear != nil:
		return timed(*o.Clear, func(c *alert.Clear) { c.At = at }), causeLook
	case o.Acknowledge != nil:
		return timed(*o.Acknowledge, func(c *alert.Acknowledge) { c.At = at }), causeOperator
	case o.Mute != nil:
		return timed(*o.Mute, func(c *alert.SetMute) { c.At = at }), causeOperator
	case o.Unmute != nil:
		return timed(*o.Unmute, func(c *alert.Unmute) { c.At = at }), causeOperator
	}
	return nil, ""
}

// timed is a copy of a command with its time.
func timed[C alert.Command](c C, at func(*C)) alert.Command {
	at(&c)
	return c
}

// Deps are what the actor needs.
type Deps struct {
	*shell.Base
	// Channels are the names of those by which alerts are delivered.
	Channels []string
	// Deliver delivers an alert as it is now, within a time of its own. An error: the channel has not taken it.
	Deliver func(ctx context.Context, channel string, a alert.Alert) error
	// Decide is the rules: alert.Decide.
	Decide func(alert.State, alert.Command) ([]alert.Event, error)
	// Broken is called when the record cannot be read.
	Broken func(error)
}

type (
	journal = shell.Journal[alert.State, alert.Command, alert.Event]
	result  = shell.Result[alert.State, alert.Event]
	work    = shell.Work[alert.Delivery]
)

// Room is the actor.
type Room struct {
	Deps
	journal *journal
	effects shell.Effects[struct{}, alert.Delivery]
}

// Ended ends the deliveries of the room: its successor begins its own.
func (r *Room) Ended() { r.effects.Cancel() }

// tick is a look at what has an end.
type tick struct{}

// New returns the actor.
func New(d Deps) *Room {
	r := &Room{Deps: d}
	r.effects = shell.Effects[struct{}, alert.Delivery]{Base: d.Base, Name: Name, Ended: r.ended, Act: r.act}
	return r
}

// Receive implements shell.Behavior.
func (r *Room) Receive(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case shell.Started:
		r.load(a)
	case Order:
		answer := a.Asker()
		c, cause := m.command(r.Clock.Now())
		if c == nil {
			answer(nil, ErrOrder)
			return
		}
		r.journal.Submit(a, c, cause, func(res result) { answer(Answer{len(res.Events)}, res.Err) })
	case tick:
		r.submit(a, alert.Tick{At: r.Clock.Now()}, causeLook, nil)
		r.act(a)
		r.tick(a)
	default:
		if !r.effects.Handle(a, msg) {
			r.journal.Handle(a, msg)
		}
	}
}

func (r *Room) load(a *shell.Turn) {
	stream := events.AlertStream(r.Me)
	r.journal = &journal{
		Machine: shell.Machine[alert.State, alert.Command, alert.Event]{
			Empty: func() alert.State { return alert.State{} }, Decide: r.Decide, Evolve: alert.Evolve,
		},
		Stream: stream, Store: r.Store, Codec: r.Codec, StoreWatch: r.StoreWatch, Confirm: r.HasTerm,
		MinEvents: r.MinEvents[stream],
		Meta:      func(alert.State, alert.Event) events.Metadata { return r.Metadata("") },
		OnBroken:  func(_ *shell.Turn, err error) { r.Broken(fmt.Errorf("read the alerts: %w", err)) },
		OnDurable: func(a *shell.Turn, _ []alert.Event) { r.act(a) },
	}
	r.journal.Load(a)
	r.submit(a, alert.SetChannels{At: r.Clock.Now(), Names: r.Channels}, causeStart, nil)
	r.tick(a)
}

func (r *Room) tick(a *shell.Turn) {
	self := a.Self
	r.Clock.After(every, func() { self.Tell(tick{}) })
}

// submit has a command decided, and calls then with whether something followed.
func (r *Room) submit(a *shell.Turn, c alert.Command, cause string, then func(changed bool)) {
	r.journal.Submit(a, c, cause, func(res result) {
		if res.Err != nil {
			r.Log.Warnf("what became of alerts is not recorded yet: %v", res.Err)
		}
		if then != nil {
			then(len(res.Events) > 0)
		}
	})
}

// act begins the deliveries that are wanted and may be tried now.
func (r *Room) act(a *shell.Turn) {
	wanted := map[string]bool{}
	for _, d := range alert.Next(r.journal.Durable) {
		wanted[d.Key()] = true
		if !d.Due(r.Clock.Now()) || !r.serves(d.Channel) {
			continue
		}
		w := r.effects.Begin(a, d.Key(), r.journal.Last, func(ctx context.Context) (struct{}, error) {
			r.Yield(ctx, "alert/"+d.Key())
			return struct{}{}, r.Deliver(ctx, d.Channel, d.Alert)
		})
		if w != nil {
			w.Data = d
		}
	}
	r.effects.Keep(func(key string) bool { return wanted[key] })
}

// serves reports whether a channel is one of this process: until it is recorded, the record has those of another start.
func (r *Room) serves(channel string) bool {
	return slices.Contains(r.Channels, channel)
}

// ended has it recorded what a delivery came to.
func (r *Room) ended(a *shell.Turn, w *work, _ struct{}, err error) {
	d := w.Data
	failed := ""
	if err != nil {
		failed = err.Error()
		r.Log.WithField("alert", d.Alert.Kind).Warnf("alerts.%s did not take an alert, will try again: %v",
			d.Channel, err)
	}
	c := d.Outcome(r.Clock.Now(), failed)
	r.effects.Report(a, w, func(done func(bool)) { r.submit(a, c, causeLook, done) })
}
