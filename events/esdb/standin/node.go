package standin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	// Imported before the client's protocol files, which clash with the actor library's.
	_ "github.com/hostnode/hostnode/events/protoconflict"
)

// node is a process of the cluster.
type node struct {
	streams.UnimplementedStreamsServer
	serverfeatures.UnimplementedServerFeaturesServer

	c       *Cluster
	index   int
	address string
	// still, with its store, is what it serves to calls that do not demand the leader, and to
	// all until believes. Guarded by the cluster.
	still    *backend
	old      events.Store
	believes time.Time

	mu     sync.Mutex
	server *grpc.Server
	served chan error
	frozen chan struct{} // closed when it thaws; nil: it is not frozen
}

func (n *node) listen(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		n.c.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.address = listener.Addr().String()
	n.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(func(
			ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
		) (any, error) {
			if err := n.awake(ctx); err != nil {
				return nil, err
			}
			answer, err := handle(ctx, r)
			return answer, cmp.Or(n.awake(ctx), err)
		}),
		grpc.StreamInterceptor(func(
			service any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
		) error {
			err := handle(service, slumbering{s, n})
			return cmp.Or(n.awake(s.Context()), err)
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{PermitWithoutStream: true}),
	)
	streams.RegisterStreamsServer(n.server, n)
	gossip.RegisterGossipServer(n.server, gossipOf{n: n})
	serverfeatures.RegisterServerFeaturesServer(n.server, n)
	n.served = make(chan error, 1)
	server, served := n.server, n.served
	go func() { served <- server.Serve(listener) }()
}

func (n *node) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen == nil {
		n.frozen = make(chan struct{})
	}
}

func (n *node) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen != nil {
		close(n.frozen)
		n.frozen = nil
	}
}

// awake returns when the node is not frozen.
func (n *node) awake(ctx context.Context) error {
	n.mu.Lock()
	frozen := n.frozen
	n.mu.Unlock()
	if frozen == nil {
		return nil
	}
	select {
	case <-frozen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slumbering is a stream of a node that may freeze.
type slumbering struct {
	grpc.ServerStream
	n *node
}

func (s slumbering) SendMsg(m any) error {
	if err := s.n.awake(s.Context()); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

func (s slumbering) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	return cmp.Or(s.n.awake(s.Context()), err)
}

func (n *node) kill() {
	n.mu.Lock()
	server, served := n.server, n.served
	n.server = nil
	n.mu.Unlock()
	if server == nil {
		return
	}
	server.Stop() // It waits for handlers, and those of gossip ask who lives.
	// Stopped before it began to serve, it says so.
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		n.c.t.Errorf("stand-in: serve: %v", err)
	}
}

func (n *node) lives() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server != nil
}

func (n *node) endPoint() *gossip.EndPoint {
	host, text, _ := net.SplitHostPort(n.address)
	port, _ := strconv.ParseUint(text, 10, 16)
	return &gossip.EndPoint{Address: host, Port: uint32(port)}
}

// gossipOf is apart, because its Read is another.
type gossipOf struct {
	gossip.UnimplementedGossipServer
	n *node
}

func (g gossipOf) Read(context.Context, *shared.Empty) (*gossip.ClusterInfo, error) {
	return &gossip.ClusterInfo{Members: g.n.c.members(g.n)}, nil
}

func (n *node) GetSupportedMethods(
	ctx context.Context, r *shared.Empty,
) (*serverfeatures.SupportedMethods, error) {
	return n.c.backend.features.GetSupportedMethods(ctx, r)
}

// refusal returns why a node does not answer a call that demands the leader, with
// trailers; nil when it leads.
func (n *node) refusal(wantsLeader bool) (metadata.MD, error) {
	leads, election, deaf, _ := n.c.now(n)
	switch {
	case leads, !wantsLeader, deaf:
		return nil, nil
	case election:
		return nil, status.Error(codes.Unknown, "No leader info available in response")
	}
	n.c.mu.Lock()
	leader := n.c.nodes[max(n.c.leader, 0)]
	n.c.mu.Unlock()
	at := leader.endPoint()
	return metadata.Pairs("exception", "not-leader", "leader-endpoint-host", at.GetAddress(),
		"leader-endpoint-port", strconv.FormatUint(uint64(at.GetPort()), 10),
	), status.Error(codes.NotFound, "Leader info available")
}

func wantsLeader(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return len(md.Get("requires-leader")) > 0 && md.Get("requires-leader")[0] == "true"
}

// Read passes on the answer of the server behind, or the old log of a node that
// stands still.
func (n *node) Read(r *streams.ReadReq, s streams.Streams_ReadServer) error {
	wants := wantsLeader(s.Context())
	if trailers, err := n.refusal(wants); err != nil {
		s.SetTrailer(trailers)
		return err
	}
	from := n.c.backend
	n.c.mu.Lock()
	if believes := n.c.believes(n); n.still != nil && (believes || !wants) {
		from = *n.still
	}
	n.c.mu.Unlock()
	answer, err := from.streams.Read(s.Context(), r)
	if err != nil {
		return err
	}
	for {
		m, err := answer.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.SetTrailer(answer.Trailer())
			return err
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
}

func (n *node) Delete(ctx context.Context, r *streams.DeleteReq) (*streams.DeleteResp, error) {
	return unary(ctx, n, r, n.c.backend.streams.Delete)
}

func (n *node) Tombstone(ctx context.Context, r *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	return unary(ctx, n, r, n.c.backend.streams.Tombstone)
}

// unary hands a call on.
func unary[Q, R any](
	ctx context.Context, n *node, request Q, call func(context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	var none R
	if trailers, err := n.refusal(wantsLeader(ctx)); err != nil {
		return none, errors.Join(grpc.SetTrailer(ctx, trailers), err)
	}
	var trailers metadata.MD
	answer, err := call(ctx, request, grpc.Trailer(&trailers))
	if err != nil {
		_ = grpc.SetTrailer(ctx, trailers) // The call has not ended.
		return none, err
	}
	return answer, nil
}
