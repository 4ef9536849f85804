// Package queue runs the slot queue (events/slotqueue) as an actor. It judges the market's
// events in their order, asks the ledger what is on offer, and gives the best slots to a
// bounded number of workers, one per slot until that is filled or let go. Refused slots are
// judged again when something changed.
//
// Not for: running a sale. A worker asks the supervisor to begin the sale, and watches its
// progress.
package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// Queue decides which slot is worked on next.
type Queue struct {
	Deps
	self     shell.Ref
	journal  *shell.Journal[slotqueue.State, slotqueue.Command, slotqueue.Event]
	keeper   *shell.Keeper[slotqueue.State]
	workers  map[string]shell.Ref      // by the key of their Work
	stumbles map[string]int            // how often one failed, by the same key
	takings  map[string]events.EventID // by the same key; of what this process took
	taking   bool
	woken    bool // what waits was looked at after a restart

	news    newsList
	judging bool // the first of news is being judged

	lookBack lookBack
	funds    fundsWatch
}

// Deps are what the queue needs.
type Deps struct {
	*admission.Rules
	*health.Alerts
	Quarantined *quarantine.List
	// Part is the queue's own address; Supervisor begins sales.
	Part       *shell.Part
	Supervisor shell.Ref
	// Match says why no availability fits a slot; nil: one does. It waits until that is known.
	Match func(context.Context, capacity.Ask) (*capacity.Refusal, error)
	// Reads bounds the calls on the chain that run at once.
	Reads *shell.Pool
	// ChainID and Contract say which market is read.
	ChainID  uint64
	Contract events.Address
	// MaxQueued, MaxWorkers, WorkerPatience and AvoidClient are the host's settings.
	MaxQueued, MaxWorkers       int
	WorkerPatience, AvoidClient time.Duration
	// Decide is the rules: slotqueue.Decide.
	Decide func(slotqueue.State, slotqueue.Command) ([]slotqueue.Event, error)
	// Held says that no slot may be taken now, whatever the queue's record says.
	Held func() bool
	// Life counts the starts of the queue in this process, from 1.
	Life int
	// Broken is called when the record cannot be read.
	Broken func(error)
}

// MarketNews is an event of the market's stream.
type MarketNews struct {
	Revision uint64 // counted from 1
	ID       events.EventID
	Event    messages.MarketEvent
}

// Messages to the slot queue.
type (
	// Command is a command for the queue; the answer is an empty struct, once the resulting
	// events are durable.
	Command struct {
		Cmd   slotqueue.Command
		Cause string
	}
	// queueHolds asks whether a slot is queued or with a worker.
	queueHolds struct {
		request events.RequestID
		index   uint64
	}
	// AvoidedClient asks about a client; the answer is a *slotqueue.AvoidedClient, nil: the
	// client is not avoided at that chain time.
	AvoidedClient struct {
		Client events.Address
		At     time.Time
	}
	// Show asks for the whole queue, as a slotqueue.Snapshot.
	Show struct{}
	// WaitsFor asks whether slots wait for a criterion; the answer is a bool.
	WaitsFor struct{ Criterion string }
	// ListPromised asks for what members are promised for the slots that they have, as []slotqueue.Unpaid.
	ListPromised struct{}
	// judgedLater is a command about something judged outside the market's order.
	judgedLater struct {
		cmd   slotqueue.Command
		cause string
		by    events.EventID // zero: no event led to it
		done  func(shell.Result[slotqueue.State, slotqueue.Event])
	}
	// Wake says that slots may fit now that failed one of these criteria; early: also those whose time has not
	// come.
	Wake struct {
		Reason   string
		Criteria []string
		Early    bool
	}
	// avoidClient says that a client's data could not be fetched, or was wrong.
	avoidClient struct {
		work   slotqueue.Work
		client events.Address
		reason string
		by     events.EventID // of the sale
	}
	// TryMarket: an operator wants a quarantined event of the market judged.
	TryMarket struct{ Revision uint64 }
	// Unpaid asks the supervisor for the collateral, an events.Amount, that sales in work have
	// yet to pay.
	Unpaid    struct{}
	workerDue struct{ key string }
	// judged is the verdict on the first of news.
	judged struct {
		revision uint64
		commands []slotqueue.Command
	}
)

