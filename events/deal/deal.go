// Package deal is the deal about one aggregate: what a broker was offered, and what became of it. It is pure; package
// actors/aggregation runs it.
//
//	none → PENDING → SIGNED → APPROVED | REJECTED
//	          ↘ REJECTED
//
// The last two are final. What a broker says is a claim: what cannot be is recorded as doubted and changes nothing. A
// report that is older than what is known already is passed over.
package deal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is what is recorded of a deal.
type Event = messages.DealEvent

// State is one deal, also as it is shown.
type State struct {
	Status events.DealStatus `json:"status"` // empty: it was not offered
	Broker string            `json:"broker"`
	Size   uint64            `json:"size"`           // of the aggregate, padded
	Deal   string            `json:"deal,omitempty"` // how the broker calls it
	// Inserted is when it was offered, Signed when the broker got what it asked for, Processed when it became final.
	Inserted  time.Time `json:"inserted"`
	Signed    time.Time `json:"signed,omitzero"`
	Processed time.Time `json:"processed,omitzero"`
	// Bad are the pieces because of which it was rejected, by their CIDs, and BadPieces is how many they are: what is
	// shown has the first ones. Reason says why, and By who, if a person did.
	Bad       []string `json:"bad,omitempty"`
	BadPieces int      `json:"badPieces,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	By        string   `json:"by,omitempty"`
	// Doubts counts what was not believed; Doubted is the newest.
	Doubts  int    `json:"timesDoubted,omitempty"`
	Doubted string `json:"doubted,omitempty"`
	// Part and Parts are of the list of bad pieces.
	Part  uint32 `json:"-"`
	Parts uint32 `json:"-"`
}

// Final reports whether nothing changes any more.
func (s State) Final() bool {
	return s.Status == events.DealApproved || s.Status == events.DealRejected
}

// MaxBad is how many bad pieces an event names at most, so that it has at most 256 KiB.
const MaxBad = 3000

// ErrNotOffered: the aggregate was not offered.
var ErrNotOffered = errors.New("the aggregate was not offered")

// Commands.
type (
	// Command is one of those below.
	Command interface{ given() time.Time }
	// Offer says that a broker has the aggregate; another one than before, while no broker has what it asked for.
	Offer struct {
		At     time.Time
		Broker string
		Size   uint64
	}
	// Report is what a broker says, or a person. ErrNotOffered.
	Report struct {
		At     time.Time
		Status events.DealStatus
		Deal   string
		Reason string
		By     string
		// Bad is a part of the list of bad pieces; Parts 0: there is no list.
		Bad         []string
		Part, Parts uint32
	}
	// Doubt says that what a broker said cannot be.
	Doubt struct {
		At           time.Time
		Said, Reason string
	}
)

func (c Offer) given() time.Time  { return c.At }
func (c Report) given() time.Time { return c.At }
func (c Doubt) given() time.Time  { return c.At }

// Reports are the commands that a report is: several, if its list of bad pieces is long.
func Reports(at time.Time, r events.DealReport, by string) []Command {
	one := Report{At: at, Status: r.Status, Deal: r.Deal, Reason: r.Reason, By: by}
	if r.Status != events.DealRejected || len(r.Bad) == 0 {
		return []Command{one}
	}
	var all []Command
	bad := slices.Compact(slices.Sorted(slices.Values(r.Bad)))
	one.Parts = uint32((len(bad) + MaxBad - 1) / MaxBad) //nolint:gosec // An aggregate has fewer pieces.
	for part := range slices.Chunk(bad, MaxBad) {
		one.Part++
		one.Bad = part
		all = append(all, one)
	}
	return all
}

// Decide returns the events that follow from c; none when it changes nothing. It does not change s.
func Decide(s State, c Command) ([]Event, error) {
	all, err := decide(s, c)
	return events.Stamp(all, c.given()), err
}

func decide(s State, c Command) ([]Event, error) {
	if _, offer := c.(Offer); s.Status == "" && !offer {
		return nil, ErrNotOffered
	}
	switch c := c.(type) {
	case Offer:
		if s.Status == "" || s.Status == events.DealPending && s.Broker != c.Broker {
			return []Event{&messages.DealOffered{Broker: c.Broker, Size: c.Size}}, nil
		}
	case Doubt:
		return doubt(s, c.Said, c.Reason), nil
	case Report:
		return report(s, c), nil
	}
	return nil, nil
}

func report(s State, c Report) []Event {
	said := string(c.Status)
	switch {
	case !c.Status.Known():
		return doubt(s, said, "there is no such status")
	case s.Final() && c.Status != s.Status && (State{Status: c.Status}).Final():
		return doubt(s, said, fmt.Sprintf("it is %s, which is final", s.Status))
	case s.Final():
		return nil
	}
	signed := &messages.DealSigned{Deal: c.Deal}
	switch c.Status {
	case events.DealSigned:
		if s.Status == events.DealPending {
			return []Event{signed}
		}
	case events.DealApproved:
		approved := &messages.DealApproved{Deal: c.Deal}
		if s.Status == events.DealPending { // It was signed since it was asked last.
			return []Event{signed, approved}
		}
		return []Event{approved}
	case events.DealRejected:
		follows := c.Part <= 1 || c.Part == s.Part+1 && c.Parts == s.Parts
		if c.Parts > 0 && (c.Part == 0 || c.Part > c.Parts || !follows) {
			return nil // It does not continue the list.
		}
		return []Event{&messages.DealRejected{
			Deal: c.Deal, Bad: c.Bad, Reason: events.Clip(c.Reason, maxReason), Part: c.Part, Parts: c.Parts, By: c.By,
		}}
	case events.DealPending:
	}
	return nil
}

// maxReason limits what is recorded of a broker's words, in bytes.
const maxReason = 2000

// doubt records what cannot be, once in a row.
func doubt(s State, said, reason string) []Event {
	said, reason = events.Clip(said, maxReason), events.Clip(reason, maxReason)
	if s.Doubted == doubted(said, reason) {
		return nil
	}
	return []Event{&messages.DealDoubted{Said: said, Reason: reason}}
}

func doubted(said, reason string) string { return fmt.Sprintf("%q: %s", said, reason) }

// Evolve folds the next event. It changes what s refers to.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.DealOffered:
		s = State{
			Status: events.DealPending, Broker: e.GetBroker(), Size: e.GetSize(), Inserted: e.GetAt().AsTime(),
			Doubts: s.Doubts, Doubted: s.Doubted,
		}
	case *messages.DealSigned:
		s.Status, s.Deal, s.Signed = events.DealSigned, e.GetDeal(), e.GetAt().AsTime()
	case *messages.DealApproved:
		s.Status, s.Processed, s.Deal = events.DealApproved, e.GetAt().AsTime(), cmp.Or(e.GetDeal(), s.Deal)
		s.Bad, s.BadPieces = nil, 0 // Of a list without its last part.
	case *messages.DealRejected:
		if s.Part, s.Parts = e.GetPart(), e.GetParts(); s.Part <= 1 {
			s.Bad, s.BadPieces = nil, 0
		}
		s.Bad, s.BadPieces = append(s.Bad, e.GetBad()...), s.BadPieces+len(e.GetBad())
		if s.Part == s.Parts {
			s.Status, s.Processed, s.Deal = events.DealRejected, e.GetAt().AsTime(), cmp.Or(e.GetDeal(), s.Deal)
			s.Reason, s.By = e.GetReason(), e.GetBy()
		}
	case *messages.DealDoubted:
		s.Doubts++
		s.Doubted = doubted(e.GetSaid(), e.GetReason())
	}
	return s
}

// Asked is the command that an event follows from, for whatever judges the record.
func Asked(e Event) Command {
	switch e := e.(type) {
	case *messages.DealOffered:
		return Offer{e.GetAt().AsTime(), e.GetBroker(), e.GetSize()}
	case *messages.DealSigned:
		return Report{At: e.GetAt().AsTime(), Status: events.DealSigned, Deal: e.GetDeal()}
	case *messages.DealApproved:
		return Report{At: e.GetAt().AsTime(), Status: events.DealApproved, Deal: e.GetDeal()}
	case *messages.DealRejected:
		return Report{
			At: e.GetAt().AsTime(), Status: events.DealRejected, Deal: e.GetDeal(), Reason: e.GetReason(),
			By: e.GetBy(), Bad: e.GetBad(), Part: e.GetPart(), Parts: e.GetParts(),
		}
	case *messages.DealDoubted:
		return Doubt{e.GetAt().AsTime(), e.GetSaid(), e.GetReason()}
	}
	return nil
}
