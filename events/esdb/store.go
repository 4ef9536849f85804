package esdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/credentials"

	"github.com/hostnode/hostnode/events"
)

// Store is an events.Store on a server. All methods are safe for concurrent
// use. While the server does not answer, calls wait for Config.Patience,
// subscriptions for ever.
type Store struct {
	cfg    Config
	log    *logrus.Entry
	finder *finder
	creds  credentials.PerRPCCredentials

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	slots    chan struct{}  // one per call
	kept     chan struct{}  // closed when the keeper has ended
	sessions sync.WaitGroup // those that are not closed yet; only the keeper adds

	mu      sync.Mutex
	current *session
	state   state
	changed chan struct{} // closed and replaced at each change of what is above
}

// state is whether the server answers.
type state struct {
	since  time.Time // when it was last seen to go away; zero: it answers
	reason error
}

var _ events.Store = (*Store)(nil)

// closeTimeout is how long Close waits for calls that it has cancelled. They
// end at once, unless the client hangs.
const closeTimeout = 5 * time.Second

// Open connects to a server, and returns when it has answered a read of $all.
// Errors: ErrURL when the connection string cannot be used, events.ErrDenied
// when the server refuses the user, events.ErrAway when it has not answered
// within Config.OpenTimeout, or cannot be reached with these certificates.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	conf, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg.withDefaults(conf), log: cfg.log(), creds: newBasic(conf),
		kept: make(chan struct{}), changed: make(chan struct{}),
		// Until its first answer the server counts as away.
		state: state{time.Now(), away(errNoAnswer)},
	}
	if s.finder, err = newFinder(conf, s.log.Debugf); err != nil {
		return nil, err
	}
	s.slots = make(chan struct{}, s.cfg.MaxCalls)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.keep()
	if err := s.opened(ctx); err != nil {
		_ = s.Close() // Always nil.
		return nil, err
	}
	return s, nil
}

var errNoAnswer = errors.New("no answer yet")

// opened waits for the first answer.
func (s *Store) opened(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.OpenTimeout, errPatience)
	defer cancel()
	for {
		s.mu.Lock()
		current, reason, changed := s.current, s.state.reason, s.changed
		s.mu.Unlock()
		switch {
		case current != nil:
			return nil
		case errors.Is(reason, events.ErrDenied), errors.Is(reason, ErrSettings):
			return reason
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errPatience) {
				return fmt.Errorf("within %v: %w", s.cfg.OpenTimeout, s.patience(ctx, reason))
			}
			return ctx.Err()
		}
	}
}

// keep makes one session after the other until the store is closed.
func (s *Store) keep() {
	defer close(s.kept)
	since := time.Now()
	var hint *errNotLeader
	var refused *refusedWrite
	for s.ctx.Err() == nil {
		patience := min(max(time.Since(since)/2, firstPatience), s.cfg.CallTimeout)
		l, err := s.connect(patience, hint, refused)
		if errors.Is(err, events.ErrDenied) && s.renew() {
			l, err = s.connect(patience, hint, refused)
		}
		if err != nil {
			s.lost(err)
			hint = heard(hint, err)
			s.backoff(s.ctx, since)
			continue
		}
		began := time.Now()
		s.publish(l)
		reason := s.watch(l)
		s.lost(reason)
		l.drop()
		hint = heard(hint, reason)
		refused, _ = errors.AsType[*refusedWrite](reason)
		if time.Since(began) > steady {
			since = time.Now()
			continue
		}
		// This avoids a tight loop when a server answers and is lost again at once.
		s.backoff(s.ctx, since)
	}
}

// renew uses the string that Config.Renew returns from now on; false when it has not changed.
func (s *Store) renew() bool {
	if s.cfg.Renew == nil {
		return false
	}
	url, err := s.cfg.Renew()
	if err == nil && url == s.cfg.URL {
		return false
	}
	cfg := s.cfg
	cfg.URL = url
	var conf *esdb.Configuration
	var found *finder
	if err == nil {
		conf, err = cfg.parse()
	}
	if err == nil {
		found, err = newFinder(conf, s.log.Debugf)
	}
	if err != nil {
		s.log.WithError(err).Warn(
			"the user of the event store is refused, and the new connection string cannot be used")
		return false
	}
	s.cfg.URL, s.finder, s.creds = url, found, newBasic(conf)
	s.log.Info("the event store refuses the user; trying again with the present settings")
	return true
}

// heard returns who leads, as far as is known after an error. A known leader is
// kept until another one is named: if it cannot be reached now, it may come
// back.
func heard(before *errNotLeader, err error) *errNotLeader {
	now, ok := errors.AsType[*errNotLeader](err)
	if !ok || now.leader == "" && before != nil {
		return before
	}
	return now
}

// firstPatience is how long the first searches after an outage began may take; later ones
// have more time. A leader that is silent is replaced within some seconds, and a search
// that has begun before waits for the one that was.
const firstPatience = 2 * time.Second

