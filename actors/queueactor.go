package actors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// slotQueue decides which slot is worked on next. It consumes the market
// stream in its order, filters it by what the ledger has on offer, and gives
// the best slots to at most MaxWorkers children.
type slotQueue struct {
	*env
	ledger     ref
	supervisor ref
	journal    *journal[slotqueue.State, slotqueue.Command, slotqueue.Event]
	workers    map[string]ref // by the key of their Work
	taking     bool

	news    []marketNews // not consumed yet, in order
	judging bool         // the first of news is with the ledger or the chain
}

// marketNews is an event of the market stream.
type marketNews struct {
	revision uint64
	event    messages.MarketEvent
}

// Messages to the slot queue.
type (
	queueCommand struct {
		cmd   slotqueue.Command
		cause string
		reply func(result[slotqueue.State, slotqueue.Event])
	}
	queueQuery struct{ look func(slotqueue.State) }
	// wakeQueue says that slots may fit now that did not before.
	wakeQueue struct{ reason string }
	// judged is the verdict on the first of news: what to do with it.
	judged struct {
		revision uint64
		commands []slotqueue.Command
	}
)

func newSlotQueue(e *env, ledger, supervisor ref, broken func(error)) *slotQueue {
	q := &slotQueue{env: e, ledger: ledger, supervisor: supervisor, workers: map[string]ref{}}
	limits := slotqueue.Limits{MaxItems: e.MaxQueued}
	q.journal = &journal[slotqueue.State, slotqueue.Command, slotqueue.Event]{
		machine: machine[slotqueue.State, slotqueue.Command, slotqueue.Event]{
			empty:  func() slotqueue.State { return slotqueue.New(limits) },
			decide: slotqueue.Decide, evolve: slotqueue.Evolve,
		},
		stream: events.SlotQueueStream(e.me), store: e.Store, codec: e.codec, clock: e.Clock,
		meta: func(_ slotqueue.State, ev slotqueue.Event) events.Metadata {
			m, _ := ev.(interface{ GetRequestId() string })
			if m == nil {
				return e.metadata("")
			}
			return e.metadata(m.GetRequestId())
		},
		onDurable: q.onDurable,
		onBroken:  func(_ *turn, err error) { broken(err) },
	}
	return q
}

func (q *slotQueue) receive(a *turn, msg any) {
	if q.journal.handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case started:
		q.journal.load(a)
	case marketNews:
		q.news = append(q.news, m)
		q.judgeNext(a)
	case judged:
		q.onJudged(a, m)
	case queueCommand:
		q.journal.submit(a, m.cmd, m.cause, m.reply)
	case queueQuery:
		q.journal.query(m.look)
	case wakeQueue:
		q.onWake(a, m)
	case workerDone:
		q.onWorkerDone(a, m)
	case childFailed:
		q.log.WithField("actor", m.child.name).Errorf("a worker failed and is started again: %v", m.err)
		for key, w := range q.workers {
			if w.is(m.child) {
				delete(q.workers, key)
			}
		}
		q.employ(a)
	}
}

func (q *slotQueue) onDurable(a *turn, _ []slotqueue.Event) {
	q.employ(a)
	q.judgeNext(a)
}

// employ gives every taken slot a worker and takes another slot if there is
// room for one.
func (q *slotQueue) employ(a *turn) {
	if !q.journal.loaded {
		return
	}
	for _, effect := range slotqueue.Next(q.journal.durable) {
		w := effect.(slotqueue.Work)
		if _, busy := q.workers[w.Key()]; !busy {
			q.workers[w.Key()] = a.spawn("SlotWorker", &slotWorker{env: q.env, work: w, supervisor: q.supervisor})
		}
	}
	_, _, paused := q.journal.durable.Paused()
	if q.taking || paused || q.journal.durable.Len() == 0 || len(q.workers) >= q.MaxWorkers {
		return
	}
	q.taking = true
	q.journal.submit(a, slotqueue.Take{At: q.chainTime(), MaxWorkers: q.MaxWorkers}, "take",
		func(result[slotqueue.State, slotqueue.Event]) { q.taking = false })
}

func (q *slotQueue) onWorkerDone(a *turn, m workerDone) {
	key := m.work.Key()
	q.journal.submit(a, slotqueue.Release{
		At: q.chainTime(), RequestID: m.work.RequestID, SlotIndex: m.work.SlotIndex,
		Outcome: m.outcome, Requeue: m.requeue,
	}, key, func(result[slotqueue.State, slotqueue.Event]) {
		delete(q.workers, key) // When the release did not happen, the slot gets a new worker.
		q.employ(a)
	})
}

