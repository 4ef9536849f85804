package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
)

// This file knows whether the event store answers, and says what a host does when it does not.
//
// Calls on the store are repeated until they are answered. Each reports here when it fails, or
// has had no answer for a while, and again when it is over. While one of them fails, the event
// store is away (an outage), and
//
//   - decided events wait in the journals, in memory, and are appended in their order when the
//     store is back;
//   - sales perform what they owe (sale.IsDuty) as soon as it is decided. The outbox of the
//     transaction manager makes that safe: it is written and synced before anything is sent, so
//     a host that dies in the outage finds its transactions there, and a sale asks for them
//     before it closes a period (selling/takenproofs.go);
//   - nothing else begins. A running call may end and report, but is not tried again;
//   - the chain is followed without recording it (actors/marketrecord.go), because the scheduler
//     must know which proofs are due;
//   - operators' commands are answered with ErrStoreAway.
//
// When the last failing call is answered, every actor looks at what there is to do. The
// repeated calls notice that the store is back; when there are none, a probe does. A store that
// notices it itself (events.Watchful) rings the bell, which ends the pauses of them all.

// Limits of an outage.
const (
	// answerPatience is how long a call on the store may go without an answer before the store
	// counts as away. A busy disk answers sooner, and periods last at least tens of seconds, of
	// which a proof takes some.
	answerPatience = 3 * time.Second
	// probeEvery is how often the store is asked for its head, so that an idle host notices an
	// outage too.
	probeEvery = 5 * time.Second
	// OperatorPatience is how long an operator's command waits for a store that went away after
	// the command was submitted.
	OperatorPatience = 10 * time.Second
	// StopPatience is how long a stop waits for a store that is away.
	StopPatience = 2 * time.Second
	// MaxNamedStreams is how many streams a message names.
	MaxNamedStreams = 5
)

// ErrStoreAway: the event store does not answer, so nothing can be decided. A submitted
// command may still take effect when the store is back; repeating it is harmless.
var ErrStoreAway = errors.New("the event store does not answer")

// ErrBehind: the store shows less of the record than it has shown or acknowledged before. It
// lags behind, or is an older copy; nothing is decided by it.
var ErrBehind = errors.New("the event store shows less than it has shown before")

// ErrTakenOver: another process runs this host now. This one ends, and sends nothing more.
var ErrTakenOver = errors.New("another process runs this host")

// ErrDeposed: another member of the host runs now what runs once per host.
var ErrDeposed = errors.New("another member has taken the term")

// ErrUnreadable: the store answers, and what it holds cannot be read.
var ErrUnreadable = errors.New("the record cannot be read")

// errNoAnswer is the reason of a call that has had no answer for answerPatience.
var errNoAnswer = fmt.Errorf("no answer for %s", answerPatience)

// StoreStatus says whether the event store answers. Zero: it does.
type StoreStatus struct {
	Away bool
	// Since is when the first of the failing calls failed, by the machine's clock; Reason is
	// why the last one did.
	Since  time.Time
	Reason string
	// Damaged: what is stored is not what was written, so the store does not come back by
	// itself.
	Damaged bool
	// WentBack: the store lacks events that it had acknowledged.
	WentBack bool
}

// NeverPasses reports whether asking the store again cannot help. A store that has stopped
// counts as away, even if because of damage: proofs go out without it.
func NeverPasses(err error) bool {
	return !errors.Is(err, events.ErrStoreFailed) && IsOneOf(err,
		events.ErrWrongRevision, events.ErrTooLarge, events.ErrMalformed, events.ErrClosed,
		events.ErrStreamDeleted, events.ErrDamaged, events.ErrNewerEvent, events.ErrUnknownEvent, ErrUnreadable,
		ErrTakenOver)
}

