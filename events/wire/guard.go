package wire

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// Methods that any client may call: it asks them before it logs in.
const (
	methodGossip   = "/event_store.client.gossip.Gossip/Read"
	methodFeatures = "/event_store.client.server_features.ServerFeatures/GetSupportedMethods"
)

// enter finds out who calls.
func (s *Server) enter(ctx context.Context, method string) (context.Context, error) {
	if method == methodGossip || method == methodFeatures {
		return ctx, nil
	}
	select {
	case <-s.closing:
		return nil, errShutdown
	default:
	}
	who, err := s.auth.caller(ctx)
	if err != nil {
		s.stats.refusedLogins.Add(1)
		return nil, refuse(err, "")
	}
	return context.WithValue(ctx, callerKey{}, who), nil
}

// admit counts the calls of all connections, before grpc reads anything of one.
func (s *Server) admit(ctx context.Context, _ *tap.Info) (context.Context, error) {
	most := s.cfg.Limits.Calls
	if s.stats.calls.Add(1) > int64(most) {
		s.stats.calls.Add(-1)
		s.stats.refusedCalls.Add(1)
		return ctx, refused(codes.ResourceExhausted,
			"this server is too busy: %d calls are under way; try again later", most)
	}
	context.AfterFunc(ctx, func() { s.stats.calls.Add(-1) })
	return ctx, nil
}

// leave is deferred by what handles a call. A panic becomes its error.
func (s *Server) leave(ctx context.Context, method string, err *error) {
	if r := recover(); r != nil {
		*err = s.panicked(method, r)
	}
	setTrailers(ctx, *err)
	s.stats.streams.Add(-1)
}