// judgeNext looks at the oldest news; one at a time, so that they reach the
// queue in the order of the market.
func (q *slotQueue) judgeNext(a *turn) {
	if q.judging || !q.journal.loaded {
		return
	}
	for len(q.news) > 0 {
		n := q.news[0]
		if n.revision <= q.journal.durable.LastMarketRevision() || !q.concerns(n.event) {
			q.news = q.news[1:]
			continue
		}
		q.judging = true
		self := a.self
		a.rt.do(func(ctx context.Context) {
			commands, err := q.judge(ctx, n)
			if err == nil {
				self.tell(judged{n.revision, commands})
			}
		})
		return
	}
}

func (q *slotQueue) concerns(e messages.MarketEvent) bool {
	switch e.(type) {
	case *messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
		return false
	}
	return true
}

func (q *slotQueue) onJudged(a *turn, m judged) {
	q.judging = false
	if len(q.news) == 0 || q.news[0].revision != m.revision {
		return
	}
	q.news = q.news[1:]
	for _, cmd := range m.commands {
		q.journal.submit(a, cmd, fmt.Sprintf("market@%d", m.revision),
			func(r result[slotqueue.State, slotqueue.Event]) {
				if r.err != nil {
					q.log.WithField("market", m.revision).
						Warnf("the queue did not take what the market said: %v", r.err)
				}
			})
	}
	q.judgeNext(a)
}

// maxLookBack is how many refused requests are looked at again when something
// improved. Each costs two calls to the chain.
const maxLookBack = 1_000

// onWake makes every slot worth another look, those of refused requests
// included.
func (q *slotQueue) onWake(a *turn, m wakeQueue) {
	q.journal.query(func(s slotqueue.State) {
		var again []slotqueue.RefusedRequest
		for _, criterion := range []capacity.Criterion{
			capacity.NoAvailability, capacity.Disabled, capacity.Size, capacity.Duration, capacity.Price,
			capacity.Collateral, capacity.Until, capacity.Overhead, capacity.Full,
		} {
			again = append(again, s.Refused(string(criterion))...)
		}
		again = again[:min(len(again), maxLookBack)]
		self := a.self
		a.rt.do(func(ctx context.Context) {
			for _, r := range again {
				if cmd, ok := q.judgeAgain(ctx, r); ok {
					self.tell(queueCommand{
						cmd, "look back: " + m.reason, func(result[slotqueue.State, slotqueue.Event]) {},
					})
				}
			}
		})
	})
	q.journal.submit(a, slotqueue.Wake{At: q.chainTime(), Reason: m.reason}, "wake",
		func(result[slotqueue.State, slotqueue.Event]) {})
}

// judgeAgain looks at a refused request; false when it is refused still, is
// over, or the chain did not answer (the next improvement asks again).
func (q *slotQueue) judgeAgain(ctx context.Context, refused slotqueue.RefusedRequest) (slotqueue.Command, bool) {
	r, err := q.Market.Request(ctx, refused.RequestID)
	if err != nil || len(refused.SlotIndices) == 0 {
		return nil, false
	}
	facts, err := q.Market.Slot(ctx, r.ID, refused.SlotIndices[0])
	if err != nil || facts.RequestState > events.RequestStarted {
		return nil, false
	}
	repair, expiry := facts.SlotState == events.SlotRepair, facts.RequestExpiry
	if repair {
		expiry = facts.RequestEnd
	}
	commands, err := q.judgeSlots(ctx, marketNews{}, r, refused.SlotIndices, repair, expiry)
	if err != nil || len(commands) == 0 || commands[0].(slotqueue.Queue).Refusal != nil {
		return nil, false
	}
	return commands[0], true
}

// judge says what an event of the market means for the queue. It waits until
// ledger and chain answer; only the end of the host makes it fail.
func (q *slotQueue) judge(ctx context.Context, n marketNews) ([]slotqueue.Command, error) {
	at := q.chainTime()
	remove := func(id string, reason string, indices ...uint64) ([]slotqueue.Command, error) {
		return []slotqueue.Command{slotqueue.Remove{
			At: at, RequestID: events.Must(events.ParseRequestID(id)), SlotIndices: indices,
			Reason: reason, MarketRevision: n.revision,
		}}, nil
	}
	switch e := n.event.(type) {
	case *messages.ChainStorageRequested:
		r := events.RequestFromMessage(e.GetRequest())
		return q.judgeSlots(ctx, n, r, shuffled(q.me, r), false, events.TimeFromMessage(e.GetExpiresAt()))
	case *messages.ChainSlotFreed:
		return q.judgeFreed(ctx, n, e)
	case *messages.ChainRequestFulfilled:
		return remove(e.GetRequestId(), "all slots are filled")
	case *messages.ChainRequestFailed:
		return remove(e.GetRequestId(), "the request failed")
	case *messages.ChainRequestCancelled:
		return remove(e.GetRequestId(), "the request was cancelled")
	case *messages.ChainSlotFilled:
		return remove(e.GetRequestId(), "the slot is filled", e.GetSlotIndex())
	case *messages.ChainSlotReservationsFull:
		return remove(e.GetRequestId(), "nobody else may reserve the slot", e.GetSlotIndex())
	case *messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
		return nil, nil
	}
	panic(fmt.Sprintf("actors: unknown market event %T", n.event))
}

