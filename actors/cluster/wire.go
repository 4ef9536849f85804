package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/google/uuid"
	"github.com/sirupsen/logrus"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/hostnode/hostnode/events"
)

// Questions to other members, and their answers: Call and Serve first, then how the actor library carries them.

// Handler answers the questions of members. Its context ends when nobody waits for the answer any more, and with Close.
type Handler = func(ctx context.Context, from events.Member, question []byte) ([]byte, error)

// ErrTooLarge: a question or an answer has more than Largest bytes.
var ErrTooLarge = fmt.Errorf("more than %d bytes", Largest)

// reply is what came of a question.
type reply struct {
	answer []byte
	fault  *status.Status // what the handler's error says, or why nobody was asked
	away   error          // there was no answer
}

// Serve implements port.Cluster.
func (c *Cluster) Serve(answer Handler) { c.handler.Store(&answer) }

// Call implements port.Cluster. A call without a deadline waits for a minute. ErrTooLarge: the
// question is; nobody was asked.
func (c *Cluster) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	if len(question) > Largest {
		return nil, fmt.Errorf("ask %s: a question of %d bytes: %w", to, len(question), ErrTooLarge)
	}
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	var r reply
	if to == c.cfg.Member {
		r = c.askSelf(ctx, question)
	} else if _, seen := c.peer(to); !seen {
		r = reply{away: errors.New("it is not seen")}
	} else {
		r = c.wire.ask(ctx, to, question)
	}
	switch {
	case r.away != nil:
		return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, c.wire.whyAway(to, r.away))
	case r.fault == nil:
		return r.answer, nil
	case codes.Code(r.fault.Code) == codes.Unavailable:
		return nil, fmt.Errorf("ask %s: %w: %s", to, events.ErrMemberAway, r.fault.Message)
	}
	return nil, &events.MemberError{Member: to, Text: r.fault.Message}
}

// askSelf asks this member's own handler, which does not know of the caller's context but the
// deadline, like one that is far away.
func (c *Cluster) askSelf(ctx context.Context, question []byte) reply {
	deadline, _ := ctx.Deadline()
	done := make(chan reply, 1)
	if !c.wire.serve(func() {
		done <- c.answer(time.Until(deadline), c.cfg.Member, slices.Clone(question))
	}) {
		return reply{fault: busy}
	}
	select {
	case r := <-done:
		if !time.Now().Before(deadline) { // The caller has given up, as a remote one would.
			return reply{away: context.DeadlineExceeded}
		}
		return r
	case <-ctx.Done():
		return reply{away: ctx.Err()}
	}
}

// Why there is no answer, for who asked.
var (
	notServing = &status.Status{Code: int32(codes.Unavailable), Message: "it does not answer questions yet"}
	busy       = &status.Status{Code: int32(codes.Unavailable), Message: "it has too many questions to answer"}
	otherHost  = &status.Status{Code: int32(codes.Unavailable), Message: "it is of another host, or has other facts"}
)

// answer works at a question.
func (c *Cluster) answer(within time.Duration, from events.Member, question []byte) (r reply) {
	h := c.handler.Load()
	if h == nil {
		return reply{fault: notServing}
	}
	ctx, cancel := context.WithTimeout(c.ctx, min(within, mostWait))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			c.log.WithField("member", from).Errorf("answering a question panicked: %v", v)
			r = failed(fmt.Sprintf("the answer panicked: %v", v))
		}
	}()
	answer, err := (*h)(ctx, from, question)
	if err == nil && len(answer) > Largest {
		err = fmt.Errorf("an answer of %d bytes: %w", len(answer), ErrTooLarge)
	}
	if err != nil {
		return failed(err.Error())
	}
	return reply{answer: answer}
}

// mostText is how many bytes of an error's text are told.
const mostText = 16 << 10

func failed(text string) reply {
	if len(text) > mostText {
		text = text[:mostText] + "…"
	}
	return reply{fault: &status.Status{Code: int32(codes.Unknown), Message: strings.ToValidUTF8(text, "?")}}
}

const (
	memberActor = "member" // the actor that hears questions
	// Headers of a question.
	withinHeader = "within" // how long the asker waits
	factsHeader  = "facts"  // the digest of its facts
	// batch is how many messages the library puts into one of grpc's, of which the size is limited.
	batch = 4
	// A peer that is silent for so long is away: nothing of what it was asked before waits any more.
	// The first is the least that grpc allows.
	silent, silentAfterPing = 10 * time.Second, 5 * time.Second
	mostConnecting          = 3 * time.Second
)

