package tx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transactions"
)

// Limits of copying.
const (
	// maxUncopied is how many events the stream may lag behind before new intents are refused. A
	// busy host needs several days for as many.
	maxUncopied = 65_536
	copyBatch   = 256
	// The pauses between two tries are short, because nothing is sold until the stream is complete
	// again.
	firstCopyWait   = time.Second
	longestCopyWait = 3 * time.Second
	// copyAtEnd is how long a stop waits for the last entries to be copied: longer than the event
	// store takes to elect a leader, and shorter than the 10 seconds after which containers are
	// killed.
	copyAtEnd = 8 * time.Second
	// recordTime is how long an append may take when transactions wait for it; then the event store
	// counts as away, and duties go out.
	recordTime = 3 * time.Second
)

// Errors of copying.
var (
	// ErrTakenOver: another process wrote to the account's stream. Two owners of one account would
	// use each other's nonces, so this one stops.
	ErrTakenOver = errors.New("another process sends transactions for this account")
	// ErrStreamShort: events that were in the account's stream are missing. The event store is
	// another one, or an older copy. Transactions are sent all the same and wait in the outbox,
	// until the events are back or the host is started on this store.
	ErrStreamShort = errors.New("the event store has lost transactions of this account")
)

// copier copies the outbox to the account's stream in the background, each entry at exactly its
// revision. While the store is away the entries wait in the outbox and in memory, bounded by
// maxUncopied, and the copier tries for ever.
//
// An append with an unknown outcome is repeated unchanged, even if more entries have come since: a
// store recognises only exactly what it was sent, and may still be about to commit it. After a
// restart it is not known any more which entries were appended together. So when the store reports
// another revision, the copier compares the ids of the events that are there: its own are done, and
// anything else was written by another process.
//
// Without a store nothing is copied.
type copier struct {
	store  events.Store
	stream string
	epoch  uint64
	node   string
	codec  *events.Codec
	log    logrus.FieldLogger
	stop   context.CancelFunc
	done   chan struct{}
	wake   chan struct{}
	copied chan struct{} // buffered, one; filled when something was copied
	// news is nil unless transactions wait for their events. Buffered, one; filled when something
	// was copied, the store went away or came back, or the copying has ended.
	news chan struct{}

	// down ends when no transaction is sent any more; its cause is the first reason that fail was given.
	down context.Context
	fail context.CancelCauseFunc

	// out is the append whose outcome is not known: the first of the pending entries. outAt is the
	// revision of its first event. Only run uses them.
	out   []events.NewEvent
	outAt uint64

	mu      sync.Mutex
	pending []entry
	since   time.Time // when the present series of failed tries began
	trouble error     // the error of the last one
}

func startCopier(cfg Config, store events.Store, stream string, pending []entry) *copier {
	ctx, cancel := context.WithCancel(context.Background())
	c := &copier{
		store: store, stream: stream, epoch: cfg.Epoch, node: cfg.Node,
		codec: events.NewCodec(transactions.Table()), log: cfg.Log,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1), copied: make(chan struct{}, 1),
		pending: pending,
	}
	c.down, c.fail = context.WithCancelCause(context.Background())
	if cfg.RecordFirst {
		c.news = make(chan struct{}, 1)
	}
	if store == nil {
		c.trouble, c.since = errNoStore, time.Now() // Not told: the store may be up, and not this one's to write to.
		close(c.done)
		return c
	}
	go c.run(ctx)
	return c
}

// close ends the copying. It first waits for the pending entries to be copied, but not long; the
// rest stays in the outbox.
func (c *copier) close() {
	enough := time.NewTimer(copyAtEnd)
	defer enough.Stop()
	for waits := !c.drained(); waits; {
		select {
		case <-c.copied:
			waits = !c.drained()
		case <-c.done:
			waits = false
		case <-enough.C:
			waits = false
		}
	}
	c.stop()
	<-c.done
}

// put adds an entry. It does not block.
func (c *copier) put(r entry) {
	c.mu.Lock()
	c.pending = append(c.pending, r)
	c.mu.Unlock()
	hint(c.wake)
}

// hint says that there is something new. Where it has been said and not been heard, or nobody can listen, it
// does nothing.
func hint(listener chan<- struct{}) {
	select {
	case listener <- struct{}{}:
	default:
	}
}

// has says that the entry with a revision is certainly in the stream.
func (c *copier) has(revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0 || revision < c.pending[0].Revision
}

// room returns an error when the stream lags too far behind.
func (c *copier) room() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) >= maxUncopied {
		return fmt.Errorf("%d transaction events wait for the event store, which is the limit", maxUncopied)
	}
	return nil
}

func (c *copier) drained() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0
}

func (c *copier) failure() error { return context.Cause(c.down) }

// away is since when the store has not taken the pending entries, and why; nil: it takes them.
func (c *copier) away() (since time.Time, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.trouble
}

func (c *copier) run(ctx context.Context) {
	defer close(c.done)
	wait := firstCopyWait
	for {
		err := c.copyAll(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrTakenOver) {
			c.log.WithError(err).Error("transactions: nothing is sent any more")
			c.fail(err)
			hint(c.news)
			return
		}
		c.note(err)
		var timer <-chan time.Time
		if err == nil {
			wait = firstCopyWait
		} else {
			timer = time.After(wait)
			wait = min(2*wait, longestCopyWait)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-c.wake:
		}
	}
}

// note keeps the result of a try, and logs it if it differs from the last one.
func (c *copier) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.trouble == nil:
		c.since = time.Now()
		c.log.WithError(err).Warn("transactions: the event store does not take their events, they wait in the outbox")
		defer hint(c.news)
	case err == nil && c.trouble != nil:
		c.since = time.Time{}
		c.log.Info("transactions: the event store has all their events again")
		defer hint(c.news)
	}
	c.trouble = err
}

