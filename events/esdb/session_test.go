package esdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
)

// odd is a server that answers reads with what a test sets.
type odd struct {
	streams.UnimplementedStreamsServer
	serverfeatures.UnimplementedServerFeaturesServer
	answer func(*streams.ReadReq, streams.Streams_ReadServer) error
}

func (o *odd) Read(r *streams.ReadReq, s streams.Streams_ReadServer) error { return o.answer(r, s) }

func (o *odd) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	return &serverfeatures.SupportedMethods{EventStoreServerVersion: "24.10.0"}, nil
}

// meet opens a store and a session with a server that answers like this from the second read
// on; the first read is the store's own, to see whether the server answers.
func meet(
	t *testing.T, answer func(*streams.ReadReq, streams.Streams_ReadServer) error,
) (*Store, *grpc.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	var first atomic.Bool
	o := &odd{answer: func(r *streams.ReadReq, s streams.Streams_ReadServer) error {
		if !first.Swap(true) {
			return nil
		}
		return answer(r, s)
	}}
	streams.RegisterStreamsServer(server, o)
	serverfeatures.RegisterServerFeaturesServer(server, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	s, err := Open(t.Context(), Config{
		URL: "esdb://" + listener.Addr().String() + "?tls=false", ProbeEvery: time.Hour,
		// These are generous, because the tests are not about them; giving up soon is what they
		// test.
		OpenTimeout: 4 * time.Minute, CallTimeout: 4 * time.Minute, Patience: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, server
}

// TestTheLinkIsShutBeforeTheClientSearches depends on lines that the client logs, which no
// interface promises: it fails if another version logs others.
func TestTheLinkIsShutBeforeTheClientSearches(t *testing.T) {
	s, server := meet(t, func(*streams.ReadReq, streams.Streams_ReadServer) error { return nil })
	h, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.release()
	server.Stop()
	// The link itself does nothing with the error of a call. A call of one message
	// each way learns in one step that the server has gone.
	if err := h.run(t.Context(), func(ctx context.Context, c *esdb.Client) error {
		_, err := c.DeleteStream(ctx, "a-1", esdb.DeleteStreamOptions{})
		return explain(err, nil)
	}); !errors.Is(err, events.ErrAway) {
		t.Fatalf("a call to a server that has gone: %v, want away", err)
	}
	if !h.shut.Load() {
		t.Fatal("the client did not say that its connection is lost")
	}
	if err := h.answers(t.Context()); err == nil {
		t.Fatal("a session that is shut can be used")
	}
	if err := h.run(t.Context(), func(context.Context, *esdb.Client) error {
		t.Error("a call entered the client")
		return nil
	}); !errors.Is(err, errNotSent) {
		t.Fatalf("a call on a session that is shut: %v, want that nothing was sent", err)
	}
}

// TestACallHasPassedTheEntranceWhenItAsksForItsDeadline depends on the order in which the
// client does things.
func TestACallHasPassedTheEntranceWhenItAsksForItsDeadline(t *testing.T) {
	arrived, on := make(chan struct{}), make(chan struct{})
	s, _ := meet(t, func(*streams.ReadReq, streams.Streams_ReadServer) error {
		close(arrived)
		<-on
		return nil
	})
	h, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.release()
	done := make(chan error, 1)
	go func() { done <- h.answers(t.Context()) }()
	<-arrived
	if !h.entry.TryLock() {
		t.Fatal("a call that waits for its answer has not left the entrance")
	}
	h.entry.Unlock()
	close(on)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheClientPanicsAtIsAnError(t *testing.T) {
	for name, answer := range map[string]func(*streams.ReadReq, streams.Streams_ReadServer) error{
		"a kind of message that it does not know": func(_ *streams.ReadReq, s streams.Streams_ReadServer) error {
			return s.Send(&streams.ReadResp{Content: &streams.ReadResp_LastStreamPosition{LastStreamPosition: 3}})
		},
		"a deleted stream without a name": func(_ *streams.ReadReq, s streams.Streams_ReadServer) error {
			md := metadata.MD{}
			md.Set(exception, exceptionDeleted)
			s.SetTrailer(md)
			return status.Error(codes.FailedPrecondition, "deleted")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := meet(t, answer)
			for _, err := range s.ReadStream(t.Context(), "a-1", events.ReadStream{}) {
				if !errors.Is(err, errPanic) {
					t.Errorf("read: %v, want the client's panic", err)
				}
			}
		})
	}
}

func TestOfALinkWhoseEventIsGoneTheLinkIsRead(t *testing.T) {
	link := func(n uint64, gone bool) *streams.ReadResp {
		at := func(stream string, revision uint64) *streams.ReadResp_ReadEvent_RecordedEvent {
			return &streams.ReadResp_ReadEvent_RecordedEvent{
				Id:               uuidOf([16]byte{15: byte(n + 1)}),
				StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
				StreamRevision:   revision, PreparePosition: n + 1, CommitPosition: n + 1,
				Metadata: map[string]string{"type": "t", "content-type": jsonType, "created": "0"},
			}
		}
		e := &streams.ReadResp_ReadEvent{Link: at("$ce-a", n), Event: at("a-1", n+100)}
		e.Link.Data = fmt.Appendf(nil, "%d@a-1", n+100)
		if gone {
			e.Event = nil
		}
		return &streams.ReadResp{Content: &streams.ReadResp_Event{Event: e}}
	}
	const all = 12
	s, _ := meet(t, func(r *streams.ReadReq, s streams.Streams_ReadServer) error {
		from := r.GetOptions().GetStream().GetRevision()
		for n := from; n < all && n-from < r.GetOptions().GetCount(); n++ {
			if err := s.Send(link(n, n%3 != 2)); err != nil {
				return err
			}
		}
		return nil
	})
	for limit, want := range map[int]int{0: 12, 1: 1, 3: 3, 12: 12, 99: 12} {
		got := 0
		for r, err := range s.ReadStream(t.Context(), "$ce-a", events.ReadStream{Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Stream != "a-1" || r.Link == nil || r.Link.Stream != "$ce-a" || r.Revision != r.Link.Revision+100 {
				t.Fatalf("limit %d: %+v with link %+v", limit, r, r.Link)
			}
			if r.Link.Revision != uint64(got) || r.Gone() != (got%3 != 2) || r.Position != events.Position(got+1) {
				t.Errorf("limit %d: event %d is %+v with link %+v", limit, got, r, r.Link)
			}
			got++
		}
		if got != want {
			t.Errorf("limit %d: %d events, want %d", limit, got, want)
		}
	}
}

func TestOnlyALeaderIsPicked(t *testing.T) {
	at := func(state gossip.MemberInfo_VNodeState, port uint32) *gossip.MemberInfo {
		return &gossip.MemberInfo{State: state, IsAlive: true, HttpEndPoint: &gossip.EndPoint{Port: port}}
	}
	dead := at(gossip.MemberInfo_Leader, 9)
	dead.IsAlive = false
	all := []*gossip.MemberInfo{
		dead, at(gossip.MemberInfo_Manager, 8), at(gossip.MemberInfo_Leader, 1), at(gossip.MemberInfo_Follower, 2),
		at(gossip.MemberInfo_ReadOnlyReplica, 3), at(gossip.MemberInfo_ResigningLeader, 4),
		{State: gossip.MemberInfo_Leader, IsAlive: true},
	}
	if got := pick(all); got.GetHttpEndPoint().GetPort() != 1 {
		t.Errorf("picked %v, want the leader that lives", got)
	}
	for name, members := range map[string][]*gossip.MemberInfo{
		"an election": all[3:], "a dead leader": all[:2], "nobody": nil,
	} {
		if got := pick(members); got != nil {
			t.Errorf("%s: picked %v, which may be behind", name, got)
		}
	}
}

// A leader that cannot be reached may come back, and no other node is the leader until it is
// named.
func TestTheLeaderThatWasHeardOfIsKept(t *testing.T) {
	one, other, nobody := &errNotLeader{leader: "a:1"}, &errNotLeader{leader: "b:1"}, &errNotLeader{}
	for name, c := range map[string]struct {
		before *errNotLeader
		err    error
		want   *errNotLeader
	}{
		"the connection failed":          {one, away(errLost), one},
		"a node follows, and names none": {one, nobody, one},
		"a node names another":           {one, fmt.Errorf("c:1: %w", other), other},
		"a node names the first":         {nil, one, one},
		// Then its cluster is asked.
		"a node that was named alone follows": {nil, nobody, nobody},
		"nothing was heard":                   {nil, away(errLost), nil},
	} {
		if got := heard(c.before, c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTheClientsLinesGoToTheLogAtDebugLevel(t *testing.T) {
	logger, hook := test.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	var heard []string
	log := bridge(logrus.NewEntry(logger), func(format string, args []any) {
		heard = append(heard, fmt.Sprintf(format, args...))
	})
	log(esdb.LogError, "unexpected exception: %v", errors.New("wrong version"))
	log(esdb.LogWarn, "Unknown setting: %s", []any{"key"}) // As Configuration.applyLogger does.
	log(esdb.LogInfo, "nothing to add")
	want := []string{"unexpected exception: wrong version", "Unknown setting: key", "nothing to add"}
	for i, e := range hook.AllEntries() {
		if e.Level != logrus.DebugLevel || !strings.HasSuffix(e.Message, want[i]) || heard[i] != want[i] {
			t.Errorf("line %d: %v %q, heard %q, want %q", i, e.Level, e.Message, heard[i], want[i])
		}
	}
	if len(heard) != len(want) {
		t.Errorf("heard %d lines, want %d", len(heard), len(want))
	}
}

// run is session.call with the slot kept until the call has really ended.
func (h *lease) run(ctx context.Context, do func(context.Context, *esdb.Client) error) error {
	h.share()
	return h.call(ctx, do, h.release)
}
