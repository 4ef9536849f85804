package alerts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/internal/durable"
	view "github.com/hostnode/hostnode/projections/alert"
)

const (
	// recordAgain is the pause after alerts could not be recorded.
	recordAgain = 5 * time.Second
	// maxUnrecorded is how many alerts and ends wait for the record. They are told apart, so more mean that everything
	// fails, and the first ones say so.
	maxUnrecorded = 10_000
)

// Desk is where a host raises and clears its alerts. It delivers at once what is new, whether the event store answers
// or not; what has to be recorded waits, in a file while it cannot be. Safe for concurrent use.
type Desk struct {
	*Sender
	member string
	file   string // empty: there is none

	mu     sync.Mutex
	known  func() (view.Alerts, bool)
	raised map[alert.Key]alert.Raise // by this process, and not cleared
	// sending are the orders about alerts of which one is being delivered, in their order: what follows a delivery
	// waits for it, so that its outcome is recorded first.
	sending map[alert.Key][]*sent
	waits   []room.Order
	kept    bool // the file has what waits
	failed  bool // the newest order could not be recorded
	news    chan struct{}
}

// NewDesk returns a desk of a member of a host, or of the host, with what an earlier process could not have recorded.
func NewDesk(cfg Config, member, file string) *Desk {
	d := &Desk{
		Sender: New(cfg), member: member, file: file, raised: map[alert.Key]alert.Raise{},
		news: make(chan struct{}, 1), sending: map[alert.Key][]*sent{},
	}
	if file == "" {
		return d
	}
	text, err := os.ReadFile(file)
	if err == nil {
		d.kept = true
		err = json.Unmarshal(text, &d.waits)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		cfg.Log.Errorf("alerts that an earlier process could not record are lost, see %s: %v", file, err)
	}
	d.waits = d.waits[:min(len(d.waits), maxUnrecorded)]
	d.wake()
	return d
}

