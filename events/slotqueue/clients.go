package slotqueue

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// AvoidedClient is a client whose requests are refused for a while, because
// data of one could not be fetched or was not what the request names.
type AvoidedClient struct {
	Client events.Address
	// At is when it was avoided last, Until when it is forgiven; chain time.
	At, Until time.Time
	Reason    string
}

// clients are the avoided clients. They are few (Limits.MaxAvoided), so going
// through all of them is cheap.
type clients map[events.Address]AvoidedClient

func (c clients) add(a AvoidedClient, limit int) {
	c.forgive(a.At)
	c[a.Client] = a
	for len(c) > limit {
		delete(c, c.sorted(bySoonest)[0].Client)
	}
}

// forgive forgets those whose time is over.
func (c clients) forgive(at time.Time) {
	maps.DeleteFunc(c, func(_ events.Address, a AvoidedClient) bool { return !a.Until.After(at) })
}

// soonest is when the next one is forgiven; zero when there is none.
func (c clients) soonest() (next time.Time) {
	for _, a := range c {
		if next.IsZero() || a.Until.Before(next) {
			next = a.Until
		}
	}
	return next
}

func (c clients) sorted(by func(a, b AvoidedClient) int) []AvoidedClient {
	return slices.SortedFunc(maps.Values(c), by)
}

func byAddress(a, b AvoidedClient) int { return bytes.Compare(a.Client[:], b.Client[:]) }

func bySoonest(a, b AvoidedClient) int {
	return cmp.Or(a.Until.Compare(b.Until), byAddress(a, b))
}

// Avoided says until when a client's requests are refused at that chain time,
// and why; false when they are not.
func (s State) Avoided(client events.Address, at time.Time) (AvoidedClient, bool) {
	a, known := s.avoided[client]
	return a, known && a.Until.After(at)
}

// AvoidedClients returns the remembered clients in order of their addresses.
// One whose time is over may be among them until the next Wake.
func (s State) AvoidedClients() []AvoidedClient { return s.avoided.sorted(byAddress) }

func decideAvoid(s State, c Avoid) []Event {
	old, known := s.avoided[c.Client]
	if !c.Until.After(c.At) || known && !c.Until.After(old.Until) {
		return nil
	}
	then := maps.Clone(s.avoided)
	then.add(AvoidedClient{Client: c.Client, At: c.At, Until: c.Until, Reason: c.Reason}, s.limits.MaxAvoided)
	if _, kept := then[c.Client]; !kept { // All the others are avoided longer.
		return nil
	}
	return []Event{&messages.ClientAvoided{
		At: events.TimeToMessage(c.At), Client: c.Client.String(), Until: events.TimeToMessage(c.Until),
		Reason: c.Reason,
	}}
}

func avoidedOf(e *messages.ClientAvoided) AvoidedClient {
	return AvoidedClient{
		Client: events.Must(events.ParseAddress(e.GetClient())),
		At:     events.TimeFromMessage(e.GetAt()), Until: events.TimeFromMessage(e.GetUntil()),
		Reason: e.GetReason(),
	}
}