// connect makes a session with a node that answers, says that it leads, and lets us read.
// After an append that no node took, it must also take one: it would be given up at
// once otherwise, and again and again.
func (s *Store) connect(patience time.Duration, hint *errNotLeader, refused *refusedWrite) (*session, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	leader := ""
	if hint != nil {
		leader = hint.leader
	}
	n, err := s.finder.find(ctx, leader, hint != nil)
	if err != nil {
		return nil, markSettings(err)
	}
	l, err := newSession(n, s)
	if err != nil {
		_ = n.conn.Close() // Nothing was written to it.
		return nil, err
	}
	err = l.answers(ctx)
	if err == nil && refused != nil {
		err = l.takes(ctx, refused.stream)
	}
	if err != nil {
		l.markLost(err)
		l.drop()
		return nil, markSettings(fmt.Errorf("%s: %w", n.address, l.why())) // The client may have learned who leads.
	}
	return l, nil
}

// watch returns why a session is lost. That it is lost comes first, whatever else there is to do.
func (s *Store) watch(l *session) error {
	probe := time.NewTicker(s.cfg.ProbeEvery)
	defer probe.Stop()
	for {
		select {
		case <-l.lost:
			return l.why()
		case <-s.ctx.Done():
			l.markLost(events.ErrClosed)
			return events.ErrClosed
		case <-probe.C:
		case <-l.suspected:
		}
		if l.shut.Load() {
			continue
		}
		err := l.look(s.ctx, s)
		_, elsewhere := errors.AsType[*errNotLeader](err)
		if elsewhere || errors.Is(err, events.ErrAway) || errors.Is(err, events.ErrDenied) {
			l.markLost(err)
		}
	}
}

// publish lets everybody use a session.
func (s *Store) publish(l *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.state.since
	s.current, s.state = l, state{}
	s.signal()
	s.log.WithField("node", l.node.address).WithField("batchAppend", l.node.batch).
		WithField("after", time.Since(since).Round(time.Millisecond)).Info("the event store answers")
}

// lost notes that there is no session, and why.
func (s *Store) lost(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	first := s.state.since.IsZero()
	s.current, s.state.reason = nil, reason
	if first {
		s.state.since = time.Now()
		s.log.WithError(reason).Warn("the event store does not answer; what needs it is waiting")
	}
	s.signal()
}

// signal wakes everybody who waits for a change. The lock is held.
func (s *Store) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Away reports whether the server does not answer, since when, and why. It
// follows from the outcome of calls, and from a check every Config.ProbeEvery.
func (s *Store) Away() (since time.Time, reason string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.since.IsZero() {
		return time.Time{}, "", false
	}
	return s.state.since, s.state.reason.Error(), true
}

// Changed returns a channel that is closed when the answer of Away changes.
// Take it before calling Away, and a new one each time.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// errPatience is the cause of a context that ended because the server has not
// answered for too long.
var errPatience = errors.New("no answer in time")

// lease is a session that a call may use, and the call's slot. It is released
// once, and once more for each share.
type lease struct {
	*session
	slots chan struct{}
	users atomic.Int32 // in addition to the first
}

// share lets a goroutine keep the hold after its caller has abandoned it.
func (h *lease) share() { h.users.Add(1) }

func (h *lease) release() {
	if h.users.Add(-1) < 0 {
		<-h.slots
		h.drop()
	}
}

// acquire waits for a session and for a slot. The caller releases both.
func (s *Store) acquire(ctx context.Context) (*lease, error) {
	for {
		s.mu.Lock()
		current, st, changed := s.current, s.state, s.changed
		s.mu.Unlock()
		switch {
		case s.ctx.Err() != nil:
			return nil, events.ErrClosed
		case errors.Is(st.reason, events.ErrDenied):
			return nil, st.reason
		case current != nil && current.hold():
			select {
			case s.slots <- struct{}{}:
				return &lease{session: current, slots: s.slots}, nil
			case <-ctx.Done():
				current.drop()
				return nil, s.patience(ctx, errors.New("too many calls are running"))
			case <-s.ctx.Done():
				current.drop()
				return nil, events.ErrClosed
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, s.patience(ctx, st.reason)
		}
	}
}

// patience returns why a wait has ended: because of the caller's context, or of ours.
func (s *Store) patience(ctx context.Context, reason error) error {
	switch {
	case s.ctx.Err() != nil:
		return events.ErrClosed
	case !errors.Is(context.Cause(ctx), errPatience):
		return ctx.Err()
	case reason == nil:
		return away(errPatience)
	case errors.Is(reason, events.ErrAway):
		return reason
	}
	return away(reason)
}

// scope returns a context that also ends with the store.
func (s *Store) scope(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(events.ErrClosed) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}

// ended returns why a call must not go on: its caller's context has ended, or
// the store is closed.
func (s *Store) ended(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return events.ErrClosed
	}
	return ctx.Err()
}

// Close implements events.Store. It returns when all calls and goroutines have
// ended; those that hang in the client are abandoned after some seconds.
func (s *Store) Close() error {
	s.cancel()
	s.mu.Lock()
	s.signal()
	s.mu.Unlock()
	<-s.kept
	released := make(chan struct{})
	go func() { s.sessions.Wait(); close(released) }()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-released:
	case <-timer.C:
		s.log.Warn("a call of the event store's client hangs, and is abandoned")
	}
	return nil
}
