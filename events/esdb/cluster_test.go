package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
)

// follower is a node of a cluster: it answers reads with an empty log, and refers a client that
// wants to write, or asks for the leader, to the leader.
type follower struct {
	streams.UnimplementedStreamsServer
	serverfeatures.UnimplementedServerFeaturesServer

	address string
	leader  string
	// silent: the refusal does not say who leads; gossip does.
	silent bool
	// batch: it offers BatchAppend.
	batch   bool
	members []*gossip.MemberInfo

	refused atomic.Int32
}

func startFollower(t *testing.T, f *follower) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := grpc.NewServer()
	streams.RegisterStreamsServer(server, f)
	gossip.RegisterGossipServer(server, gossipService{f: f})
	serverfeatures.RegisterServerFeaturesServer(server, f)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func (f *follower) refuse() (metadata.MD, error) {
	f.refused.Add(1)
	md := metadata.MD{}
	md.Set("exception", "not-leader")
	host, port, err := net.SplitHostPort(f.leader)
	if err != nil {
		return nil, err
	}
	if !f.silent {
		md.Set("leader-endpoint-host", host)
		md.Set("leader-endpoint-port", port)
	}
	return md, status.Error(codes.NotFound, "Leader info available")
}

func (f *follower) Append(s streams.Streams_AppendServer) error {
	md, err := f.refuse()
	s.SetTrailer(md)
	return err
}

func (f *follower) BatchAppend(s streams.Streams_BatchAppendServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	md, err := f.refuse()
	s.SetTrailer(md)
	return err
}

func (f *follower) Delete(ctx context.Context, _ *streams.DeleteReq) (*streams.DeleteResp, error) {
	md, err := f.refuse()
	_ = grpc.SetTrailer(ctx, md)
	return nil, err
}

func (f *follower) Read(r *streams.ReadReq, s streams.Streams_ReadServer) error {
	if md, _ := metadata.FromIncomingContext(s.Context()); len(md.Get("requires-leader")) > 0 {
		md, err := f.refuse()
		s.SetTrailer(md)
		return err
	}
	if r.GetOptions().GetSubscription() == nil {
		return nil
	}
	if err := s.Send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: "follower"},
	}}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (f *follower) GetSupportedMethods(
	context.Context, *shared.Empty,
) (*serverfeatures.SupportedMethods, error) {
	m := &serverfeatures.SupportedMethods{EventStoreServerVersion: "24.10.0"}
	if f.batch {
		m.Methods = []*serverfeatures.SupportedMethod{{
			MethodName: "batchappend", ServiceName: "event_store.client.streams.streams",
		}}
	}
	return m, nil
}

// member is a node as gossip tells of it.
func member(t *testing.T, address string, state gossip.MemberInfo_VNodeState, alive bool) *gossip.MemberInfo {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return &gossip.MemberInfo{
		State: state, IsAlive: alive, HttpEndPoint: &gossip.EndPoint{Address: host, Port: uint32(port)},
	}
}

func (f *follower) gossiping(t *testing.T) {
	f.members = []*gossip.MemberInfo{
		member(t, "127.0.0.1:1", gossip.MemberInfo_Leader, false),
		member(t, "127.0.0.1:1", gossip.MemberInfo_Manager, true),
		member(t, f.address, gossip.MemberInfo_Follower, true),
		member(t, f.leader, gossip.MemberInfo_Leader, true),
	}
}

// gossipService is a separate type, because its Read has another signature.
type gossipService struct {
	gossip.UnimplementedGossipServer
	f *follower
}

func (g gossipService) Read(context.Context, *shared.Empty) (*gossip.ClusterInfo, error) {
	return &gossip.ClusterInfo{Members: g.f.members}, nil
}

// largeEvents of 100 KiB are more than a connection holds that nobody reads.
const largeEvents = 30

func TestWhoMeetsAFollowerGoesToTheLeader(t *testing.T) {
	for _, batch := range []bool{true, false} {
		for _, silent := range []bool{true, false} {
			t.Run(fmt.Sprintf("batch=%v silent=%v", batch, silent), func(t *testing.T) {
				behind := storetest.NewMemory()
				f := &follower{leader: serveStore(t, behind), silent: silent, batch: batch}
				startFollower(t, f)
				f.gossiping(t)
				cfg := eager(plain(f.address))
				s := open(t, cfg)
				defer s.Close()
				// An append at Any is repeated only because the follower did nothing. It is
				// larger than what is sent before the follower has refused.
				large := oneEvent(1)
				for n := range largeEvents - 1 {
					large = append(large, oneEvent(n + 2)[0])
				}
				for i := range large {
					large[i].Data, large[i].Binary = make([]byte, 100<<10), true
				}
				if _, err := s.Append(t.Context(), "a-1", events.Any(), large); err != nil {
					t.Fatal(err)
				}
				if f.refused.Load() == 0 {
					t.Error("the follower was not asked")
				}
				if head, err := behind.Head(t.Context()); err != nil || head != largeEvents {
					t.Errorf("the leader has %d events, %v, want %d", head, err, largeEvents)
				}
				if head, err := s.Head(t.Context()); err != nil || head != largeEvents {
					t.Errorf("head: %d, %v: the store reads elsewhere than it writes", head, err)
				}
			})
		}
	}
}

func TestGossipLeadsToThePreferredNode(t *testing.T) {
	behind := storetest.NewMemory()
	f := &follower{leader: serveStore(t, behind), batch: true}
	startFollower(t, f)
	f.gossiping(t)
	for name, url := range map[string]string{
		"discovery":         "esdb+discover://" + f.address + "?tls=false",
		"seeds":             "esdb://127.0.0.1:1," + f.address + "?tls=false",
		"a preferred state": "esdb+discover://" + f.address + "?tls=false&nodePreference=leader",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, eager(url))
			defer s.Close()
			if _, err := s.Append(t.Context(), "a-1", events.Any(), oneEvent(len(name))); err != nil {
				t.Fatal(err)
			}
			if n := f.refused.Load(); n != 0 {
				t.Errorf("the follower was asked %d times", n)
			}
		})
	}
	for _, other := range []string{"follower", "random", "readOnlyReplica"} {
		_, err := esdb.Open(t.Context(), eager("esdb+discover://"+f.address+"?tls=false&nodePreference="+other))
		if !errors.Is(err, esdb.ErrURL) || !strings.Contains(err.Error(), "only leader") {
			t.Errorf("nodePreference=%s: %v, want it refused with the reason", other, err)
		}
	}
}

func TestASubscriptionMovesToTheLeader(t *testing.T) {
	behind := storetest.NewMemory()
	f := &follower{leader: serveStore(t, behind), batch: true}
	startFollower(t, f)
	f.gossiping(t)
	s, err := esdb.Open(t.Context(), eager(plain(f.address)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	waited := make(chan error, 1)
	go func() { waited <- s.Wait(t.Context(), 0) }()
	if _, err := s.Append(t.Context(), "a-1", events.NoStream(), oneEvent(1)); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
}
