package downtime

import (
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// marketLog is a log about a request or one of its slots.
type marketLog interface {
	GetRequestId() string
	GetLog() *messages.ChainLog
}

// tenancy is a slot from a fill until it is freed, or its request has ended.
type tenancy struct {
	duty.Slot
	request       *request
	filled, freed events.Head // freed is zero if it was not
	tx            events.Hash // of the fill
}

type request struct {
	ends, expires time.Time
	fulfilled     bool
	probability   *big.Int // of duty.Probability
}

// ended is the last second in which slots of a request may owe proofs (spec/marketplace.md §4.1).
func (r *request) ended() time.Time {
	if r.fulfilled {
		return r.ends
	}
	return r.expires
}

// until is the last second in which the tenancy may owe proofs.
func (t *tenancy) until() time.Time {
	if end := t.request.ended(); t.freed.Number == 0 || end.Before(t.freed.Time) {
		return end
	}
	return t.freed.Time
}

// tenanciesOf says who held which slot, in the order of the fills, and which of the logs are of requests that had not
// ended before a time. Logs of unknown requests are skipped: such a request ended before the logs began, or is unsound.
func tenanciesOf(
	logs []marketLog, cfg events.ProofConfig, before time.Time,
) (all []*tenancy, living []marketLog) {
	requests, held := map[string]*request{}, map[events.SlotID]*tenancy{}
	for _, g := range logs {
		id, at := events.Must(events.ParseRequestID(g.GetRequestId())), blockOf(g.GetLog())
		if g, ok := g.(*messages.ChainStorageRequested); ok {
			ask := events.RequestFromMessage(g.GetRequest()).Ask
			requests[g.GetRequestId()] = &request{
				ends: at.Time.Add(ask.Duration), expires: events.TimeFromMessage(g.GetExpiresAt()),
				probability: duty.Probability(cfg, ask.ProofProbability),
			}
		}
		r := requests[g.GetRequestId()]
		if r == nil {
			continue
		}
		switch g := g.(type) {
		case *messages.ChainRequestFulfilled:
			r.fulfilled = true
		case *messages.ChainRequestFailed: // Earlier in this block a miss could still be marked.
			r.ends = at.Time
		case *messages.ChainSlotFilled:
			slot := duty.Slot{
				ID: events.SlotIDOf(id, g.GetSlotIndex()), FilledAt: at.Time, Probability: r.probability,
			}
			tx := events.Must(events.ParseHash(g.GetLog().GetTxHash()))
			held[slot.ID] = &tenancy{Slot: slot, request: r, filled: at, tx: tx}
			all = append(all, held[slot.ID])
		case *messages.ChainSlotFreed:
			if t := held[events.SlotIDOf(id, g.GetSlotIndex())]; t != nil {
				t.freed = at
			}
		}
	}
	over := func(r *request) bool { return r == nil || r.ended().Before(before) }
	living = slices.DeleteFunc(logs, func(g marketLog) bool { return over(requests[g.GetRequestId()]) })
	return slices.DeleteFunc(all, func(t *tenancy) bool { return over(t.request) }), living
}

func blockOf(log *messages.ChainLog) events.Head {
	return events.Head{
		Number: log.GetBlock(), Hash: events.Must(events.ParseHash(log.GetBlockHash())),
		Time: events.TimeFromMessage(log.GetTime()),
	}
}