func (s *Server) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (resp any, err error) {
	s.stats.streams.Add(1)
	defer s.leave(ctx, info.FullMethod, &err)
	defer s.hearOut(s.newIntake(ctx, 0))
	inner, err := s.enter(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handle(inner, req)
}

func (s *Server) stream(
	srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) (err error) {
	s.stats.streams.Add(1)
	defer s.leave(ss.Context(), info.FullMethod, &err)
	most := requestBytes
	if info.IsClientStream {
		most = s.cfg.Limits.ReceiveBytes
	}
	in := s.newIntake(ss.Context(), most)
	if !info.IsClientStream {
		defer s.hearOut(in)
	}
	ctx, err := s.enter(ss.Context(), info.FullMethod)
	if err != nil && info.IsClientStream && !info.IsServerStream {
		return s.drainStranger(ss, err)
	}
	if err != nil {
		return err
	}
	return handle(srv, &known{ss, context.WithValue(ctx, intakeKey{}, in), in})
}

// A refused append is read to its end and discarded before it is answered: the
// official client takes an earlier answer for a broken connection, and does not
// read it.
const (
	// maxDrains is how many refused appends are drained at once; more are
	// answered early. Each costs time and its call, but no memory.
	maxDrains = 1024
	// drainTime is how long the append of an unknown caller may take to end, and a
	// client that has sent its only message may take to say so.
	drainTime = 2 * time.Second
)

// drain reads the rest of an append that is refused with err.
func (s *Server) drain(ss grpc.ServerStream, err error) error {
	select {
	case s.drains <- struct{}{}:
		defer func() { <-s.drains }()
	default:
		return err
	}
	in := intakeOf(ss.Context())
	if in == nil {
		in = s.newIntake(ss.Context(), 0)
	}
	for range events.MaxAppendEvents {
		if in == nil || in.skip() != nil {
			break
		}
	}
	return err
}

// drainStranger is drain for a caller that could not log in.
func (s *Server) drainStranger(ss grpc.ServerStream, err error) error {
	ctx, cancel := context.WithTimeout(ss.Context(), drainTime)
	defer cancel()
	over := ending{ctx.Done(), err}
	return s.supervise(ctx, &outlet{}, over, func(context.Context) error { return s.drain(ss, err) })
}

// hearOut waits until the client of a call with one message has ended its side, as
// grpc does where it reads the messages itself. To end the call earlier is to reset
// it (RFC 9113, section 8.1), and clients built on Rust's hyper, such as KurrentDB's
// for Node, drop the answer with the call.
func (s *Server) hearOut(in *intake) {
	if in == nil {
		return
	}
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	ended := make(chan struct{})
	s.workers.Go(func() {
		defer close(ended)
		for in.skip() == nil {
			continue
		}
	})
	select {
	case <-ended:
	case <-timer.C: // The end of the call then ends the goroutine.
	}
}

// known is a stream whose caller is known.
type known struct {
	grpc.ServerStream
	ctx context.Context
	in  *intake
}

func (k *known) Context() context.Context { return k.ctx }

// RecvMsg reads a message when there is memory for it.
func (k *known) RecvMsg(m any) error {
	if to, ok := m.(proto.Message); ok && k.in != nil {
		return k.in.recv(to)
	}
	return k.ServerStream.RecvMsg(m) //nolint:wrapcheck // It is for grpc.
}

// panicked keeps a bug from ending the process, which serves others and may be
// a host.
func (s *Server) panicked(method string, what any) error {
	s.cfg.Log.WithField("method", method).Errorf("a call ended in a panic: %v\n%s", what, debug.Stack())
	return refused(codes.Internal, "this server made a mistake; its log says more")
}

// unknownService answers calls of methods that are not served.
func unknownService(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(ss)
	what := "this call is"
	switch {
	case strings.HasPrefix(method, "/event_store.client.persistent_subscriptions."):
		what = "persistent subscriptions are"
	case strings.HasPrefix(method, "/event_store.client.projections."):
		what = "projections are"
	}
	return refused(codes.Unimplemented, "hostnode serves streams of events; %s not served", what)
}

// maxStalls is how many calls of one connection may be ended because the client
// took nothing. Then the connection is closed, because each such call leaves a
// message in its buffers.
const maxStalls = 16

// minStall is the least time that a client is given to take a message while
// others wait for memory, even if BusyTime is shorter: a client that is served
// without delay must not be taken for one that does nothing.
const minStall = time.Millisecond

// ending ends a call from outside, with an error.
type ending struct {
	comes <-chan struct{}
	err   error
}

// supervise runs a call on a goroutine of its own. It ends the call when the client
// takes nothing, or leaves a message half sent, for too long, or when the ending
// comes. Too long is much shorter while others wait for memory. Ending the call is
// the only way to free a goroutine that waits for a client; run must obey the end
// of its ctx.
func (s *Server) supervise(
	ctx context.Context, out *outlet, end ending, run func(context.Context) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, done := intakeOf(ctx), make(chan error, 1)
	s.workers.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				done <- s.panicked("", r)
			}
		}()
		err := run(ctx)
		in.settle() // Here, where nobody reads messages any more.
		done <- err
	})
	limit := s.cfg.Limits.StalledFor
	busy := min(limit, max(s.cfg.Limits.BusyTime/2, minStall))
	timer := time.NewTimer(busy)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-end.comes:
			return end.err
		case now := <-timer.C:
			takes, gives := out.stalled(now), in.stalled(now)
			stalled := max(takes, gives)
			wanted := takes >= busy && s.leaving.wanted() || gives >= busy && s.arriving.wanted()
			if stalled >= limit || wanted {
				return s.stall(ctx, out, stalled)
			}
			timer.Reset(min(busy, max(limit-stalled, limit/4)))
		}
	}
}

func (s *Server) stall(ctx context.Context, out *outlet, stalled time.Duration) error {
	s.stats.stalled.Add(1)
	conn := connectionOf(ctx)
	if conn != nil && (conn.stalls.Add(1) >= maxStalls || out.large.Load() > 0) {
		s.cfg.Log.WithField("client", conn.Conn.RemoteAddr()).
			Warn("disconnected a client that does not read its calls")
		_ = conn.Close() // It is gone in any case.
	}
	return refused(codes.Aborted, "the client took or sent nothing for %s; read again from the last event you have",
		stalled.Round(time.Millisecond))
}
