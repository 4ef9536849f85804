package queue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file judges refused requests again when something improved. If that fails, because the
// chain did not answer or the queue's record moved, the request is owed a look: it is tried
// again, with growing pauses, until it is judged or its refusal is forgotten (MaxRefused bounds
// the refusals).

const (
	// maxLookedAgain is how many refused requests one pass judges, the newest last. Each costs
	// two calls to the chain.
	maxLookedAgain = 1_000
	// maxUnanswered is how many requests in a row may get no answer before a pass leaves the
	// others for the next one: then the chain is not answering at all.
	maxUnanswered = 3
	// maxUnknown is how often the chain is asked about a request that it does not know: a node
	// that lags behind will know it by then.
	maxUnknown = 8
)

// lookBack is the pass over refused requests; only one runs at a time. What wakes the queue
// during a pass waits for the next one.
type lookBack struct {
	started bool // what waited since before the start was woken
	running bool
	waiting map[string]bool // criteria that woke the queue
	reason  string
	// owed are the requests that are owed a look, with the number of tries. due: it is time to
	// look. pauses counts the passes in a row that left some.
	owed    map[events.RequestID]int
	due     bool
	pauses  int
	resting bool // until lookAtOwed
}

type (
	// lookedBack is the result of a pass, in addition to commands: requests that stay refused, those
	// about which nothing could be learned, and those that were not asked about.
	lookedBack struct {
		same, unanswered, left []events.RequestID
		reason                 string
	}
	// lookAtOwed says that a pause is over.
	lookAtOwed struct{}
)

// wake notes criteria for the next pass.
func (l *lookBack) wake(m Wake) {
	for _, c := range m.Criteria {
		l.waiting[c] = true
	}
	l.reason = m.Reason
}

// owe notes a request that is owed a look, and adds to its tries.
func (l *lookBack) owe(id events.RequestID, tries int) {
	l.owed[id] += tries
}

// lookAgain begins a pass over the requests that were refused by the waiting criteria and, when
// it is time, those that are owed a look.
func (q *Queue) lookAgain() {
	l := &q.lookBack
	if l.running || len(l.waiting) == 0 && !l.due {
		return
	}
	criteria, due := slices.Sorted(maps.Keys(l.waiting)), l.due
	l.running, l.due = true, false
	clear(l.waiting)
	q.journal.Query(func(s slotqueue.State) {
		again := s.RefusedBy(criteria, maxLookedAgain)
		if due {
			again = l.withOwed(s, again)
		}
		if len(again) == 0 {
			l.running = false
			return
		}
		q.judgeAll(again, l.reason)
	})
}

// withOwed adds the requests that are owed a look, and forgets those that are no longer
// refused.
func (l *lookBack) withOwed(s slotqueue.State, again []slotqueue.RefusedRequest) []slotqueue.RefusedRequest {
	listed := make(map[events.RequestID]bool, len(again))
	for _, r := range again {
		listed[r.RequestID] = true
	}
	// Requests that often got no answer come last.
	byTries := func(a, b events.RequestID) int {
		return cmp.Or(cmp.Compare(l.owed[a], l.owed[b]), bytes.Compare(a[:], b[:]))
	}
	for _, id := range slices.SortedFunc(maps.Keys(l.owed), byTries) {
		r, refused := s.RefusedRequest(id)
		switch {
		case !refused:
			delete(l.owed, id)
		case !listed[id] && len(again) < maxLookedAgain:
			again = append(again, r)
		}
	}
	return again
}

// judgeAll judges refused requests, one after the other.
func (q *Queue) judgeAll(again []slotqueue.RefusedRequest, reason string) {
	tried := maps.Clone(q.lookBack.owed)
	q.self.Do(func(ctx context.Context) {
		m := lookedBack{reason: reason}
		inARow := 0
		for _, r := range again {
			id := r.RequestID
			if inARow >= maxUnanswered {
				m.left = append(m.left, id)
				continue
			}
			var decided slotqueue.Command
			err := q.RT.Guarded("look back", func() (err error) { // A panic does not stop the others.
				decided, err = q.judgeAgain(ctx, r)
				return err
			})
			unknown := errors.Is(err, events.ErrUnknownRequest)
			switch {
			case unknown && tried[id] >= maxUnknown, err == nil && decided == nil:
				m.same = append(m.same, id)
			case err != nil:
				q.Log.WithField("request", id.String()).
					Debugf("a refused request could not be judged again, will try later: %v", err)
				m.unanswered = append(m.unanswered, id)
			default:
				q.self.Tell(judgedLater{cmd: decided, cause: lookedAgain + reason, done: q.onJudgedAgain(id)})
			}
			if inARow++; err == nil || unknown {
				inARow = 0
			}
		}
		if ctx.Err() == nil {
			q.self.Tell(m)
		}
	})
}

