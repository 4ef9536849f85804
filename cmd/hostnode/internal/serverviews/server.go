package serverviews

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	client "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	_ "github.com/hostnode/hostnode/events/protoconflict" // the client registers gossip.proto
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/projections/js"
)

const (
	// callTimeout is how long one call may take before the server counts as not
	// answering. The client looks for a node ten times first.
	callTimeout = 20 * time.Second
	// stopTimeout is how long a projection may take to stop; it writes its
	// checkpoint before.
	stopTimeout = time.Minute
	// stopPause is how often it is asked whether it has stopped.
	stopPause = 200 * time.Millisecond
)

// ErrNoProjections: the event store has no projections of its own.
var ErrNoProjections = errors.New("the event store runs no projections; hostnode's own views are built in")

// ErrStuck: the server does not do with a projection what it was asked to.
var ErrStuck = errors.New("the server is stuck with the projection")

// Server is an EventStoreDB with its projections. It is not safe for concurrent
// use.
type Server struct {
	projections *client.ProjectionClient
	// pause waits before a stopping projection is asked again; tests do not wait.
	pause func(context.Context, time.Duration) error
	// abandoned says that a call may still be under way.
	abandoned bool
}

// Connect prepares the connection; the first call makes it. The caller closes
// the server.
func Connect(cfg esdb.Config) (*Server, error) {
	c, err := esdb.NewProjectionClient(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{projections: c, pause: retry.Sleep}, nil
}

// Close ends the connection. After an abandoned call the client is abandoned
// too: closing it may end the process.
func (s *Server) Close() error {
	if s.abandoned {
		return nil
	}
	return s.projections.Close()
}

// call runs one call of the client, and abandons it when it takes too long: while
// no node answers the client ignores its context (spec/eventstore.md §2). In some
// places it panics then, too.
func call[T any](
	ctx context.Context, s *Server, what string, do func(context.Context) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("%w: the client failed: %v", events.ErrAway, p)
			}
			answers <- a
		}()
		a.value, a.err = do(ctx)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		s.abandoned = true
		a.err = fmt.Errorf("%w: %w", events.ErrAway, ctx.Err())
	}
	if a.err != nil {
		return a.value, fmt.Errorf("%s: %w", what, explain(a.err))
	}
	return a.value, nil
}

// do is call for calls without an answer.
func (s *Server) do(ctx context.Context, what string, f func(context.Context) error) error {
	_, err := call(ctx, s, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// tell is do for calls that only name a projection.
func tell[O any](
	ctx context.Context, s *Server, what, name string, f func(context.Context, string, O) error, options O,
) error {
	return s.do(ctx, what+" "+name, func(ctx context.Context) error { return f(ctx, name, options) })
}

// explain keeps the errors that callers here check for, and translates the
// others to the port's.
func explain(err error) error {
	if e := (*client.Error)(nil); errors.As(err, &e) && e.Code() == client.ErrorCodeUnsupportedFeature {
		return ErrNoProjections
	}
	switch status.Code(err) { //nolint:exhaustive // the rest is explained by the adapter
	case codes.Unimplemented:
		return ErrNoProjections
	case codes.AlreadyExists:
		return errExists
	case codes.Unknown: // HTTP 404 without a status of gRPC: the service is not there.
		said, ok := errors.AsType[interface {
			error
			GRPCStatus() *status.Status
		}](err)
		switch {
		case ok && said.GRPCStatus().Message() == "":
			return ErrNoProjections
		case strings.Contains(err.Error(), thrown):
			return errThrown
		}
	}
	return esdb.Explain(err)
}

var (
	errExists = errors.New("a projection of this name exists")
	errThrown = errors.New("the server cannot say how its projections are doing")
)

// thrown is what a server says that stumbled over its own data.
const thrown = "Exception was thrown by handler"

// installed is a projection on the server.
type installed struct {
	client.ProjectionStatus
	// query is its source; empty when the server does not show it.
	query string
}

// is reports whether the state of a projection contains one of the words.
// States are such as Running, Stopped, Faulted (Enabled) or Preparing/Stopped.
func (p *installed) is(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(p.Status, w) })
}

