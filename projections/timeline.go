package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// Timeline is the whole life of one slot at one host, all attempts.
type Timeline struct {
	// AsOf is the position of the last event of the sale.
	AsOf    events.Position `json:"asOf"`
	Host    string          `json:"host"`
	Slot    string          `json:"slotId"`
	Moments []Moment        `json:"moments"`
	// PaysAtMost is what the newest attempt pays until its end, in token base units; empty: it has ended.
	PaysAtMost string `json:"paysAtMost,omitempty"`
}

// Moment is one event of a sale, told to a person.
type Moment struct {
	At       time.Time `json:"at"` // of the chain
	Attempt  uint32    `json:"attempt"`
	Sentence string    `json:"sentence"`
	Type     string    `json:"type"`
	Phase    string    `json:"phase"` // in which the event left the sale
	// Criterion is the rule that refused the slot, if one did.
	Criterion string          `json:"criterion,omitempty"`
	Revision  uint64          `json:"revision"`
	Position  events.Position `json:"position"`
}

// criterionOf is the criterion that an event names; most have none.
func criterionOf(e any) string {
	if of, is := e.(interface{ GetCriterion() string }); is {
		return of.GetCriterion()
	}
	return ""
}

// ReadTimeline reads a sale's stream. Timelines are not kept as views: they
// have one entry per proof, and few are ever read. An unknown sale is
// events.ErrStreamNotFound. An event that cannot be read has its error in place
// of a sentence. It is as of until; nil: as it is now. A sale that began later
// has no moments.
func ReadTimeline(
	ctx context.Context, store events.Store, host events.Address, slot events.SlotID, until Until,
) (Timeline, error) {
	out := Timeline{Host: host.String(), Slot: slot.String(), Moments: []Moment{}}
	codec := catalog.Codec()
	var state sale.State
	for r, err := range store.ReadStream(ctx, events.SaleStream(host, slot), events.ReadStream{}) {
		if err != nil {
			return Timeline{}, fmt.Errorf("read the sale of slot %s: %w", slot, err)
		}
		if until != nil && !until(r) {
			break
		}
		out.AsOf = r.Position
		moment := Moment{Type: r.Type, Revision: r.Revision, Position: r.Position}
		m, err := codec.Decode(r)
		e, ok := m.(messages.SaleEvent)
		switch {
		case err != nil:
			moment.Sentence = "This event cannot be read: " + err.Error() + "."
		case !ok:
			moment.Sentence = "This event does not belong in the stream of a sale."
		default:
			state = sale.Evolve(state, e)
			moment.At, moment.Sentence, moment.Criterion = at(e), sale.Sentence(e), criterionOf(e)
		}
		moment.Attempt, moment.Phase = state.Attempt, state.Phase.String()
		out.Moments = append(out.Moments, moment)
	}
	out.PaysAtMost = paysAtMost(state)
	return out, nil
}

// paysAtMost is what a slot is paid from its fill to the end of its request. One that is not filled yet is paid no
// more than from now on, and a request no longer than its duration.
func paysAtMost(s sale.State) string {
	if !s.BeforeFill() && !s.Hosting() && s.Phase != sale.Payout {
		return ""
	}
	return priceOf(s, s.EndsAt).String()
}

// priceOf is what a slot is paid from its fill until a point in time, at most.
func priceOf(s sale.State, until time.Time) events.Amount {
	paid := s.Request.Ask.Duration
	if !s.FilledAt.IsZero() && !until.IsZero() {
		paid = min(paid, max(0, until.Sub(s.FilledAt)))
	}
	price, _ := s.Request.Ask.PricePerSecond()
	return price.MulSaturating(uint64(paid / time.Second))
}