func (c *copier) copyAll(ctx context.Context) error {
	for {
		if len(c.out) == 0 {
			var err error
			if c.out, c.outAt, err = c.batch(); err != nil || len(c.out) == 0 {
				return err
			}
		}
		n, err := c.append(ctx)
		if err != nil {
			return err
		}
		c.out = nil
		c.mu.Lock()
		c.pending = c.pending[n:]
		c.mu.Unlock()
		hint(c.copied)
		hint(c.news)
	}
}

// append appends out, and returns how many of its events are in the stream then.
func (c *copier) append(ctx context.Context) (n int, err error) {
	timed := ctx
	if c.news != nil {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, recordTime)
		defer cancel()
	}
	_, err = c.store.Append(timed, c.stream, events.ExpectNext(c.outAt), c.out)
	n = len(c.out)
	if wrong, refused := errors.AsType[*events.WrongRevisionError](err); refused {
		n, err = c.compare(timed, wrong)
	}
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: no answer within %s: %w", events.ErrAway, recordTime, err)
	}
	return n, err
}

// batch is the next append: entries without a gap, within the size that every store takes.
func (c *copier) batch() (batch []events.NewEvent, first uint64, err error) {
	c.mu.Lock()
	some := c.pending[:min(len(c.pending), copyBatch)]
	c.mu.Unlock()
	bytes := 0
	for i, r := range some {
		if i > 0 && r.Revision != some[i-1].Revision+1 {
			break
		}
		e, err := c.event(r)
		if err != nil {
			return nil, 0, err
		}
		if bytes += e.Size(); i > 0 && bytes > events.PreferredAppendBytes {
			break
		}
		batch = append(batch, e)
	}
	if len(batch) > 0 {
		first = some[0].Revision
	}
	return batch, first, nil
}

// compare returns how many events of the pending append are already in the stream, after the store
// reported a wrong revision. The stream counts as too short only when the store reports it so and a
// read confirms it.
func (c *copier) compare(ctx context.Context, wrong *events.WrongRevisionError) (same int, err error) {
	q := events.ReadStream{From: c.outAt, Limit: len(c.out)}
	for r, err := range c.store.ReadStream(ctx, c.stream, q) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return 0, err
		}
		if r.Revision != c.outAt+uint64(same) || r.ID != c.out[same].ID {
			return 0, fmt.Errorf("%w: %w", ErrTakenOver, wrong)
		}
		same++
	}
	switch {
	case same > 0:
		return same, nil
	case wrong.Exists && wrong.Actual+1 > c.outAt:
		return 0, fmt.Errorf("%w: it checks against events that it does not show yet: %w", events.ErrAway, wrong)
	}
	return 0, fmt.Errorf("%w: %w", ErrStreamShort, wrong)
}

func (c *copier) event(r entry) (events.NewEvent, error) {
	name, version, data, err := c.codec.Encode(r.Event)
	if err != nil {
		return events.NewEvent{}, err
	}
	id, err := entryID(c.stream, r)
	if err != nil {
		return events.NewEvent{}, err
	}
	return events.NewEvent{
		ID: id, Type: name, Data: data,
		Meta: events.Metadata{
			Correlation: r.Correlation, Version: version, Epoch: c.epoch, Node: c.node,
		},
	}, nil
}

// entryID is the id of an entry's event in the stream. It depends on the content, so that another
// owner's event at the same revision is never taken for ours. It is not computed from JSON, whose
// spaces differ between builds.
func entryID(stream string, r entry) (events.EventID, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Event)
	if err != nil {
		return events.EventID{}, fmt.Errorf("encode a transaction event: %w", err)
	}
	sum := sha256.Sum256(content)
	return events.NewEventID(stream, hex.EncodeToString(sum[:]), int(r.Revision)), nil
}

// catchUp reads the events that the stream has and the outbox lacks, because the file was lost or
// another process used the account. It returns them, and the length of the stream. ErrTakenOver:
// both were written to.
func catchUp(
	ctx context.Context, store events.Store, stream string, known []entry, next uint64,
) (missing []entry, length uint64, err error) {
	last, found, err := events.Last(ctx, store, stream)
	if err != nil || !found {
		return nil, 0, err
	}
	length = last.Revision + 1
	codec := events.NewCodec(transactions.Table())
	// If the last event that both have is the same, so is everything before it.
	common := min(length, max(next, 1)) - 1
	for e, err := range store.ReadStream(ctx, stream, events.ReadStream{From: common}) {
		switch {
		case err != nil:
			return nil, 0, err
		case e.Revision < next:
			if err := sameEntry(stream, known, e); err != nil {
				return nil, 0, err
			}
			continue
		}
		m, err := codec.Decode(e)
		if err != nil {
			return nil, 0, err
		}
		missing = append(missing, entry{e.Revision, m, e.Meta.Correlation})
	}
	if len(missing) > 0 { // More events may have come since the length was read.
		length = next + uint64(len(missing))
	}
	return missing, length, nil
}

// sameEntry compares an event of the stream with the outbox's entry at the same revision.
func sameEntry(stream string, known []entry, e events.Recorded) error {
	for _, r := range known {
		if r.Revision != e.Revision {
			continue
		}
		id, err := entryID(stream, r)
		if err == nil && id != e.ID {
			err = fmt.Errorf("%w: revision %d of %s differs from the outbox", ErrTakenOver, e.Revision, stream)
		}
		return err
	}
	return nil
}