// wire carries questions and answers by the actor library.
type wire struct {
	c          *Cluster
	system     *actor.ActorSystem
	remote     *remote.Remote
	member     *actor.PID
	served     chan struct{} // has room for the questions that are worked at
	connErrors *connErrors   // nil: plain text
	tasks      sync.WaitGroup

	mu     sync.RWMutex // held for reading while something is sent
	closed bool
	lines  map[events.Member]*line
}

// line is what this member asks another one.
type line struct {
	slots chan struct{} // has room for the questions that are unanswered
	mu    sync.Mutex
	open  map[*asked]struct{}
}

// ErrListen: an address cannot be listened on, mostly because it is in use.
var ErrListen = errors.New("listen for other members at")

// listen starts to listen for other members.
func listen(c *Cluster) (w *wire, err error) {
	w = &wire{c: c, served: make(chan struct{}, mostServed), lines: map[events.Member]*line{}}
	if c.cfg.tls != nil {
		w.connErrors = newConnErrors(c.cfg.tls, memberHint, c.log)
	}
	w.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(logFilter{c.log})
	}))
	host := c.cfg.listenHost
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	config := remote.Configure(host, c.cfg.listenPort,
		remote.WithAdvertisedHost(addressOf(c.cfg.Name, c.cfg.Member)),
		remote.WithServerOptions(w.serverOptions()...), remote.WithDialOptions(w.dialOptions()...),
		remote.WithEndpointWriterBatchSize(batch), remote.WithEndpointWriterQueueSize(mostUnanswered))
	config.MaxRetryCount = 1 // The next question tries again.
	w.remote = remote.NewRemote(w.system, config)
	w.system.EventStream.Subscribe(func(e any) {
		if t, ok := e.(*remote.EndpointTerminatedEvent); ok {
			w.disconnected(t.Address)
		}
	})
	defer func() {
		if v := recover(); v != nil {
			w, err = nil, fmt.Errorf("%w %s: %v", ErrListen, c.cfg.Listen, v)
		}
	}()
	w.remote.Start()
	w.member, err = w.system.Root.SpawnNamed(actor.PropsFromFunc(w.receive), memberActor)
	return w, err
}

// creds are those of all connections. A client compares the certificate with the member's address.
func (w *wire) creds() credentials.TransportCredentials {
	if w.connErrors != nil {
		return w.connErrors
	}
	return insecure.NewCredentials()
}

func (w *wire) serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(w.creds()),
		grpc.MaxRecvMsgSize(batch*(Largest+4096) + 1<<16), grpc.MaxConcurrentStreams(16),
		grpc.ConnectionTimeout(mostConnecting),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: silent, Timeout: silentAfterPing}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: silent / 2}),
		grpc.StreamInterceptor(w.guardStream), grpc.UnaryInterceptor(refuseUnary),
	}
}

func (w *wire) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(w.creds()), grpc.WithContextDialer(w.dial), grpc.WithNoProxy(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silent, Timeout: silentAfterPing}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: mostConnecting}),
	}
}

// dial connects to the member with an address, wherever it is now.
func (w *wire) dial(ctx context.Context, address string) (net.Conn, error) {
	m, ok := memberAt(w.c.cfg.Name, address)
	p, seen := w.c.peer(m)
	if !ok || !seen {
		return nil, fmt.Errorf("member %s is not seen", address)
	}
	return (&net.Dialer{Timeout: mostConnecting}).DialContext(ctx, "tcp", p.Address)
}

// close stops listening and ends all connections. It waits for what is served.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	root := w.system.Root
	_ = root.StopFuture(w.system.NewLocalPID("EndpointSupervisor")).Wait() // It ends the connections to others.
	_ = root.StopFuture(w.member).Wait()
	w.remote.Shutdown(false)
	w.system.Shutdown()
	w.tasks.Wait()
}

// whyAway is what is known of why a member does not answer.
func (w *wire) whyAway(m events.Member, err error) error {
	if w.connErrors == nil {
		return err
	}
	if connErr := w.connErrors.about(addressOf(w.c.cfg.Name, m)); connErr != nil {
		return fmt.Errorf("%w: %w", err, connErr)
	}
	return err
}

// line returns what is asked of a member.
func (w *wire) line(to events.Member) *line {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[to]
	if l == nil {
		l = &line{slots: make(chan struct{}, mostUnanswered), open: map[*asked]struct{}{}}
		w.lines[to] = l
	}
	return l
}

