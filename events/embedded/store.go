package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Store is the events.Store in a directory. See the package comment.
type Store struct {
	dir   string
	now   func() time.Time
	db    *pebble.DB
	guard *guard
	mark  *mark
	lock  io.Closer
	write *pebble.WriteOptions

	// accept is held while a request is handed over, so that Close can close
	// the channel after the last one.
	accept   sync.RWMutex
	closed   bool
	requests chan *request
	over     chan struct{} // closed when the committer has ended

	backups sync.Mutex // held while a backup is made
	// reading is held while pebble is read; Close waits for it.
	reading sync.RWMutex
	closing chan struct{}

	synced  atomic.Uint64 // the last durable position; moved by durable.end
	durable durable
	tail    struct {
		sync.Mutex
		changed chan struct{} // closed and replaced by each batch
	}
	failure atomic.Pointer[error]

	// These say what happened since Open; tests read them.
	appends, written, syncs atomic.Uint64
	waiting                 atomic.Int64

	closeOnce sync.Once
	closeErr  error
}

var _ events.Store = (*Store)(nil)

// cure is what to do about damage.
const cure = "what is elsewhere can still be read; stop the host, then restore a backup or run hostnode repair"

func (s *Store) setFailure(err error) {
	todo := "check the disk (full? failing?), then start again"
	if errors.Is(err, events.ErrDamaged) {
		todo = cure
	}
	err = fmt.Errorf("%w: %s: %w; %s", events.ErrStoreFailed, s.dir, err, todo)
	s.failure.Store(&err)
}

// failed is the error that stopped the store, or nil.
func (s *Store) failed() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Head implements events.Store.
func (s *Store) Head(ctx context.Context) (events.Position, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	return events.Position(s.synced.Load()), nil
}

// usable returns why a call must end: the context's error, or ErrClosed.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return events.ErrClosed
	default:
		return nil
	}
}

// Close implements events.Store. Appends that were accepted are committed and
// answered first.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.accept.Lock()
		s.closed = true
		close(s.requests)
		s.accept.Unlock()
		<-s.over
		s.closeErr = s.abandon()
	})
	return s.closeErr
}

// abandon closes everything that is open. The shutdown counts as proper only if
// nothing failed.
func (s *Store) abandon() error {
	close(s.closing)
	s.reading.Lock()
	defer s.reading.Unlock()
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	switch {
	case s.mark == nil:
	case s.guard.stopped() || err != nil:
		err = errors.Join(err, s.mark.file.Close())
	default:
		err = s.mark.closeClean(events.Position(s.synced.Load()))
	}
	return errors.Join(err, s.lock.Close())
}
