package shell

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// This is the only file that knows the actor library.
//
// Used of it: spawning and the tree of parents and children, sending, requests with their
// sender, the process registry, the unbounded mailbox, poison, and stopping a tree.
//
// Requests: a question is a process of the library that takes one answer and then is
// forgotten, as its futures are, and the deadline is the context of who waits. A future ends
// by a timer of its own: to give one up with a context takes a goroutine for each, and a late
// answer may write it while it is read.
//
// Not used, and why:
//
//   - Supervision strategies. The library asks one after it has recovered from the panic: the
//     stack and what the actor was working on are gone, so it is recovered here in any case, and
//     then there is all that a parent needs (ChildFailed). A strategy would only pass that
//     on. What a parent does about it differs by child and takes time and the record: a sale
//     is quarantined, a part is started again with growing pauses. The strategies that the
//     library has restart at once with the same mailbox, although the state is to be loaded
//     from the record first; the default gives up after ten times in ten seconds without a
//     word, and the one with a backoff never does.
//   - Watching. A parent is told that a child has ended without it, but not why; ChildFailed
//     says that. Nobody else waits for the end of an actor: who asked a part that failed is
//     answered by its Part.
//   - Bounded mailboxes: a full one blocks its sender or spins. What may wait is bounded
//     where it is let in (Pool, the queue's limits, admission).
//   - Stash, which loses the senders; ReenterAfter, which runs against an actor that was
//     started again meanwhile; receive timeouts, which race. Timers are messages to oneself.
//   - Persistence: docs/adr/0001-one-journal.md.

// Ref addresses an actor. The zero ref swallows what it is told.
type Ref struct {
	rt   *Runtime
	pid  *actor.PID
	Name string
}

// Tell puts a message into the actor's mailbox. It never blocks.
func (r Ref) Tell(msg any) {
	if r.pid != nil && !r.rt.dead.Load() {
		r.rt.system.Root.Send(r.pid, msg)
	}
}

// Nobody reports whether it is the zero ref.
func (r Ref) Nobody() bool { return r.pid == nil }

// Is reports whether two refs are of the same actor, and not of nobody.
func (r Ref) Is(other Ref) bool { return r.pid != nil && other.pid != nil && r.pid.Equal(other.pid) }

// asked is where the answer to one question arrives. It is a process of the library, as its
// futures are.
type asked struct {
	rt   *Runtime
	pid  *actor.PID
	done chan answer // has room for the one answer
}

// answer is what an actor answered.
type answer struct {
	value any
	err   error
}

// ask sends a message to which an answer is expected.
func (r Ref) ask(msg any) *asked {
	q := &asked{rt: r.rt, done: make(chan answer, 1)}
	if r.pid == nil || r.rt.dead.Load() {
		return q
	}
	registry := r.rt.system.ProcessRegistry
	q.pid, _ = registry.Add(q, "asked"+registry.NextId())
	r.rt.system.Root.RequestWithCustomSender(r.pid, msg, q.pid)
	return q
}

// SendUserMessage takes the answer; of several the first counts.
func (q *asked) SendUserMessage(_ *actor.PID, msg any) {
	_, msg, _ = actor.UnwrapEnvelope(msg)
	if a, ok := msg.(answer); ok {
		q.forget()
		select {
		case q.done <- a:
		default:
		}
	}
}

// SendSystemMessage is for the library; nobody watches a question.
func (q *asked) SendSystemMessage(*actor.PID, any) {}

// Stop is for the library.
func (q *asked) Stop(*actor.PID) { q.forget() }

// forget takes no answer any more.
func (q *asked) forget() {
	if q.pid != nil {
		q.rt.system.ProcessRegistry.Remove(q.pid)
	}
}

// Answer answers a question, with a value of the type that was asked for or an error. It
// may be kept, and is to be called once.
type Answer func(value any, err error)

// Asker is how to answer whoever asked what this turn is about. Nobody did: nothing happens.
func (a *Turn) Asker() Answer {
	system, asker := a.RT.system, a.ctx.Sender()
	return func(value any, err error) {
		if asker != nil {
			system.Root.Send(asker, answer{value, err})
		}
	}
}

// Address is the name of an actor in a message, where a Ref is out of place: what a message
// holds could be sent to another process. The zero address is nobody's.
type Address string

// Address is the name of the actor.
func (r Ref) Address() Address {
	if r.pid == nil {
		return ""
	}
	return Address(r.pid.GetId())
}

// At is the actor of an address.
func (rt *Runtime) At(a Address) Ref {
	if a == "" {
		return Ref{}
	}
	return Ref{rt: rt, pid: actor.NewPID(rt.system.Address(), string(a)), Name: string(a)}
}

// Behavior is what an actor does with a message. Receive is never called
// twice at once for one actor, and it must not block.
type Behavior interface {
	Receive(a *Turn, msg any)
}

// A behavior that has a method Panicked is told when it panicked, to end what it
// has begun; another one goes on from the record.

// Turn is what an actor may do while it handles a message.
type Turn struct {
	RT     *Runtime
	ctx    actor.Context
	Self   Ref
	Parent Ref
}

// Started is the first message of every actor.
type Started struct{}

// ChildFailed tells a parent that a child panicked. The child is stopped; what
// it did not say is lost, so the parent starts another from the record.
type ChildFailed struct {
	Child Ref
	Err   error
	About Subject // what it was working on, if that is known
}

// taskPanicked tells an actor that a task of its own panicked, which is its failure.
type taskPanicked struct{ panic *Panicked }

