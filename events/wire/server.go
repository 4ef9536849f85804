package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/hostnode/hostnode/events"
	// Imported before the client's protocol files, which clash with the actor library's.
	_ "github.com/hostnode/hostnode/events/protoconflict"
)

// Server serves a store. Its methods are safe for concurrent use.
type Server struct {
	cfg     Config
	id      uuid.UUID
	grpc    *grpc.Server
	auth    *authenticator
	guarded map[string]bool
	conns   *connections
	stats   counters
	tail    *tail
	// arriving is the memory for incoming messages, leaving that for outgoing ones.
	arriving, leaving *budget

	drains chan struct{} // One per refused append that is being drained.
	failed sync.Once     // Tells the operator that the store takes nothing any more.

	closing <-chan struct{} // Closed when Close begins.
	close   context.CancelFunc
	workers sync.WaitGroup // What calls left running for a moment.
}

// New makes a server that does not listen yet, and writes to the stream $users
// who can log in, as EventStoreDB does. Close ends it, even if it never served.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		cfg: cfg, id: uuid.New(), guarded: map[string]bool{}, closing: ctx.Done(), close: cancel,
		drains: make(chan struct{}, maxDrains),
		conns:  &connections{limit: int64(cfg.Limits.Connections), untaken: cfg.Limits.StalledFor},
		arriving: &budget{
			of: "appends of all clients", limit: cfg.Limits.PendingBytes, wait: cfg.Limits.BusyTime,
		},
		leaving: &budget{
			of: "answers to all clients", limit: cfg.Limits.AnswerBytes, wait: cfg.Limits.BusyTime,
		},
	}
	for _, category := range cfg.Guarded {
		s.guarded[category] = true
	}
	if s.auth, err = newAuthenticator(cfg); err == nil {
		err = s.announceUsers()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s.tail = newTail(cfg.Store)
	s.workers.Go(func() { s.tail.run(ctx) })
	s.grpc = grpc.NewServer(s.options()...)
	streams.RegisterStreamsServer(s.grpc, &streamsService{s: s})
	gossip.RegisterGossipServer(s.grpc, &gossipService{s: s})
	serverfeatures.RegisterServerFeaturesServer(s.grpc, &featuresService{})
	if cfg.AcceptPersistentSubscriptions {
		persistent.RegisterPersistentSubscriptionsServer(s.grpc, &acceptPersistent{})
	}
	return s, nil
}

// connectionWindowBytes is how much a connection may have in flight over all
// its calls. It need only be more than is ever in flight between here and a
// distant client, because the windows of the calls bound what is held.
const connectionWindowBytes = 4 << 20

// maxHeaderBytes is plenty for a password and what libraries add.
const maxHeaderBytes = 32 << 10

// pingAnswer is how long a silent client has to answer a ping.
const pingAnswer = 20 * time.Second

func (s *Server) options() []grpc.ServerOption {
	l := s.cfg.Limits
	return []grpc.ServerOption{
		// For calls with one request, which are read before the caller is known; the
		// others have an intake.
		grpc.MaxRecvMsgSize(windowBytes),
		grpc.ForceServerCodecV2(newCodec()),
		// Otherwise grpc lets a fast client send 16 MiB of a call that nobody reads.
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(connectionWindowBytes),
		// What the window of most clients takes is one write. An idle connection has no buffer.
		grpc.WriteBufferSize(windowBytes),
		grpc.InTapHandle(s.admit),
		grpc.MaxConcurrentStreams(uint32(l.StreamsPerConnection)),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(l.HandshakeTime),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: l.PingEvery, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: l.IdlePing, Timeout: pingAnswer}),
		grpc.Creds(newDoorway(s.cfg.TLS)),
		grpc.WaitForHandlers(true), // So that nobody uses the store after Close.
		grpc.UnknownServiceHandler(unknownService),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	}
}

// Serve answers the clients of a listener until Close, then returns nil. It
// closes the listener. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(&limited{Listener: l, all: s.conns})
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve events on %s: %w", l.Addr(), err)
	}
	return nil
}

// Close ends all subscriptions, lets other calls finish for Limits.CloseTime,
// then cuts them, and returns when nothing uses the store any more. It may be
// called more than once.
func (s *Server) Close() error {
	s.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	timer := time.NewTimer(s.cfg.Limits.CloseTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.grpc.Stop()
		<-done
	}
	s.workers.Wait()
	return nil
}

// storeTime is how long the server waits for the store when no client sets a
// deadline.
const storeTime = 30 * time.Second

// usersStream lists who can log in, one event each.
const usersStream, typeUser = "$users", "$User"

// announceTries is more than the servers that ever start at the same time.
const announceTries = 5

// announceUsers completes the stream $users. It adds nothing twice, even when
// two servers run it at once.
func (s *Server) announceUsers() error {
	if len(s.cfg.Users) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	var err error
	for range announceTries {
		if err = s.tryAnnounce(ctx); !errors.Is(err, events.ErrWrongRevision) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("list the users in stream %s: %w", usersStream, err)
	}
	return nil
}

func (s *Server) tryAnnounce(ctx context.Context) error {
	known, count := map[events.EventID]bool{}, uint64(0)
	for r, err := range s.cfg.Store.ReadStream(ctx, usersStream, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return err
		}
		known[r.ID], count = true, r.Revision+1
	}
	var batch []events.NewEvent
	for _, u := range s.cfg.Users {
		e := events.NewEvent{
			ID: events.NewEventID(usersStream, u.Name, 0), Type: typeUser, Data: []byte(u.Name), Binary: true,
		}
		if !known[e.ID] {
			batch = append(batch, e)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	_, err := s.cfg.Store.Append(ctx, usersStream, events.ExpectNext(count), batch)
	return err
}
