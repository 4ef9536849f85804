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

// This file is what the host does when its event store does not answer.
//
// Every call on the store that is repeated until it is answered says here that
// it fails, or has had no answer for a while, and says so again when it is
// over. While one of them fails the record is away, and
//
//   - what was decided waits in the journals, in memory, and is appended in its
//     order when the store is back;
//   - sales do what they owe (sale.IsDuty) as soon as it is decided. What makes
//     that safe is the outbox of the transaction manager, which is written and
//     synced before anything is sent: a host that dies in the outage finds its
//     transactions there, and a sale asks for them before it closes a period
//     (selling/takenproofs.go);
//   - nothing else begins. A call that runs may end and report; it is not
//     tried again;
//   - the chain is followed without a record (actors/follower.go), because the
//     scheduler must know which proofs are due;
//   - operators are answered ErrRecordAway.
//
// When the last failing call is answered, everybody looks at what there is to
// do. The calls themselves find out that the store is back: each is repeated,
// and a probe asks when nobody else does.

// Limits of an outage.
const (
	// answerPatience is how long a call on the store may be without an answer
	// before the record counts as away. A period has at least some tens of seconds,
	// a proof takes some; a disk that is busy answers sooner.
	answerPatience = 3 * time.Second
	// probeEvery is how often the store is asked for its head, so that an idle
	// host knows as well, and says so.
	probeEvery = 5 * time.Second
	// OperatorPatience is how long an operator's command may wait for a store
	// that went away meanwhile.
	OperatorPatience = 10 * time.Second
	// StopPatience is how long a stop waits for a store that is away.
	StopPatience = 2 * time.Second
	// MaxNamedStreams is how many streams a message names.
	MaxNamedStreams = 5
)

// ErrRecordAway: the event store does not answer, so nothing can be decided. A
// command that was on its way may still take effect when the store is back;
// repeating it is harmless.
var ErrRecordAway = errors.New("the event store does not answer")

// ErrBehind: the store shows less of the record than it has shown before, or has
// acknowledged. It is behind, or it is an older copy; nothing is decided by it.
var ErrBehind = errors.New("the event store shows less than it has shown before")

// ErrTakenOver: another process began to run this host. This one ends, and sends
// nothing more.
var ErrTakenOver = errors.New("another process runs this host")

// ErrUnreadable: the store answers, and what it holds cannot be read.
var ErrUnreadable = errors.New("the record cannot be read")

// errNoAnswer is the reason of a call that has had no answer for answerPatience.
var errNoAnswer = fmt.Errorf("no answer for %s", answerPatience)

// RecordStatus says whether the event store answers. Zero: it does.
type RecordStatus struct {
	Away bool
	// Since is when the first of the calls failed that fail now, by the machine's
	// clock, and Reason why the last one did.
	Since  time.Time
	Reason string
	// Damaged: what is stored is not what was written, so it does not come back by
	// itself.
	Damaged bool
	// WentBack: the store lacks events that it had acknowledged.
	WentBack bool
}