// disconnected tells all who wait for answers from an address that none will come: the connection to it
// has ended, and with it what was on its way.
func (w *wire) disconnected(address string) {
	if m, ok := memberAt(w.c.cfg.Name, address); ok {
		l := w.line(m)
		l.mu.Lock()
		defer l.mu.Unlock()
		for q := range l.open {
			q.take(reply{away: errors.New("the connection ended")})
		}
	}
}

// asked receives the answer to one question; it is a process of the library.
type asked struct{ done chan reply }

func (q asked) take(r reply) {
	select {
	case q.done <- r:
	default:
	}
}

// SendUserMessage takes the answer; only the first counts.
func (q asked) SendUserMessage(_ *actor.PID, msg any) {
	_, msg, _ = actor.UnwrapEnvelope(msg)
	switch m := msg.(type) {
	case *wrapperspb.BytesValue:
		q.take(reply{answer: m.Value})
	case *status.Status:
		q.take(reply{fault: m})
	case *actor.DeadLetterResponse:
		q.take(reply{away: errors.New("it cannot be reached")})
	}
}

// SendSystemMessage implements actor.Process; nobody watches a question.
func (asked) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (asked) Stop(*actor.PID) {}

// askedPrefix begins the names of the questions to a member; only it may answer them.
func askedPrefix(to events.Member) string { return "asked/" + string(to) + "/" }

// ask asks another member.
func (w *wire) ask(ctx context.Context, to events.Member, question []byte) reply {
	l := w.line(to)
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return reply{away: fmt.Errorf("it has not answered earlier questions: %w", ctx.Err())}
	}
	q := &asked{done: make(chan reply, 1)}
	pid, _ := w.system.ProcessRegistry.Add(q, askedPrefix(to)+uuid.NewString())
	defer w.system.ProcessRegistry.Remove(pid)
	l.mu.Lock()
	l.open[q] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.open, q)
		l.mu.Unlock()
	}()
	deadline, _ := ctx.Deadline()
	sent := w.send(actor.NewPID(addressOf(w.c.cfg.Name, to), memberActor), &actor.MessageEnvelope{
		Header: map[string]string{
			withinHeader: time.Until(deadline).String(), factsHeader: w.c.cfg.digest,
		},
		Message: wrapperspb.Bytes(question), Sender: pid,
	})
	r := reply{away: errors.New("this member is leaving")}
	if sent {
		select {
		case r = <-q.done:
		case <-w.c.ctx.Done():
		case <-ctx.Done():
			// Until then the question may still lie in memory.
			time.AfterFunc(silent+silentAfterPing, func() { <-l.slots })
			return reply{away: ctx.Err()}
		}
	}
	<-l.slots
	return r
}

// send sends a message; false: the wire is closed.
func (w *wire) send(to *actor.PID, msg any) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return false
	}
	w.system.Root.Send(to, msg)
	return true
}

// serve works at a question beside others. False: it works at too many, or the wire is closed.
func (w *wire) serve(work func()) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return false
	}
	select {
	case w.served <- struct{}{}:
	default:
		return false
	}
	w.tasks.Go(func() {
		defer func() { <-w.served }()
		work()
	})
	return true
}

// receive is the actor that questions are sent to. The guard has checked who sent them.
func (w *wire) receive(a actor.Context) {
	question, ok := a.Message().(*wrapperspb.BytesValue)
	asker := a.Sender()
	if !ok || asker == nil {
		return
	}
	from, _ := memberAt(w.c.cfg.Name, asker.Address)
	within, err := time.ParseDuration(a.MessageHeader().Get(withinHeader))
	digest := a.MessageHeader().Get(factsHeader)
	switch {
	case digest != w.c.cfg.digest:
		w.answer(asker, reply{fault: otherHost})
	case err != nil || within <= 0: // Nobody waits for the answer.
	case !w.serve(func() { w.answer(asker, w.c.answer(within, from, question.Value)) }):
		w.answer(asker, reply{fault: busy})
	}
}

func (w *wire) answer(asker *actor.PID, r reply) {
	if r.fault != nil {
		w.send(asker, r.fault)
	} else {
		w.send(asker, wrapperspb.Bytes(r.answer))
	}
}

// logFilter passes what the library warns of to our log, without the logged values, because messages may
// hold anything. Most of it says that a member does not answer, which the caller is told.
type logFilter struct{ log *logrus.Entry }

func (h logFilter) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h logFilter) Handle(_ context.Context, r slog.Record) error {
	h.log.WithField("from", "actor library").Debug(r.Message)
	return nil
}

func (h logFilter) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h logFilter) WithGroup(string) slog.Handler      { return h }
