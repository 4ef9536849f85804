package serverviews_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/projections"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	_ "github.com/hostnode/hostnode/events/protoconflict" // the client registers gossip.proto
)

// fakeServer manages projections as an EventStoreDB does: a name exists once,
// what is deleted must have stopped, stopping takes a moment, a definition is
// kept in a stream. It runs none of them.
type fakeServer struct {
	projections.UnimplementedProjectionsServer

	mu   sync.Mutex
	all  map[string]*fakeProjection
	told []string // every call that changes something
	// hidden: this user may not read definitions. locked: only administrators manage
	// projections, and this user is none.
	hidden, locked bool
	// racing is a projection that somebody else makes before the next creation.
	racing string
	// faulting is how often a running projection is found to have faulted, and why; early: before
	// its first checkpoint. silent is how often it is listed then before the reason is there.
	faulting int
	reason   string
	early    bool
	silent   int
	// left are streams that stay when a projection is deleted, and lost are those of them that were
	// deleted.
	left, lost map[string]bool
	// absent: the server runs no projections, and answers that with HTTP 404 alone.
	absent bool
}

type fakeProjection struct {
	query, state, reason string
	position             string // "": C:1700/P:1700
	stopping             int    // lists until it has stopped
	resets               int
	early                bool // it faulted before its first checkpoint, and cannot be described
	silent               int  // lists until the reason is there
}

func serveFake(t *testing.T, f *fakeServer) (url string) {
	t.Helper()
	f.all = map[string]*fakeProjection{"$by_category": {query: "x", state: "Stopped"}}
	f.left, f.lost = map[string]bool{"$projections-$all": true}, map[string]bool{}
	calls := grpc.NewServer()
	projections.RegisterProjectionsServer(calls, f)
	streams.RegisterStreamsServer(calls, fakeStreams{f: f})
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if f.absent && strings.HasPrefix(r.URL.Path, "/event_store.client.projections.") {
				w.Header().Set("Content-Type", "application/grpc")
				w.WriteHeader(http.StatusNotFound)
				return
			}
			calls.ServeHTTP(w, r)
		})}
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return "esdb://" + listener.Addr().String() + "?tls=false"
}

// change is what every call that changes something begins with.
func (f *fakeServer) change(call, name string, mustExist bool) (*fakeProjection, error) {
	if f.locked {
		return nil, status.Error(codes.PermissionDenied, "Access Denied")
	}
	p := f.all[name]
	if mustExist && p == nil {
		return nil, status.Errorf(codes.NotFound, "Projection '%s' not found", name)
	}
	f.told = append(f.told, call+" "+name)
	return p, nil
}

func (f *fakeServer) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	told := f.told
	f.told = nil
	return told
}

// with looks at a projection, or changes it behind the client's back.
func (f *fakeServer) with(name string, do func(*fakeProjection)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.all[name])
}

func (f *fakeServer) Create(_ context.Context, r *projections.CreateReq) (*projections.CreateResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := r.GetOptions().GetContinuous().GetName()
	if f.lost["$projections-"+name] { // The real one never answers; the client ends the call like this.
		return nil, status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	}
	if f.racing == name {
		f.racing = ""
		f.all[name] = &fakeProjection{query: "theirs", state: "Running"}
	}
	p, err := f.change("create", name, false)
	switch {
	case err != nil:
		return nil, err
	case name == "" || r.GetOptions().GetQuery() == "":
		return nil, status.Error(codes.InvalidArgument, "a continuous projection needs a name and a query")
	case r.GetOptions().GetContinuous().GetEmitEnabled():
		return nil, status.Error(codes.InvalidArgument, "none of ours emits")
	case p != nil:
		return nil, status.Errorf(codes.AlreadyExists, "Projection '%s' already exists", name)
	}
	f.all[name] = &fakeProjection{query: r.GetOptions().GetQuery(), state: "Running"}
	return &projections.CreateResp{}, nil
}

func (f *fakeServer) Update(_ context.Context, r *projections.UpdateReq) (*projections.UpdateResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.change("update", r.GetOptions().GetName(), true)
	if err != nil {
		return nil, err
	}
	p.query = r.GetOptions().GetQuery()
	return &projections.UpdateResp{}, nil
}

func (f *fakeServer) Delete(_ context.Context, r *projections.DeleteReq) (*projections.DeleteResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := r.GetOptions().GetName()
	p, err := f.change("delete", name, true)
	switch {
	case err != nil:
		return nil, err
	case p.stopping > 0 || p.state != "Stopped" && p.state != "Faulted":
		return nil, status.Error(codes.FailedPrecondition, "Cannot delete a projection that hasn't been stopped or faulted.")
	case !r.GetOptions().GetDeleteStateStream() || !r.GetOptions().GetDeleteCheckpointStream():
		return nil, status.Error(codes.InvalidArgument, "its streams would stay")
	}
	p.state, p.stopping = "Deleting", 2 // It is in the second list for the last time.
	f.left["$projections-"+name], f.left["$projections-"+name+"-checkpoint"] = true, true
	return &projections.DeleteResp{}, nil
}

