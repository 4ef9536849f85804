package chain

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
	maxUncopied     = 65_536
	copyBatch       = 256
	firstCopyWait   = time.Second
	longestCopyWait = 30 * time.Second
)

// ErrTakenOver: somebody else wrote to the account's stream. Two owners of one account
// would take each other's nonces, so this one stops.
var ErrTakenOver = errors.New("another process sends transactions for this account")

// copier copies the outbox to the account's stream in the background, each record at
// exactly its revision, so that repeating is harmless and a second writer is noticed.
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

	mu      sync.Mutex
	pending []record
	failed  error
}

func startCopier(cfg Config, store events.Store, stream string, pending []record) *copier {
	ctx, cancel := context.WithCancel(context.Background())
	c := &copier{
		store: store, stream: stream, epoch: cfg.Epoch, node: cfg.Node,
		codec: events.NewCodec(events.TxTable()), log: cfg.Log,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		pending: pending,
	}
	go c.run(ctx)
	return c
}

func (c *copier) close() {
	c.stop()
	<-c.done
}

// put adds a record. It never waits.
func (c *copier) put(r record) {
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

func (c *copier) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

func (c *copier) run(ctx context.Context) {
	defer close(c.done)
	wait := firstCopyWait
	for {
		err := c.copyAll(ctx)
		if errors.Is(err, events.ErrWrongRevision) {
			c.log.WithError(err).Error("transactions: the account has another owner, stopping")
			c.mu.Lock()
			c.failed = fmt.Errorf("%w: %w", ErrTakenOver, err)
			c.mu.Unlock()
			return
		}
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

func (c *copier) copyAll(ctx context.Context) error {
	for {
		c.mu.Lock()
		some := c.pending[:min(len(c.pending), copyBatch)]
		c.mu.Unlock()
		if len(some) == 0 {
			return nil
		}
		batch := make([]events.NewEvent, len(some))
		for i, r := range some {
			e, err := c.event(r)
			if err != nil {
				return err
			}
			batch[i] = e
		}
		_, err := c.store.Append(ctx, c.stream, events.ExpectNext(some[0].Revision), batch)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.pending = c.pending[len(some):]
		c.mu.Unlock()
	}
}

func (c *copier) event(r record) (events.NewEvent, error) {
	name, version, data, err := c.codec.Encode(r.Event)
	if err != nil {
		return events.NewEvent{}, err
	}
	// The id depends on the content, so that another owner's event at this revision
	// is never taken for ours. JSON would not do: its spaces differ between builds.
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Event)
	if err != nil {
		return events.NewEvent{}, fmt.Errorf("encode %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	return events.NewEvent{
		ID:   events.NewEventID(c.stream, hex.EncodeToString(sum[:]), int(r.Revision)),
		Type: name,
		Data: data,
		Meta: events.Metadata{
			Correlation: r.Correlation, Version: version, Epoch: c.epoch, Node: c.node,
		},
	}, nil
}

// catchUp reads what the stream has and the outbox has not: the file was lost, or
// another process used the account. It returns those records and how many events the
// stream holds.
func catchUp(
	ctx context.Context, store events.Store, stream string, from uint64,
) ([]record, uint64, error) {
	codec := events.NewCodec(events.TxTable())
	var records []record
	length := uint64(0)
	newest := events.ReadStream{From: events.End, Backward: true, Limit: 1}
	for e, err := range store.ReadStream(ctx, stream, newest) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		length = e.Revision + 1
	}
	if length <= from {
		return nil, length, nil
	}
	for e, err := range store.ReadStream(ctx, stream, events.ReadStream{From: from}) {
		if err != nil {
			return nil, 0, err
		}
		m, err := codec.Decode(e)
		if err != nil {
			return nil, 0, err
		}
		records = append(records, record{e.Revision, m, e.Meta.Correlation})
	}
	return records, max(length, from+uint64(len(records))), nil
}