// New returns the actor of a queue.
func New(e Deps) *Queue {
	q := &Queue{
		Deps: e, workers: map[string]shell.Ref{}, stumbles: map[string]int{}, takings: map[string]events.EventID{},
		news: newNewsList(maxNews), lookBack: lookBack{waiting: map[string]bool{}, owed: map[events.RequestID]int{}},
	}
	q.keeper = NewKeeper(e.Base, slotqueue.Limits{MaxItems: e.MaxQueued})
	e.Savers[Name] = q.keeper
	q.journal = &shell.Journal[slotqueue.State, slotqueue.Command, slotqueue.Event]{
		Machine: shell.Machine[slotqueue.State, slotqueue.Command, slotqueue.Event]{
			Empty: q.keeper.Empty, Decide: e.Decide, Evolve: slotqueue.Evolve, About: aboutCause,
			Restore: q.keeper.Load,
		},
		Stream: events.SlotQueueStream(e.Me), Store: e.Store, Codec: e.Codec, StoreWatch: e.StoreWatch,
		MinEvents: e.MinEvents[events.SlotQueueStream(e.Me)], Confirm: e.HasTerm,
		Meta: func(_ slotqueue.State, ev slotqueue.Event) events.Metadata {
			return e.Metadata(ledger.RequestOf(ev))
		},
		OnDurable: q.onDurable,
		OnBroken:  func(_ *shell.Turn, err error) { e.Broken(err) },
	}
	q.keeper.Now = q.journal.DurableState
	return q
}

// Once submits an operator's command in a process without actors, and returns when the
// resulting events are durable.
func (q *Queue) Once(ctx context.Context, cmd slotqueue.Command) error {
	return q.journal.Once(ctx, cmd, ledger.OperatorCause)
}

// Name is the name of the queue's actor.
const Name = "SlotQueue"

// NewKeeper saves and loads the state of a queue.
func NewKeeper(e *shell.Base, limits slotqueue.Limits) *shell.Keeper[slotqueue.State] {
	return &shell.Keeper[slotqueue.State]{
		Base: e, Stream: events.SlotQueueStream(e.Me), Schema: slotqueue.StateSchema,
		Empty: func() slotqueue.State { return slotqueue.New(limits) },
		Size:  slotqueue.State.Size, Pieces: slotqueue.State.Pieces,
		Parse: func(pieces [][]byte) (slotqueue.State, error) { return slotqueue.RestorePieces(limits, pieces) },
	}
}

// Receive implements shell.Behavior.
func (q *Queue) Receive(a *shell.Turn, msg any) {
	if q.journal.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		q.self = a.Self
		q.journal.Load(a)
	case MarketNews:
		q.news.add(m)
		q.judgeNext(a)
	case newsRead:
		q.onNewsRead(a, m)
	case judged:
		q.onJudged(a, m)
	case Command:
		answer := a.Asker()
		q.journal.Submit(a, m.Cmd, m.Cause, func(r shell.Result[slotqueue.State, slotqueue.Event]) {
			answer(struct{}{}, r.Err)
		})
	case judgedLater:
		q.journal.SubmitBy(a, m.cmd, m.cause, m.by, m.done)
	case queueHolds:
		q.query(a.Asker(), func(s slotqueue.State) any { return s.Holds(m.request, m.index) })
	case AvoidedClient:
		q.query(a.Asker(), func(s slotqueue.State) any {
			if c, avoided := s.Avoided(m.Client, m.At); avoided {
				return &c
			}
			return (*slotqueue.AvoidedClient)(nil)
		})
	case Show:
		q.query(a.Asker(), func(s slotqueue.State) any { return s.Snapshot() })
	case WaitsFor:
		q.query(a.Asker(), func(s slotqueue.State) any { return s.Waiting()[m.Criterion] > 0 })
	case ListPromised:
		q.query(a.Asker(), func(s slotqueue.State) any { return s.Promises() })
	case Wake:
		q.onWake(a, m)
	case ledger.Freed:
		q.onFreed(a, m)
	case lookedBack:
		q.onLookedBack(m)
	case lookAtOwed:
		q.onPauseOver()
	case chainview.HeadMoved:
		q.onHead(a, m.Head)
	case fundsSeen:
		q.onFunds(a, m)
	case avoidClient:
		q.onAvoid(a, m)
	case workerDone:
		q.onWorkerDone(a, m)
	case TryMarket:
		q.judgeQuarantined(a, m.Revision)
	case workerDue:
		delete(q.workers, m.key)
		q.employ(a)
	case shell.ChildFailed:
		q.onWorkerFailed(m)
	}
}

// query answers from the durable queue.
func (q *Queue) query(answer shell.Answer, look func(slotqueue.State) any) {
	q.journal.Query(func(s slotqueue.State) { answer(look(s), nil) })
}