func (f *fakeServer) Disable(_ context.Context, r *projections.DisableReq) (*projections.DisableResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.change("disable", r.GetOptions().GetName(), true)
	if err != nil {
		return nil, err
	}
	if p.state == "Running" {
		p.stopping = 3
	}
	p.state, p.reason, p.early, p.silent = "Stopped", "", false, 0
	return &projections.DisableResp{}, nil
}

func (f *fakeServer) Enable(_ context.Context, r *projections.EnableReq) (*projections.EnableResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.change("enable", r.GetOptions().GetName(), true)
	if err != nil {
		return nil, err
	}
	if p.state != "Faulted" { // It stays so until it is disabled.
		p.state = "Running"
	}
	return &projections.EnableResp{}, nil
}

func (f *fakeServer) Reset(_ context.Context, r *projections.ResetReq) (*projections.ResetResp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.change("reset", r.GetOptions().GetName(), true)
	if err != nil {
		return nil, err
	}
	p.resets++
	return &projections.ResetResp{}, nil
}

func (f *fakeServer) Statistics(r *projections.StatisticsReq, to projections.Projections_StatisticsServer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked {
		return status.Error(codes.PermissionDenied, "Access Denied")
	}
	var names []string
	if name := r.GetOptions().GetName(); name != "" {
		if f.all[name] == nil {
			return status.Errorf(codes.NotFound, "Projection '%s' not found", name)
		}
		names = []string{name}
	} else if r.GetOptions().GetContinuous() != nil {
		names = slices.Sorted(maps.Keys(f.all))
	} else {
		return status.Error(codes.InvalidArgument, "the fake lists continuous projections only")
	}
	for _, name := range names {
		p := f.all[name]
		if f.faulting > 0 && name == "hostnode-slot" && p.state == "Running" {
			f.faulting--
			p.state, p.reason, p.early, p.silent = "Faulted", f.reason, f.early, f.silent
		}
		if p.early {
			return status.Error(codes.Unknown, "Exception was thrown by handler.")
		}
		reason := p.reason
		if p.silent > 0 {
			p.silent--
			reason = ""
		}
		state := p.state
		switch {
		case p.stopping > 0 && state == "Deleting":
			if p.stopping--; p.stopping == 0 {
				delete(f.all, name)
			}
		case p.stopping > 0:
			p.stopping--
			state = "Stopping"
		}
		err := to.Send(&projections.StatisticsResp{Details: &projections.StatisticsResp_Details{
			Name: name, EffectiveName: name, Mode: "Continuous", Status: state, StateReason: reason,
			Position: cmp.Or(p.position, "C:1700/P:1700"), Progress: 99.5,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// fakeStreams are the streams of a fakeServer: the definitions of its projections.
type fakeStreams struct {
	streams.UnimplementedStreamsServer
	f *fakeServer
}

// Read shows the last event of a definition.
func (s fakeStreams) Read(r *streams.ReadReq, to streams.Streams_ReadServer) error {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hidden {
		return status.Error(codes.PermissionDenied, "Access Denied")
	}
	stream := r.GetOptions().GetStream().GetStreamIdentifier()
	name := string(stream.GetStreamName())
	p := f.all[strings.TrimPrefix(name, "$projections-")]
	if of, metadata := strings.CutPrefix(name, "$$"); p == nil && (f.left[name] || metadata && f.lost[of]) {
		p = &fakeProjection{query: "of one that was deleted"}
	}
	if p == nil {
		return to.Send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
			StreamNotFound: &streams.ReadResp_StreamNotFound{StreamIdentifier: stream},
		}})
	}
	data, err := json.Marshal(map[string]any{"handlerType": "JS", "query": p.query, "enabled": true})
	if err != nil {
		return err
	}
	return to.Send(&streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event: &streams.ReadResp_ReadEvent_RecordedEvent{
			Id:               &shared.UUID{Value: &shared.UUID_String_{String_: "b8e0ad2c-5a4c-5f34-9d7c-9d0c1c1f7a4e"}},
			StreamIdentifier: stream, Data: data,
			Metadata: map[string]string{
				"type": "$ProjectionUpdated", "content-type": "application/json", "created": "17000000000000000",
			},
		},
		Position: &streams.ReadResp_ReadEvent_NoPosition{NoPosition: &shared.Empty{}},
	}}})
}

// Delete deletes what a projection left, and nothing else.
func (s fakeStreams) Delete(_ context.Context, r *streams.DeleteReq) (*streams.DeleteResp, error) {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	stream := string(r.GetOptions().GetStreamIdentifier().GetStreamName())
	inUse := slices.ContainsFunc(slices.Collect(maps.Keys(f.all)), func(name string) bool {
		return strings.HasPrefix(stream, "$projections-"+name)
	})
	if !f.left[stream] || inUse {
		return nil, status.Errorf(codes.InvalidArgument, "%s is in use, or is not there", stream)
	}
	delete(f.left, stream)
	f.lost[stream] = true
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: 7, PreparePosition: 7},
	}}, nil
}
