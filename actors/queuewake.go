package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file wakes the queue by what changed: the slots that failed that
// criterion are looked at again, and so are refused requests.

// maxLookedAgain is how many refused requests are looked at again at once when
// something improved, the newest last. Each costs two calls to the chain.
const maxLookedAgain = 1_000

// lookBack is the one look at refused requests that runs at a time. What wakes
// the queue meanwhile is looked at after it.
type lookBack struct {
	running bool
	waiting map[string]bool
	reason  string
}

// lookedBack says that it is done.
type lookedBack struct{}

// saleEnded are the criteria besides the ledger's that may be met when a sale gave
// back what it had.
var saleEnded = []string{
	slotqueue.CriterionRequestCap, slotqueue.CriterionProofs, slotqueue.CriterionTokens, slotqueue.CriterionGas,
}

// wakeFor are the names of what an event of the ledger opens.
func wakeFor(e capacity.Event, criteria []capacity.Criterion) []string {
	out := make([]string, 0, len(criteria)+len(saleEnded))
	for _, c := range criteria {
		out = append(out, string(c))
	}
	if capacity.EndsReservation(e) {
		out = append(out, saleEnded...)
	}
	return out
}

// onWake makes slots that failed one of the criteria worth another look, those of
// refused requests included.
func (q *slotQueue) onWake(a *turn, m wakeQueue) {
	q.journal.submit(a, slotqueue.Wake{At: q.chainTime(), Reason: m.reason, Criteria: m.criteria}, "wake",
		func(result[slotqueue.State, slotqueue.Event]) {})
	if q.lookBack.waiting == nil {
		q.lookBack.waiting = map[string]bool{}
	}
	for _, c := range m.criteria {
		q.lookBack.waiting[c] = true
	}
	q.lookBack.reason = m.reason
	q.lookAgain()
}

// lookAgain looks at requests that were refused by the criteria that wait for it.
func (q *slotQueue) lookAgain() {
	if q.lookBack.running || len(q.lookBack.waiting) == 0 {
		return
	}
	criteria, reason := slices.Sorted(maps.Keys(q.lookBack.waiting)), q.lookBack.reason
	q.lookBack.running, q.lookBack.waiting = true, nil
	q.journal.query(func(s slotqueue.State) {
		again := s.RefusedBy(criteria, maxLookedAgain)
		if len(again) == 0 {
			q.lookBack.running = false
			return
		}
		q.judgeAll(again, reason)
	})
}

// judgeAll looks at refused requests, one after the other.
func (q *slotQueue) judgeAll(again []slotqueue.RefusedRequest, reason string) {
	q.rt.do(func(ctx context.Context) {
		defer q.self.tell(lookedBack{})
		for _, r := range again {
			if cmd, ok := q.judgeAgain(ctx, r); ok {
				q.self.tell(queueCommand{
					cmd, "look back: " + reason, func(result[slotqueue.State, slotqueue.Event]) {},
				})
			}
		}
	})
}

// refill looks at what a full queue let go, when there is room for it. New blocks set
// its pace, so that a chain that does not answer is not asked without a pause.
func (q *slotQueue) refill() {
	if q.lookBack.running || q.record.away() {
		return
	}
	if again := q.journal.ahead.MayReturn(maxLookedAgain); len(again) > 0 {
		q.lookBack.running = true
		q.judgeAll(again, "the queue has room")
	}
}

func (q *slotQueue) onLookedBack(*turn) {
	q.lookBack.running = false
	q.lookAgain()
}

// judgeAgain looks at a refused request; false when it is refused still, or the
// chain does not know it or did not answer (the next improvement asks again). A
// refusal by another criterion than before is recorded: what wakes it is another.
func (q *slotQueue) judgeAgain(ctx context.Context, refused slotqueue.RefusedRequest) (slotqueue.Command, bool) {
	if len(refused.SlotIndices) == 0 {
		return nil, false
	}
	index := refused.SlotIndices[0]
	found, err := in(ctx, q.reads, time.Time{}, func() (found struct {
		request events.Request
		facts   events.SlotFacts
	}, err error,
	) {
		if found.request, err = q.Market.Request(ctx, refused.RequestID); err == nil {
			found.facts, err = q.Market.Slot(ctx, refused.RequestID, index)
		}
		return found, err
	})
	switch {
	case errors.Is(err, events.ErrUnknownRequest), err == nil && found.facts.RequestState > events.RequestStarted:
		return slotqueue.Remove{
			At: q.chainTime(), RequestID: refused.RequestID, Reason: "the request is over",
		}, err == nil
	case err != nil:
		return nil, false
	}
	repair, expiry := found.facts.SlotState == events.SlotRepair, found.facts.RequestExpiry
	if repair {
		expiry = found.facts.RequestEnd
	}
	commands, err := q.judgeSlots(ctx, marketNews{}, found.request, refused.SlotIndices, repair, expiry)
	if err != nil || len(commands) == 0 {
		return nil, false
	}
	cmd := commands[0].(slotqueue.Queue)
	return cmd, cmd.Refusal == nil || cmd.Refusal.Criterion != refused.Criterion
}

// onHead wakes what waited for a point in chain time, fills the queue again, and
// looks at the account now and then.
func (q *slotQueue) onHead(a *turn, head events.Head) {
	if !q.journal.loaded {
		return
	}
	if next := q.journal.ahead.NextWake(); !next.IsZero() && !next.After(head.Time) {
		q.onWake(a, wakeQueue{"its time has come", q.journal.ahead.Due(head.Time)})
	}
	q.refill()
	q.watchFunds(head)
}