// Runtime is one actor system: one host in one process.
type Runtime struct {
	system *actor.ActorSystem
	Log    *logrus.Entry
	ctx    context.Context
	cancel context.CancelFunc
	dead   atomic.Bool
	tasks  sync.WaitGroup
	// ending guards tasks: once it is set no task begins, so that waiting for
	// those that run is waiting for all.
	mu     sync.Mutex
	ending bool
	stacks map[string]bool // panics that were logged
	// RootFailed is told that the actor without a parent panicked: nobody starts it again.
	RootFailed func(error)
	// Met is Config.Met.
	Met func(actor string, msg any)
	// shutdown is called once; the library closes a channel in it.
	shutdown func()
}

// NewRuntime is a runtime without actors; its tasks end with ctx. Kill or Halt ends it.
func NewRuntime(ctx context.Context, log *logrus.Entry) *Runtime {
	ctx, cancel := context.WithCancel(ctx)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quietHandler{log})
	}))
	return &Runtime{
		system: system, Log: log, ctx: ctx, cancel: cancel, shutdown: sync.OnceFunc(system.Shutdown),
		stacks: map[string]bool{}, RootFailed: func(error) {}, Met: func(string, any) {},
	}
}

// Root spawns an actor without a parent.
func (rt *Runtime) Root(name string, b Behavior) Ref {
	r := Ref{rt: rt, Name: name}
	r.pid = rt.system.Root.Spawn(rt.props(name, b, Ref{}))
	return r
}

// Spawn starts a child of the actor whose turn it is.
func (a *Turn) Spawn(name string, b Behavior) Ref {
	r := Ref{rt: a.RT, Name: name}
	r.pid = a.ctx.Spawn(a.RT.props(name, b, a.Self))
	return r
}

// Stop ends the actor once it has handled what is in its mailbox.
func (r Ref) Stop() {
	if r.pid != nil {
		r.rt.system.Root.Poison(r.pid)
	}
}

func (rt *Runtime) props(name string, b Behavior, parent Ref) *actor.Props {
	return actor.PropsFromFunc(func(c actor.Context) {
		if rt.dead.Load() {
			return
		}
		self := Ref{rt: rt, pid: c.Self(), Name: name}
		var msg any
		switch m := c.Message().(type) {
		case *actor.Started:
			msg = Started{}
		case *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated, *actor.PoisonPill:
			return
		default:
			msg = m
		}
		defer func() {
			if v := recover(); v != nil {
				rt.failed(c, b, self, parent, recovered(v))
			}
		}()
		rt.Met(name, msg)
		if m, ok := msg.(taskPanicked); ok {
			panic(m.panic)
		}
		b.Receive(&Turn{rt, c, self, parent}, msg)
	})
}

// failed ends an actor that panicked and tells its parent.
func (rt *Runtime) failed(c actor.Context, b Behavior, self, parent Ref, p *Panicked) {
	rt.tellPanic(self.Name, p)
	if f, ok := b.(interface{ Panicked() }); ok {
		f.Panicked()
	}
	err := fmt.Errorf("actor %s: %w", self.Name, p)
	if parent.pid == nil {
		rt.RootFailed(err)
	}
	parent.Tell(ChildFailed{self, err, p.about})
	c.Stop(c.Self())
}

// Context ends with the runtime.
func (rt *Runtime) Context() context.Context { return rt.ctx }

// Do runs a blocking task of the actor whose turn it is; see ref.do.
func (a *Turn) Do(task func(ctx context.Context)) { a.Self.Do(task) }

// Do runs a blocking task of an actor outside of its mailbox; its context ends with
// the runtime. While the runtime ends nothing begins any more. A task that panics is
// the failure of its actor.
func (r Ref) Do(task func(ctx context.Context)) {
	r.rt.begin(task, func(p *Panicked) {
		r.rt.tellPanic(r.Name, p) // Also of an actor that is gone.
		r.Tell(taskPanicked{p})
	})
}

// Do runs a blocking task of no actor, as ref.do does. One that panics is over: what must
// go on makes an error of it by itself (guarded).
func (rt *Runtime) Do(who string, task func(ctx context.Context)) {
	rt.begin(task, func(p *Panicked) { rt.tellPanic(who, p) })
}

func (rt *Runtime) begin(task func(ctx context.Context), failed func(*Panicked)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.ending {
		return
	}
	rt.tasks.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				failed(recovered(v))
			}
		}()
		task(rt.ctx)
	})
}

// endTasks ends the contexts of all tasks and returns when none runs.
func (rt *Runtime) endTasks() {
	rt.mu.Lock()
	rt.ending = true
	rt.mu.Unlock()
	rt.cancel()
	rt.tasks.Wait()
}

// Kill ends everything at once, as a crash does: nothing is delivered any
// more, and the contexts of all calls end. It returns when no task runs.
func (rt *Runtime) Kill() {
	rt.dead.Store(true)
	rt.endTasks()
	rt.shutdown()
}

// Abandon lets nothing begin any more, and ends the contexts of what runs; kill or halt
// frees the rest.
func (rt *Runtime) Abandon() {
	rt.dead.Store(true)
	rt.cancel()
}

// Halt stops the tree from the top and then kills what is left. No message is handled from
// here on, so that what a state is saved as does not depend on which ones still were: what
// is durable is in the record, and nothing else could become so.
func (rt *Runtime) Halt(root Ref) {
	rt.dead.Store(true)
	rt.endTasks()
	if root.pid != nil {
		_ = rt.system.Root.StopFuture(root.pid).Wait()
	}
	rt.Kill()
}

// quietHandler hands the library's log to ours: its warnings and errors, and
// never a whole message, because messages may hold anything.
type quietHandler struct{ log *logrus.Entry }

func (h quietHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h quietHandler) Handle(_ context.Context, r slog.Record) error {
	h.log.WithField("from", "actor library").Warn(r.Message)
	return nil
}

func (h quietHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h quietHandler) WithGroup(string) slog.Handler      { return h }