// find returns those of our projections that the server has, with their sources.
func (s *Server) find(ctx context.Context) (map[string]*installed, error) {
	found, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for name, p := range found {
		if p.is("Deleting") {
			delete(found, name)
			continue
		}
		if p.query, err = s.query(ctx, name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// list returns what the server says of those of our projections that it has. One
// that faulted before its first checkpoint, whoever's it is, breaks the list of all.
func (s *Server) list(ctx context.Context) (map[string]*installed, error) {
	all, err := call(ctx, s, "list the server's projections",
		func(ctx context.Context) ([]client.ProjectionStatus, error) {
			return s.projections.ListContinuous(ctx, client.GenericProjectionOptions{})
		})
	if errors.Is(err, errThrown) {
		return s.eachByName(ctx)
	}
	if err != nil {
		return nil, err
	}
	found := map[string]*installed{}
	for _, p := range js.All() {
		i := slices.IndexFunc(all, func(st client.ProjectionStatus) bool { return st.Name == p.Name })
		if i >= 0 {
			found[p.Name] = &installed{ProjectionStatus: all[i]}
		}
	}
	return found, nil
}

// eachByName is list without that of the server: what it cannot describe by its name either
// is what has faulted.
func (s *Server) eachByName(ctx context.Context) (map[string]*installed, error) {
	found := map[string]*installed{}
	for _, p := range js.All() {
		one, err := call(ctx, s, "ask for "+p.Name, func(ctx context.Context) (*client.ProjectionStatus, error) {
			return s.projections.GetStatus(ctx, p.Name, client.GenericProjectionOptions{})
		})
		switch {
		case errors.Is(err, errThrown):
			one = &client.ProjectionStatus{Name: p.Name, Status: "Faulted", StateReason: untold}
		case absent(err):
			continue
		case err != nil:
			return nil, err
		}
		found[p.Name] = &installed{ProjectionStatus: *one}
	}
	return found, nil
}

// untold is our reason for a fault that a server cannot describe.
const untold = "it faulted before its first checkpoint, and the server does not say why"

// query reads the source of a projection from its definition; empty when the
// server does not show it.
func (s *Server) query(ctx context.Context, name string) (string, error) {
	what := "read the definition of " + name
	query, err := call(ctx, s, what, func(ctx context.Context) (string, error) {
		e, err := s.last(ctx, definitions+name)
		if err != nil || e.Event == nil {
			return "", err
		}
		var definition struct {
			Query string `json:"query"` // package json ignores the case of the key
		}
		if json.Unmarshal(e.Event.Data, &definition) != nil {
			return "", nil // Another version of the server writes something else.
		}
		return definition.Query, nil
	})
	if absent(err) || errors.Is(err, events.ErrDenied) {
		return "", nil
	}
	return query, err
}

// definitions begins the names of the streams in which a server keeps projections; the
// one that ends with a projection's name has its definition.
const definitions = "$projections-"

// last returns the last event of a stream.
func (s *Server) last(ctx context.Context, stream string) (*client.ResolvedEvent, error) {
	r, err := s.projections.Client().ReadStream(ctx, stream, client.ReadStreamOptions{
		Direction: client.Backwards, From: client.End{},
	}, 1)
	if err != nil {
		return nil, err //nolint:wrapcheck // call says what was done.
	}
	defer r.Close()
	return r.Recv() //nolint:wrapcheck // call says what was done.
}

// absent reports whether an error of last means that there is no event.
func absent(err error) bool {
	return errors.Is(err, events.ErrStreamNotFound) || errors.Is(err, events.ErrStreamDeleted) || errors.Is(err, io.EOF)
}

// stop disables a projection and waits until it has stopped.
func (s *Server) stop(ctx context.Context, name string) error {
	if err := tell(ctx, s, "disable", name, s.projections.Disable, client.GenericProjectionOptions{}); err != nil {
		return err
	}
	stopped := func(p *installed) bool {
		return p == nil || p.is("Stopped", "Faulted", "Aborted", "Completed") && !p.is("Stopping")
	}
	if err := s.until(ctx, name, stopped); err != nil {
		return fmt.Errorf("disable %s: %w", name, err)
	}
	return nil
}

// until waits for a projection; after stopTimeout it returns ErrStuck.
func (s *Server) until(ctx context.Context, name string, done func(*installed) bool) error {
	for range stopTimeout / stopPause {
		found, err := s.list(ctx)
		if err != nil {
			return err
		}
		if done(found[name]) {
			return nil
		}
		if err := s.pause(ctx, stopPause); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: it is not done within %s", ErrStuck, stopTimeout)
}