// onJudgedAgain returns what is called, in a turn of the queue, when a verdict is recorded or
// was refused.
func (q *Queue) onJudgedAgain(id events.RequestID) func(shell.Result[slotqueue.State, slotqueue.Event]) {
	return func(r shell.Result[slotqueue.State, slotqueue.Event]) {
		if !undecided(r.Err) {
			delete(q.lookBack.owed, id)
			return
		}
		q.lookBack.owe(id, 0)
		q.pauseLookBack()
	}
}

func (q *Queue) onLookedBack(m lookedBack) {
	l := &q.lookBack
	l.running = false
	for _, id := range m.same {
		delete(l.owed, id)
	}
	for _, id := range m.unanswered {
		l.owe(id, 1)
	}
	for _, id := range m.left {
		l.owe(id, 0)
	}
	if len(m.unanswered) > 0 {
		l.reason = m.reason
		q.pauseLookBack()
	} else {
		l.pauses = 0
	}
	q.lookAgain()
}

// pauseLookBack schedules a look at what is owed, after a pause.
func (q *Queue) pauseLookBack() {
	l := &q.lookBack
	if l.resting {
		return
	}
	l.resting = true
	if l.pauses++; l.pauses == 1 {
		q.Log.Warnf("refused requests that may fit now could not be judged, because the chain or the event store did "+
			"not answer: %d; will try again", len(l.owed))
	}
	q.Clock.After(q.Backoff("look back", l.pauses), func() { q.self.Tell(lookAtOwed{}) })
}

// onPauseOver looks at what is owed.
func (q *Queue) onPauseOver() {
	q.lookBack.resting, q.lookBack.due = false, len(q.lookBack.owed) > 0
	q.lookAgain()
}

// refill judges again what a full queue dropped, when there is room. It runs with new blocks,
// so that a chain that does not answer is not asked incessantly.
func (q *Queue) refill() {
	if q.lookBack.running || q.StoreWatch.Away() {
		return
	}
	if again := q.journal.Ahead.MayReturn(maxLookedAgain); len(again) > 0 {
		q.lookBack.running = true
		q.judgeAll(again, "the queue has room")
	}
}

// judgeAgain judges a refused request; it returns no command when the refusal stands, an error
// when that could not be found out. A refusal by another criterion than before is recorded,
// because it is woken by something else.
func (q *Queue) judgeAgain(
	ctx context.Context, refused slotqueue.RefusedRequest,
) (slotqueue.Command, error) {
	if len(refused.SlotIndices) == 0 {
		return nil, nil
	}
	q.Yield(ctx, "look back")
	// Nothing is decided while the event store is away.
	if err := q.StoreWatch.Wait(ctx, "look back"); err != nil {
		return nil, err
	}
	r, facts, err := q.refusedFacts(ctx, refused.RequestID, refused.SlotIndices[0])
	if err != nil {
		return nil, err
	}
	if facts.RequestState.Over() {
		return slotqueue.Remove{
			At: q.ChainTime(), RequestID: refused.RequestID, Reason: "the request is over",
		}, nil
	}
	repair, expiry := facts.SlotState == events.SlotRepair, facts.RequestExpiry
	if repair {
		expiry = facts.RequestEnd
	}
	commands, err := q.judgeSlots(ctx, MarketNews{}, r, refused.SlotIndices, repair, expiry)
	if err != nil || len(commands) == 0 {
		return nil, err
	}
	queue := commands[0].(slotqueue.Queue)
	if queue.Refusal != nil && queue.Refusal.Criterion == refused.Criterion {
		return nil, nil
	}
	return queue, nil
}

// refusedFacts reads a refused request and one of its slots.
func (q *Queue) refusedFacts(
	ctx context.Context, id events.RequestID, index uint64,
) (r events.Request, facts events.SlotFacts, err error) {
	_, err = shell.In(ctx, q.Reads, time.Time{}, func() (struct{}, error) {
		return chainview.Patiently(ctx, q.Base, q.Patience(), func(ctx context.Context) (none struct{}, err error) {
			if r, err = q.Market.Request(ctx, id); err == nil {
				facts, err = q.Market.Slot(ctx, id, index)
			}
			return none, err
		})
	})
	if err != nil {
		err = fmt.Errorf("look up a refused request: %w", err)
	}
	return r, facts, err
}
