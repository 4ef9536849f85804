package esdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
)

// session is a connection to one node, from its first answer until a call
// or the keeper notices that it is lost. Its users hold it; it is closed once it is lost and
// nobody holds it.
type session struct {
	node    node
	client  *esdb.Client
	streams streams.StreamsClient
	creds   credentials.PerRPCCredentials

	// entry is held for reading while a call asks the client for its
	// connection, and for writing to prevent further calls from asking.
	entry sync.RWMutex
	shut  atomic.Bool

	mu     sync.Mutex
	holds  int
	reason error         // why it is lost
	lost   chan struct{} // closed when it is lost
	batch  *batcher
	// suspected asks the keeper to check whether the node still answers.
	suspected chan struct{}
	closed    func() // is told when all is released
}

// newSession makes a session that its maker holds.
func newSession(n node, s *Store) (*session, error) {
	l := &session{
		node: n, streams: streams.NewStreamsClient(n.conn), creds: s.creds,
		holds: 1, lost: make(chan struct{}), suspected: make(chan struct{}, 1), closed: s.sessions.Done,
	}
	conf := *s.finder.conf
	// The node is known and answers, so the client need not search.
	conf.Address, conf.DnsDiscover, conf.GossipSeeds = n.address, false, nil
	conf.MaxDiscoverAttempts = 1
	conf.GossipTimeout = max(1, min(conf.GossipTimeout, int(s.cfg.CallTimeout/time.Second)))
	conf.Logger = bridge(s.log, l.overhear)
	client, err := esdb.NewClient(&conf)
	if err != nil {
		return nil, fmt.Errorf("event store client: %w", err)
	}
	l.client = client
	s.sessions.Add(1)
	return l, nil
}

// unavailableLine is what the client logs just before it starts a search for a
// node (handleError in its impl.go).
const unavailableLine = "unexpected exception: %v"

// notLeaderLine is what the client logs when a node is not the leader, after it
// has decided to go to the leader, and before the call returns.
const notLeaderLine = "not leader exception, reconnecting to %v"

// overhear learns from the client's log lines that its connection is lost,
// before anything follows from that, and who the leader is, which the error
// does not say.
func (l *session) overhear(format string, args []any) {
	if len(args) != 1 {
		return
	}
	switch format {
	case unavailableLine:
		err, ok := args[0].(error)
		if !ok || status.Code(err) != codes.Unavailable {
			return
		}
		l.markLost(explain(err, nil))
		// A call that is asking for the connection gets it at once, because the
		// client has not begun to search. After this, no call asks.
		l.entry.Lock()
		l.entry.Unlock()
	case notLeaderLine:
		if at, ok := args[0].(esdb.EndPoint); ok {
			l.markLost(&errNotLeader{leader: at.String()})
		}
	}
}

// markLost ends the session for all further calls.
func (l *session) markLost(reason error) {
	if l.shut.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reason = reason
	close(l.lost)
}

// hold keeps the session open; false when it is lost.
func (l *session) hold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut.Load() || l.holds == 0 {
		return false
	}
	l.holds++
	return true
}

// drop ends a hold. The last one closes the session.
func (l *session) drop() {
	l.mu.Lock()
	l.holds--
	last := l.holds == 0
	batch := l.batch
	l.mu.Unlock()
	if !last {
		return
	}
	if batch != nil {
		batch.end(errNotSent)
		<-batch.over
	}
	_ = l.client.Close()    // Always nil.
	_ = l.node.conn.Close() // Nothing is under way on it.
	l.closed()
}

// entering is a context that notices when the client has got its connection:
// right after that, the client asks the context for its deadline
// (configureGrpcCall).
type entering struct {
	context.Context
	passed func()
}

func (e entering) Deadline() (deadline time.Time, ok bool) {
	e.passed()
	return e.Context.Deadline()
}

// enter must come before each call of the client. It makes sure that the client
// never begins the search that hangs (package comment): the session is shut
// before the client learns that its connection is lost, and never while a call
// is asking for the connection. The caller calls left when the call has
// returned.
func (l *session) enter(ctx context.Context) (entered context.Context, left func(), err error) {
	l.entry.RLock()
	if l.shut.Load() {
		l.entry.RUnlock()
		return nil, nil, fmt.Errorf("%w: %w", errNotSent, l.why())
	}
	passed := sync.OnceFunc(l.entry.RUnlock)
	return entering{asLeader(ctx), passed}, passed, nil
}

// asLeader demands that the leader answers. Any other node may lag without
// saying so, and no decision may rest on its answers. The client's own option
// for this is attached to the wrong side of the call, and has no effect.
func asLeader(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "requires-leader", "true")
}

// why is the reason for the end.
func (l *session) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == nil {
		return away(errLost)
	}
	return l.reason
}

var (
	errLost = errors.New("the connection was lost")
	// errPanic: the client panicked during the call, as it does at messages and
	// trailers that it does not expect.
	errPanic = errors.New("the client of the event store panicked")
)

// guarded turns a panic of the client into an error of the call.
func guarded(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}

// call runs one call of the client on a goroutine of its own, and returns when
// the call or the context ends. after runs at the end of the goroutine.
func (l *session) call(ctx context.Context, do func(context.Context, *esdb.Client) error, after func()) error {
	done := make(chan error, 1)
	go func() {
		defer after()
		done <- l.inside(ctx, do)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return away(ctx.Err())
	}
}

func (l *session) inside(ctx context.Context, do func(context.Context, *esdb.Client) error) (err error) {
	entered, left, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer left()
	defer guarded(&err)
	return do(entered, l.client)
}

// own prepares a call on our own connection: its context and its options.
func (l *session) own(ctx context.Context, trailers *metadata.MD) (context.Context, []grpc.CallOption) {
	ctx = asLeader(ctx)
	var options []grpc.CallOption
	if trailers != nil {
		options = append(options, grpc.Trailer(trailers))
	}
	if l.creds != nil {
		options = append(options, grpc.PerRPCCredentials(l.creds))
	}
	return ctx, options
}

// suspect asks the keeper to check whether the node still answers.
func (l *session) suspect() {
	select {
	case l.suspected <- struct{}{}:
	default:
	}
}

// look checks whether the node still answers on both connections. It ends with the session.
func (l *session) look(ctx context.Context, s *Store) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	go func() {
		select {
		case <-l.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := features(ctx, l.node.conn, s.cfg.CallTimeout); err != nil {
		return err
	}
	return l.answers(ctx)
}

// unreached is a revision that no stream has.
const unreached = 1 << 62

// takes checks whether the node takes appends, with one that has no events and is refused: one that
// succeeds would make a deleted stream readable again. Any other answer than that it is not ready shows that.
func (l *session) takes(ctx context.Context, stream string) error {
	h := lease{session: l}
	_, err := h.appendOne(ctx, write{stream: stream, expected: events.Exact(unreached)})
	if errors.Is(err, events.ErrAway) {
		return err
	}
	return nil
}
