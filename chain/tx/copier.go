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
)

// Limits of copying.
const (
	// maxUncopied is how far the stream may lag, in events; beyond, no new intent is
	// taken. It is several days of a busy host.
	maxUncopied = 65_536
	copyBatch   = 256
	// The pauses between two tries: nothing is sold before the stream is complete
	// again, so a store that is back is found soon.
	firstCopyWait   = time.Second
	longestCopyWait = 3 * time.Second
	// copyAtEnd is how long an end waits for what is not in the stream yet: longer than
	// an election of the store takes, and less than what kills a process that was asked
	// to end (10 s with containers).
	copyAtEnd = 8 * time.Second
)

// Errors of copying.
var (
	// ErrTakenOver: somebody else wrote to the account's stream. Two owners of one
	// account would take each other's nonces, so this one stops.
	ErrTakenOver = errors.New("another process sends transactions for this account")
	// ErrStreamShort: the account's stream has lost events that were in it. It is another
	// store, or an older copy of it. What is sent waits in the outbox until the events are
	// there again, or the host is started on this store.
	ErrStreamShort = errors.New("the event store has lost transactions of this account")
)

// copier copies the outbox to the account's stream in the background, each entry at
// exactly its revision. While the store is away the entries wait in the outbox and in
// memory, bounded by maxUncopied, and the copier tries for ever.
//
// An append whose outcome is unknown is repeated as it was, however many entries have come
// since: a store recognises only what it was sent, and one that has not committed it yet
// judges by it. A restart forgets how entries went out together; so when the store says
// that the stream is elsewhere, the copier compares what stands there by ids. What is ours
// is done; anything else is a second writer.
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
	copied chan struct{} // has room for one; filled when something was copied

	down *breakdown

	// out is the append whose outcome is not known, of the first entries that wait, and
	// outAt the revision of the first of its events. Only run uses them.
	out   []events.NewEvent
	outAt uint64

	mu      sync.Mutex
	pending []entry
	since   time.Time // when the first of the tries failed that fail now
	trouble error     // why the last one did
}

func startCopier(cfg Config, store events.Store, stream string, pending []entry) *copier {
	ctx, cancel := context.WithCancel(context.Background())
	c := &copier{
		store: store, stream: stream, epoch: cfg.Epoch, node: cfg.Node,
		codec: events.NewCodec(events.TxTable()), log: cfg.Log,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1), copied: make(chan struct{}, 1),
		down: newBreakdown(), pending: pending,
	}
	if store == nil {
		c.note(errNoStore)
		close(c.done)
		return c
	}
	go c.run(ctx)
	return c
}

// close ends the copying, after what waits was copied if that does not take long. The
// rest is in the outbox.
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

// put adds an entry. It never waits.
func (c *copier) put(r entry) {
	c.mu.Lock()
	c.pending = append(c.pending, r)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// room is an error when the stream lags too far.
func (c *copier) room() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) >= maxUncopied {
		return fmt.Errorf("%d transaction events wait for the event store, the limit", maxUncopied)
	}
	return nil
}

func (c *copier) drained() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0
}

func (c *copier) failure() error { return c.down.reason() }

// away is since when the store has not taken what waits, and why; nil: it does.
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
			c.down.set(err)
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

// note keeps the outcome of a try, and logs when it is another one than before.
func (c *copier) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.trouble == nil:
		c.since = time.Now()
		c.log.WithError(err).Warn("transactions: the event store does not take their events, they wait in the outbox")
	case err == nil && c.trouble != nil:
		c.since = time.Time{}
		c.log.Info("transactions: the event store has all their events again")
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
		n := len(c.out)
		_, err := c.store.Append(ctx, c.stream, events.ExpectNext(c.outAt), c.out)
		if wrong, refused := errors.AsType[*events.WrongRevisionError](err); refused {
			n, err = c.compare(ctx, wrong)
		}
		if err != nil {
			return err
		}
		c.out = nil
		c.mu.Lock()
		c.pending = c.pending[n:]
		c.mu.Unlock()
		select {
		case c.copied <- struct{}{}:
		default:
		}
	}
}

// batch is what goes out next: entries without a gap, below what every store takes.
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

// compare says how many events of the append that is out are in the stream already, after
// the store refused it as wrong. That a stream is short is believed only when the refusal
// says so and a read shows it too.
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
		return 0, fmt.Errorf("%w: it judges by events that it does not show yet: %w", events.ErrAway, wrong)
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

// entryID is the id that an entry has in the stream. It depends on the content, so that
// another owner's event at this revision is never taken for ours. JSON would not do: its
// spaces differ between builds.
func entryID(stream string, r entry) (events.EventID, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Event)
	if err != nil {
		return events.EventID{}, fmt.Errorf("encode a transaction event: %w", err)
	}
	sum := sha256.Sum256(content)
	return events.NewEventID(stream, hex.EncodeToString(sum[:]), int(r.Revision)), nil
}

// catchUp reads what the stream has and the outbox has not: the file was lost, or
// another process used the account. It returns those entries and how many events the
// stream holds. ErrTakenOver: both were written to.
func catchUp(
	ctx context.Context, store events.Store, stream string, known []entry, next uint64,
) (missing []entry, length uint64, err error) {
	last, found, err := events.Last(ctx, store, stream)
	if err != nil || !found {
		return nil, 0, err
	}
	length = last.Revision + 1
	codec := events.NewCodec(events.TxTable())
	// The last event that both have tells whether they are the same up to there.
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
	if len(missing) > 0 { // More may have come since the length was read.
		length = next + uint64(len(missing))
	}
	return missing, length, nil
}

// sameEntry compares an event of the stream with the outbox's at its revision.
func sameEntry(stream string, known []entry, e events.Recorded) error {
	for _, r := range known {
		if r.Revision != e.Revision {
			continue
		}
		id, err := entryID(stream, r)
		if err == nil && id != e.ID {
			err = fmt.Errorf("%w: revision %d of %s is not what the outbox says", ErrTakenOver, e.Revision, stream)
		}
		return err
	}
	return nil
}