// onWorkerFailed starts another worker after a pause, and keeps the place for it.
func (q *Queue) onWorkerFailed(m shell.ChildFailed) {
	for key, w := range q.workers {
		if !w.Is(m.Child) {
			continue
		}
		q.stumbles[key]++
		pause := q.Backoff(key, q.stumbles[key])
		q.Log.WithField("actor", m.Child.Name).Errorf("a worker failed and will be restarted in %s: %v", pause, m.Err)
		q.Clock.After(pause, func() { q.self.Tell(workerDue{key}) })
	}
}

func (q *Queue) onDurable(a *shell.Turn, fresh []slotqueue.Event) {
	q.keeper.Consider(a)
	if len(fresh) == 0 && q.Life > 1 && !q.woken { // What it was told while it was down is lost.
		q.woken = true
		q.onWake(a, Wake{
			Reason: "the queue was started again", Criteria: slices.Sorted(maps.Keys(q.journal.Durable.Waiting())),
		})
	}
	q.employ(a)
	q.judgeNext(a)
}

// employ gives every taken slot a worker, and takes more slots while there is room.
func (q *Queue) employ(a *shell.Turn) {
	if !q.journal.Loaded {
		return
	}
	for _, w := range slotqueue.Next(q.journal.Durable) {
		if _, busy := q.workers[w.Key()]; !busy {
			q.workers[w.Key()] = a.Spawn("SlotWorker "+events.SlotIDOf(w.RequestID, w.SlotIndex).Short(),
				&slotWorker{Deps: &q.Deps, work: w, last: q.takings[w.Key()]})
		}
	}
	_, _, paused := q.journal.Durable.Paused()
	if q.taking || paused || q.Held() || q.Room.Now().Full ||
		q.journal.Durable.Len() == 0 || len(q.workers) >= q.MaxWorkers {
		return
	}
	q.taking = true
	q.journal.Submit(a, slotqueue.Take{At: q.ChainTime(), MaxWorkers: q.MaxWorkers}, "take",
		func(r shell.Result[slotqueue.State, slotqueue.Event]) {
			q.taking = false
			q.rememberTaking(r)
		})
}

// rememberTaking keeps the event that took a slot: it leads to what the slot's worker does.
func (q *Queue) rememberTaking(r shell.Result[slotqueue.State, slotqueue.Event]) {
	if len(r.Events) == 0 {
		return
	}
	if e, ok := r.Events[len(r.Events)-1].(*messages.SlotTaken); ok {
		w := slotqueue.Work{
			RequestID: events.Must(events.ParseRequestID(e.GetRequestId())), SlotIndex: e.GetSlotIndex(),
		}
		q.takings[w.Key()] = r.Last
	}
}

func (q *Queue) onWorkerDone(a *shell.Turn, m workerDone) {
	key := m.work.Key()
	q.journal.SubmitBy(a, slotqueue.Release{
		At: q.ChainTime(), RequestID: m.work.RequestID, SlotIndex: m.work.SlotIndex,
		Outcome: m.outcome, Requeue: m.requeue, Criterion: m.criterion, RetryAt: m.retryAt,
	}, key, m.by, func(shell.Result[slotqueue.State, slotqueue.Event]) {
		delete(q.stumbles, key)
		delete(q.takings, key)
		delete(q.workers, key) // When the release did not happen, the slot gets a new worker.
		q.employ(a)
	})
}

// again sends a message to this actor once more, after a pause, if nothing was decided about
// it.
func (q *Queue) again(err error, msg any) {
	if undecided(err) {
		q.Clock.After(q.Backoff(fmt.Sprintf("%T", msg), 1), func() { q.self.Tell(msg) })
	}
}

// undecided reports whether a command was not decided and must be submitted again.
func undecided(err error) bool {
	return errors.Is(err, shell.ErrReloading) || errors.Is(err, shell.ErrOverloaded) ||
		errors.Is(err, shell.ErrStoreAway)
}

// onAvoid remembers a client whose data could not be fetched, or was wrong.
func (q *Queue) onAvoid(a *shell.Turn, m avoidClient) {
	if q.AvoidClient <= 0 {
		return
	}
	at := q.ChainTime()
	q.Log.WithField("client", m.client.String()).Warnf("requests of this client are refused for %s: %s",
		q.AvoidClient, m.reason)
	q.journal.SubmitBy(a, slotqueue.Avoid{At: at, Client: m.client, Until: at.Add(q.AvoidClient), Reason: m.reason},
		m.work.Key(), m.by, func(r shell.Result[slotqueue.State, slotqueue.Event]) { q.again(r.Err, m) })
}