// Know says what is recorded of alerts; false: that is not known.
func (d *Desk) Know(known func() (view.Alerts, bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = known
}

// Raise delivers an alert, unless it is open already or muted, and has it recorded. It does not wait. A nil Desk does
// nothing.
func (d *Desk) Raise(a health.Alert) {
	if d == nil {
		return
	}
	a.Member, a.Severity = cmp.Or(a.Member, d.member), cmp.Or(a.Severity, health.SeverityOf(a.Kind))
	hide := func(text string) string { return events.HideSecrets(text, d.cfg.Secrets) }
	r := alert.Raise{
		Key: keyOf(a), Since: a.At, Severity: alert.Critical, Text: hide(a.Text), Hint: hide(a.Hint), Slot: a.Slot,
		Period: a.Period, Moment: health.OfMoment(a.Kind),
	}
	if a.Severity == health.SeverityWarning {
		r.Severity = alert.Warning
	}
	known, _ := d.recorded()
	d.mu.Lock()
	was, open := d.raised[r.Key]
	quiet := open && covers(r, was.Severity, was.Text) || slices.ContainsFunc(known.Open, func(o view.Alert) bool {
		severity := alert.Critical
		if o.Severity == alert.Warning.String() {
			severity = alert.Warning
		}
		return o.Kind == r.Kind && o.Member == r.Member && o.Subject == r.Subject && covers(r, severity, o.Text)
	}) || slices.ContainsFunc(known.Mutes, func(m view.Mute) bool {
		return m.Kind == r.Kind && (m.Subject == "" || m.Subject == r.Subject) && m.Until.After(a.At)
	})
	d.raised[r.Key] = r
	d.mu.Unlock()
	if quiet {
		d.remember(a)
		d.follow(r.Key, room.Order{Raise: &r})
		return
	}
	d.mu.Lock()
	s := &sent{order: room.Order{Raise: &r}}
	d.sending[r.Key] = append(d.sending[r.Key], s)
	d.mu.Unlock()
	d.send(a, func(took []string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		r.Delivered, s.done = took, true
		d.settle(r.Key)
	})
}

// sent is an order that waits for the outcome of a delivery: its own, until it is done, or one before it.
type sent struct {
	order room.Order
	done  bool
}

// follow has an order recorded after those about the same alert that came before.
func (d *Desk) follow(key alert.Key, o room.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sending[key] = append(d.sending[key], &sent{order: o, done: true})
	d.settle(key)
}

// settle has the orders about an alert wait for the record, up to one whose delivery is not done. mu must be held.
func (d *Desk) settle(key alert.Key) {
	for len(d.sending[key]) > 0 && d.sending[key][0].done {
		d.put(d.sending[key][0].order)
		d.sending[key] = d.sending[key][1:]
	}
	if len(d.sending[key]) == 0 {
		delete(d.sending, key)
	}
}

// covers reports whether an alert that is open says all that a new one would.
func covers(r alert.Raise, severity alert.Severity, text string) bool {
	return severity >= r.Severity && (!r.Moment || text == r.Text)
}

func keyOf(a health.Alert) alert.Key {
	return alert.Key{Kind: string(a.Kind), Member: a.Member, Subject: a.Subject}
}

// Clear has it recorded that an alert is over, if one is open, after which its end is delivered. It does not wait. A
// nil Desk does nothing.
func (d *Desk) Clear(a health.Alert) {
	if d == nil {
		return
	}
	a.Member = cmp.Or(a.Member, d.member)
	key := keyOf(a)
	all, known := d.recorded()
	d.mu.Lock()
	_, mine := d.raised[key]
	delete(d.raised, key)
	d.mu.Unlock()
	open := slices.ContainsFunc(all.Open, func(o view.Alert) bool {
		return o.Kind == key.Kind && o.Member == key.Member && o.Subject == key.Subject
	})
	if mine || open || !known {
		d.follow(key, room.Order{Clear: &alert.Clear{Key: key, Reason: events.HideSecrets(a.Reason, d.cfg.Secrets)}})
	}
}

func (d *Desk) recorded() (view.Alerts, bool) {
	d.mu.Lock()
	known := d.known
	d.mu.Unlock()
	if known == nil {
		return view.Alerts{}, false
	}
	return known()
}

// put has an order wait for the record. mu must be held.
func (d *Desk) put(o room.Order) {
	if len(d.waits) >= maxUnrecorded {
		d.cfg.Log.Errorf("an alert is not recorded, because %d wait for the event store", maxUnrecorded)
		return
	}
	d.waits = append(d.waits, o)
	if d.failed {
		d.keep()
	}
	d.wake()
}

func (d *Desk) wake() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// keep writes what waits into the file, if that may not have it. mu must be held.
func (d *Desk) keep() {
	if d.file == "" || len(d.waits) == 0 && !d.kept {
		return
	}
	text, err := json.Marshal(d.waits)
	if err == nil {
		err = durable.Replace(d.file, text)
	}
	if d.kept = err == nil && len(d.waits) > 0; err != nil {
		d.cfg.Log.Warnf("alerts that are not recorded yet are not kept either: %v", err)
	}
}

// Record has what waits recorded, in its order, until ctx ends.
func (d *Desk) Record(ctx context.Context, record func(context.Context, room.Order) error) {
	for ctx.Err() == nil {
		d.mu.Lock()
		var next *room.Order
		if len(d.waits) > 0 {
			next = &d.waits[0]
		}
		d.mu.Unlock()
		if next == nil {
			select {
			case <-d.news:
			case <-ctx.Done():
			}
			continue
		}
		err := record(ctx, *next)
		d.mu.Lock()
		if err == nil {
			d.waits = d.waits[1:]
		}
		if d.failed = err != nil; d.failed && !d.kept || len(d.waits) == 0 {
			d.keep()
		}
		d.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Debugf("an alert is not recorded yet: %v", err)
			select {
			case <-time.After(recordAgain):
			case <-ctx.Done():
			}
		}
	}
}

// Close delivers the waiting alerts, for at most the time of one delivery, and keeps what is not recorded for the next
// process.
func (d *Desk) Close() {
	d.Sender.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep()
}