// NeverPasses reports whether asking the store again cannot help. A store that has
// stopped is away, also when damage was the reason: what is owed is done without it.
func NeverPasses(err error) bool {
	if errors.Is(err, events.ErrStoreFailed) {
		return false
	}
	for _, final := range []error{
		events.ErrWrongRevision, events.ErrTooLarge, events.ErrMalformed, events.ErrClosed,
		events.ErrStreamDeleted, events.ErrDamaged, events.ErrNewerEvent, events.ErrUnknownEvent, ErrUnreadable,
		ErrTakenOver,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// Record knows whether the event store answers. Safe for concurrent use.
type Record struct {
	clock Clock
	log   *logrus.Entry
	// yield is Config.Yield: it comes before everything that moves the record, so
	// that a simulated run can be repeated.
	yield func(ctx context.Context, task string)

	mu      sync.Mutex
	failing map[*RecordCall]bool
	status  RecordStatus
	back    chan struct{} // closed when the record is back; nil while it is here
	moved   func()        // told when it went away or came back; it must not block

	// Conflict is told when somebody else wrote to a stream of this host. It is set
	// before anybody writes, and must not block.
	Conflict func()
	// Asked is how many calls have no answer yet.
	Asked atomic.Int64
	// Stopping says that calls end because the host does, not because they are answered.
	Stopping atomic.Bool
}

// NewRecord is the record of a host whose event store answers. Yield comes before whatever
// moves it (a simulation orders tasks there).
func NewRecord(clock Clock, log *logrus.Entry, yield func(context.Context, string)) *Record {
	return &Record{
		clock: clock, log: log, yield: yield, failing: map[*RecordCall]bool{},
		moved: func() {}, Conflict: func() {},
	}
}

// Notify sets who is told when the record goes away or comes back.
func (r *Record) Notify(moved func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = moved
}

// Now says whether the event store answers.
func (r *Record) Now() RecordStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Away reports whether the event store does not answer.
func (r *Record) Away() bool { return r.Now().Away }

// Wait returns when the record is here, or with the context's error. The task
// that waits has a name for its turn.
func (r *Record) Wait(ctx context.Context, task string) error {
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
func (r *Record) Unwritten() (streams []string) {
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

// RecordCall is one piece of work on the store, repeated until it is answered.
type RecordCall struct {
	record *Record
	stream string
	writes bool
	ctx    context.Context //nolint:containedctx // Of the task that the call belongs to.
	// Trouble is closed when the call fails for the first time.
	Trouble chan struct{}
	once    sync.Once
}

// Call begins a piece of work of a task. It must be ended with end, after whoever
// waits for it was told: who hears that the record is back then hears it later.
func (r *Record) Call(ctx context.Context, stream string) *RecordCall {
	return &RecordCall{record: r, stream: stream, ctx: ctx, Trouble: make(chan struct{})}
}

// Append appends until the store says yes or no. Ids and expectation stay the
// same, so that an append whose answer was lost is recognised.
func (c *RecordCall) Append(store events.Store, expected events.Expected, batch []events.NewEvent) error {
	c.writes = true
	err := c.Repeat(func() error {
		_, err := store.Append(c.ctx, c.stream, expected, batch)
		return err
	})
	if errors.Is(err, events.ErrWrongRevision) {
		c.record.Conflict()
	}
	return err
}

// Repeat asks until the store answers, or the answer can never be another one.
func (c *RecordCall) Repeat(ask func() error) error {
	for pause := appendRetry; ; pause = min(2*pause, appendRetryMost) {
		err := c.try(ask)
		switch {
		case err == nil, NeverPasses(err):
			return err
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		}
		c.yield()
		c.Failed(err)
		if err := Sleep(c.ctx, c.record.clock, pause); err != nil {
			return err
		}
	}
}

// try asks once; while there is no answer for too long, the call counts as
// failing.
func (c *RecordCall) try(ask func() error) error {
	var mu sync.Mutex
	answered := false
	stop := c.record.clock.After(answerPatience, func() {
		c.yield()
		mu.Lock()
		defer mu.Unlock()
		if !answered {
			c.Failed(errNoAnswer)
		}
	})
	defer stop()
	c.record.Asked.Add(1)
	defer c.record.Asked.Add(-1)
	err := ask()
	mu.Lock()
	defer mu.Unlock()
	answered = true
	return err
}

func (c *RecordCall) yield() { c.record.yield(c.ctx, "record "+c.stream) }

// Failed says that the call failed, and is tried again.
func (c *RecordCall) Failed(err error) {
	r := c.record
	r.mu.Lock()
	r.failing[c] = true
	r.status.Reason, r.status.Damaged = err.Error(), errors.Is(err, events.ErrDamaged)
	r.status.WentBack = errors.Is(err, events.ErrWentBack)
	went := !r.status.Away
	if went {
		r.status.Away, r.status.Since, r.back = true, r.clock.Now(), make(chan struct{})
	}
	moved := r.moved
	r.mu.Unlock()
	if went {
		r.log.Warnf("the event store does not answer; proofs that are due are still sent, "+
			"nothing else begins until it is back: %v", err)
		moved()
	}
	c.once.Do(func() { close(c.Trouble) })
}

// End says that the call is over, whatever came of it.
func (c *RecordCall) End() {
	r := c.record
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
		r.status, r.back = RecordStatus{}, nil
	}
	moved := r.moved
	r.mu.Unlock()
	if came && !r.Stopping.Load() {
		r.log.Infof("the event store answers again after %s; work goes on", took.Round(time.Millisecond))
		moved()
	}
}

// Probe asks the store for its head now and then, until ctx ends.
func (r *Record) Probe(ctx context.Context, store events.Store) {
	for Sleep(ctx, r.clock, probeEvery) == nil {
		r.probeOnce(ctx, store)
	}
}

func (r *Record) probeOnce(ctx context.Context, store events.Store) {
	c := r.Call(ctx, "")
	defer c.End()
	_ = c.Repeat(func() error { // What never passes is met by whoever needs the store.
		_, err := store.Head(ctx)
		return err
	})
}