// IsOneOf reports whether an error is one of these.
func IsOneOf(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// StoreWatch knows whether the event store answers. Safe for concurrent use.
type StoreWatch struct {
	clock Clock
	log   *logrus.Entry
	// yield is Config.Yield. It is called before everything that changes whether the store is
	// away, so that a simulated run can be repeated.
	yield func(ctx context.Context, task string)

	// Bell ends the pauses of calls early, and is rung when the store is back; nil: none.
	Bell *Bell

	mu      sync.Mutex
	failing map[*StoreCall]bool
	status  StoreStatus
	back    chan struct{} // closed when the store is back; nil while it is not away
	moved   func()        // called when the store went away or came back; must not block
	first   time.Time     // when it went away for the first time; zero: it never did

	// Conflict is called when another process wrote to a stream of this host. It is set before
	// anything is written, and must not block.
	Conflict func()
	// Asked is how many calls have no answer yet.
	Asked atomic.Int64
	// Stopping says that calls end because the host stops, not because they are answered.
	Stopping atomic.Bool
}

// NewStoreWatch returns the watch of a store that answers. yield is called before anything
// changes that.
func NewStoreWatch(clock Clock, log *logrus.Entry, yield func(context.Context, string)) *StoreWatch {
	return &StoreWatch{
		clock: clock, log: log, yield: yield, failing: map[*StoreCall]bool{},
		moved: func() {}, Conflict: func() {},
	}
}

// Notify sets what is called when the store goes away or comes back.
func (r *StoreWatch) Notify(moved func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = moved
}

// Now says whether the event store answers.
func (r *StoreWatch) Now() StoreStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// FirstAway is when the store went away for the first time; zero: it never did.
func (r *StoreWatch) FirstAway() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// Away reports whether the event store does not answer.
func (r *StoreWatch) Away() bool { return r.Now().Away }

// Wait waits until the store is not away, or returns the context's error. task names the
// waiting task.
func (r *StoreWatch) Wait(ctx context.Context, task string) error {
	for {
		r.mu.Lock()
		back := r.back
		r.mu.Unlock()
		if back == nil {
			return ctx.Err()
		}
		select {
		case <-back:
			r.yield(ctx, task)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Unwritten names streams whose appends fail.
func (r *StoreWatch) Unwritten() (streams []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.failing {
		if c.writes {
			streams = append(streams, c.stream)
		}
	}
	slices.Sort(streams)
	return streams
}

// StoreCall is one piece of work on the store, repeated until it is answered.
type StoreCall struct {
	watch  *StoreWatch
	stream string
	writes bool
	ctx    context.Context //nolint:containedctx // Of the task that the call belongs to.
	// Trouble is closed when the call fails for the first time. Nil: nobody waits for that.
	Trouble chan struct{}
	once    sync.Once
}

// Call begins a piece of work. Call End when it is over, but after telling those who wait for
// it, so that they hear of their work before they hear that the store is back.
func (r *StoreWatch) Call(ctx context.Context, stream string) *StoreCall {
	return &StoreCall{watch: r, stream: stream, ctx: ctx}
}

// Append repeats an append until the store accepts or refuses it. Ids and expected revision
// stay the same, so that an append whose answer was lost is recognised.
func (c *StoreCall) Append(store events.Store, expected events.Expected, batch []events.NewEvent) error {
	c.writes = true
	err := c.Repeat(func() error {
		_, err := store.Append(c.ctx, c.stream, expected, batch)
		return err
	})
	if errors.Is(err, events.ErrWrongRevision) {
		c.watch.Conflict()
	}
	return err
}

// Repeat asks until the store answers, or the error never passes.
func (c *StoreCall) Repeat(ask func() error) error {
	for pause := appendRetry; ; pause = min(2*pause, appendRetryMost) {
		rung := c.watch.Bell.Next()
		err := c.try(ask)
		switch {
		case err == nil, NeverPasses(err):
			return err
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		}
		c.yield()
		c.Failed(err)
		rang, err := c.watch.Bell.sleep(c.ctx, c.watch.clock, pause, appendRetry, rung)
		if err != nil {
			return err
		}
		if rang {
			pause = appendRetry
			c.yield()
		}
	}
}

// try asks once. While there is no answer for too long, the call counts as failing.
func (c *StoreCall) try(ask func() error) error {
	var mu sync.Mutex
	answered := false
	defer c.watch.clock.After(answerPatience, func() {
		c.yield()
		mu.Lock()
		defer mu.Unlock()
		if !answered {
			c.Failed(errNoAnswer)
		}
	})()
	c.watch.Asked.Add(1)
	defer c.watch.Asked.Add(-1)
	err := ask()
	mu.Lock()
	defer mu.Unlock()
	answered = true
	return err
}

func (c *StoreCall) yield() { c.watch.yield(c.ctx, "record "+c.stream) }

// Failed notes that the call failed and is tried again.
func (c *StoreCall) Failed(err error) {
	r := c.watch
	r.mu.Lock()
	r.failing[c] = true
	r.status.Reason, r.status.Damaged = err.Error(), errors.Is(err, events.ErrDamaged)
	r.status.WentBack = errors.Is(err, events.ErrWentBack)
	went := !r.status.Away
	if went {
		r.status.Away, r.status.Since, r.back = true, r.clock.Now(), make(chan struct{})
		if r.first.IsZero() {
			r.first = r.status.Since
		}
	}
	moved := r.moved
	r.mu.Unlock()
	if went {
		r.log.Warnf("the event store does not answer; proofs that are due are still sent, "+
			"nothing else begins until it is back: %v", err)
		moved()
	}
	if c.Trouble != nil {
		c.once.Do(func() { close(c.Trouble) })
	}
}

// End notes that the call is over, however it ended.
func (c *StoreCall) End() {
	r := c.watch
	r.mu.Lock()
	failing := r.failing[c]
	r.mu.Unlock()
	if !failing {
		return
	}
	c.yield()
	r.mu.Lock()
	delete(r.failing, c)
	came := r.status.Away && len(r.failing) == 0
	var took time.Duration
	if came {
		took = r.clock.Now().Sub(r.status.Since)
		close(r.back)
		r.status, r.back = StoreStatus{}, nil
	}
	moved := r.moved
	r.mu.Unlock()
	if came && r.Bell != nil {
		r.Bell.Ring()
	}
	if came && !r.Stopping.Load() {
		r.log.Infof("the event store answers again after %s; work goes on", took.Round(time.Millisecond))
		moved()
	}
}

// Probe asks the store for its head every probeEvery, until ctx ends.
func (r *StoreWatch) Probe(ctx context.Context, store events.Store) {
	for Sleep(ctx, r.clock, probeEvery) == nil {
		r.probeOnce(ctx, store)
	}
}

func (r *StoreWatch) probeOnce(ctx context.Context, store events.Store) {
	c := r.Call(ctx, "")
	defer c.End()
	_ = c.Repeat(func() error { // A call of the store meets an error that never passes.
		_, err := store.Head(ctx)
		return err
	})
}