func (q *slotQueue) judgeFreed(
	ctx context.Context, n marketNews, e *messages.ChainSlotFreed,
) ([]slotqueue.Command, error) {
	id := events.Must(events.ParseRequestID(e.GetRequestId()))
	var r events.Request
	var facts events.SlotFacts
	err := q.retry(ctx, "freed/"+id.String(),
		func(err error) { q.log.WithField("request", id).Warnf("look up a freed slot: %v", err) },
		func(err error) bool { return errors.Is(err, events.ErrUnknownRequest) },
		func(ctx context.Context) (err error) {
			if r, err = q.Market.Request(ctx, id); err != nil {
				return err
			}
			facts, err = q.Market.Slot(ctx, id, e.GetSlotIndex())
			return err
		})
	if errors.Is(err, events.ErrUnknownRequest) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return q.judgeSlots(ctx, n, r, []uint64{e.GetSlotIndex()}, true, facts.RequestEnd)
}

// judgeSlots filters by soundness and by what is on offer (seed 000: slots
// that match no availability do not enter the queue).
func (q *slotQueue) judgeSlots(ctx context.Context, n marketNews, r events.Request, indices []uint64,
	repair bool, expiry time.Time,
) ([]slotqueue.Command, error) {
	cmd := slotqueue.Queue{
		At: q.chainTime(), RequestID: r.ID, SlotIndices: indices, MarketRevision: n.revision,
		Terms: slotqueue.Terms{SlotSize: r.Ask.SlotSize, Expiry: expiry, Repair: repair},
	}
	if err := events.CheckRequest(r); err != nil {
		// Nothing of such a request is kept but its id: its numbers may be anything.
		cmd.SlotIndices, cmd.Terms = []uint64{0}, slotqueue.Terms{}
		cmd.Refusal = &slotqueue.Refusal{Criterion: "unsound", Reason: err.Error()}
		return []slotqueue.Command{cmd}, nil
	}
	price, _ := r.Ask.PricePerSecond()
	cmd.Terms.Profitability = price.MulSaturating(uint64(r.Ask.Duration / time.Second))
	cmd.Terms.Collateral, _ = r.Ask.CollateralPerSlot()
	if repair { // The contract asks less for a slot in repair, and holds the full amount.
		discount := cmd.Terms.Collateral.Div(100).MulSaturating(uint64(q.terms.RepairRewardPercentage))
		cmd.Terms.Collateral = cmd.Terms.Collateral.Sub(discount)
	}
	cmd.Terms.DatasetSize = r.Ask.SlotSize * events.Bytes(r.Ask.Slots)
	end := expiry
	if !repair {
		end = expiry.Add(r.Ask.Duration - r.Expiry)
	}
	refusal, err := q.match(ctx, askOf(r, end, q.Overhead(r.Ask.SlotSize)))
	cmd.Refusal = refusal
	return []slotqueue.Command{cmd}, err
}

func (q *slotQueue) match(ctx context.Context, ask capacity.Ask) (*slotqueue.Refusal, error) {
	done := make(chan *slotqueue.Refusal, 1)
	q.ledger.tell(ledgerQuery{func(l capacity.State) {
		if _, refusal := capacity.Match(l, ask); refusal != nil {
			done <- &slotqueue.Refusal{Criterion: string(refusal.Criterion), Reason: refusal.Reason}
			return
		}
		done <- nil
	}})
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// shuffled draws the order of a request's slots for this host, so that hosts
// do not all try the same slot first (seed 000). The draw follows from host
// and request; what came out is recorded.
func shuffled(me events.Address, r events.Request) []uint64 {
	indices := make([]uint64, min(r.Ask.Slots, events.MaxSlots))
	for i := range indices {
		indices[i] = uint64(i)
	}
	var seed [32]byte
	copy(seed[:], r.ID[:])
	for i, b := range me {
		seed[i%32] ^= b
	}
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:16])))
	rng.Shuffle(len(indices), func(i, j int) { indices[i], indices[j] = indices[j], indices[i] })
	return indices
}
