package shell

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
	"github.com/sirupsen/logrus"
)

// This is the only file that knows the actor library, beside package cluster, which has none of our actors.
//
// We use spawning and the tree of parents and children, sending, requests with their sender,
// the process registry, the unbounded mailbox, poison, and stopping a tree.
//
// Requests: like the library's futures, a question is a process that takes one answer and is
// then forgotten, but its deadline is the context of its caller. A future has a timer of its
// own: to cancel it with a context takes a goroutine, and a late answer may write it while it
// is read.
//
// What we do not use, and why:
//
//   - Supervision strategies. The library asks one after it has recovered from a panic, when
//     the stack, and what the actor was working on, are lost. So we recover ourselves, and then
//     know all that a parent needs (ChildFailed); a strategy could only pass that on. What a
//     parent does differs by child and takes time and the record: a sale is quarantined, a part
//     is started again with growing pauses. The library's strategies restart at once with the
//     same mailbox, although the state must first be loaded from the record; the default
//     silently gives up after ten restarts in ten seconds, and the one with a backoff never
//     does.
//   - Watching. It would tell a parent that a child has ended, but not why; ChildFailed says
//     both. Nobody else waits for the end of an actor: the caller of a part that failed is
//     answered by its Part.
//   - Bounded mailboxes: a full one blocks its sender, or makes it spin. What may wait is
//     bounded where it comes in (Pool, the queue's limits, admission).
//   - Stash, which loses the senders; ReenterAfter, which may run on an actor that was
//     restarted meanwhile; receive timeouts, which race. Our timers are messages to oneself.
//   - Persistence: docs/adr/0001-one-journal.md.

// Ref addresses an actor. The zero Ref drops what it is told.
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

// Nobody reports whether it is the zero Ref.
func (r Ref) Nobody() bool { return r.pid == nil }

// Is reports whether two refs address the same actor; false for zero refs.
func (r Ref) Is(other Ref) bool { return r.pid != nil && other.pid != nil && r.pid.Equal(other.pid) }

// asked receives the answer to one question. Like the library's futures, it is a process.
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

// ask sends a message that expects an answer.
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

// SendUserMessage takes the answer; only the first counts.
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

// SendSystemMessage implements actor.Process; nobody watches a question.
func (q *asked) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (q *asked) Stop(*actor.PID) { q.forget() }

// forget stops taking answers.
func (q *asked) forget() {
	if q.pid != nil {
		q.rt.system.ProcessRegistry.Remove(q.pid)
	}
}

// Answer answers a question with a value of the type that was asked for, or with an error. It
// may be kept, and must be called once.
type Answer func(value any, err error)

// Asker returns how to answer the message of this turn. If it was no question, the answer is
// dropped.
func (a *Turn) Asker() Answer {
	system, asker := a.RT.system, a.ctx.Sender()
	return func(value any, err error) {
		if asker != nil {
			system.Root.Send(asker, answer{value, err})
		}
	}
}

// Address names an actor in a message. Messages hold no Ref, so that they could be sent to
// another process. The zero Address is nobody's.
type Address string

// Address returns the name of the actor.
func (r Ref) Address() Address {
	if r.pid == nil {
		return ""
	}
	return Address(r.pid.GetId())
}

// At returns the actor at an address.
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

// A behavior with a method Ended has it called when its actor has panicked or is stopped, to end what it has begun; its
// successor, in this process or another one, goes on from the record.

// Turn is what an actor may do while it handles a message.
type Turn struct {
	RT     *Runtime
	ctx    actor.Context
	Self   Ref
	Parent Ref
}

// Started is the first message of every actor.
type Started struct{}

// ChildFailed tells a parent that a child panicked. The child is stopped and its state is lost,
// so the parent starts another one from the record.
type ChildFailed struct {
	Child Ref
	Err   error
	About Subject // what it was working on, if that is known
}

// taskPanicked tells an actor that one of its tasks panicked; then the actor fails.
type taskPanicked struct{ panic *Panicked }

// Runtime is one actor system: one host in one process.
type Runtime struct {
	system *actor.ActorSystem
	Log    *logrus.Entry
	ctx    context.Context
	cancel context.CancelFunc
	dead   atomic.Bool
	tasks  sync.WaitGroup
	// workers are the goroutines of actors and tasks.
	workers *workers
	// Once ending is set no task begins, so that waiting for those that run is waiting for all.
	mu     sync.Mutex
	ending bool
	stacks map[string]bool // panics that were logged
	// RootFailed is called when the actor without a parent panicked: nobody starts it again.
	RootFailed func(error)
	// BeforeMessage is called by every actor before it handles a message, for tests.
	BeforeMessage func(actor string, msg any)
	// shutdown is called once; the library closes a channel in it.
	shutdown func()
}

// A registry of actors uses 1024 locks instead of 1024 times 32: a host has some hundred actors, and
// making so many maps took longer than all else in a start. The number is set before any registry
// is made, because one that was made with another number finds its actors no more; package cluster
// has a registry of its own.
var _ = func() bool {
	cmap.SHARD_COUNT = 1
	return true
}()

// NewRuntime returns a runtime without actors. Its tasks end with ctx; end it with Kill or
// Halt.
func NewRuntime(ctx context.Context, log *logrus.Entry) *Runtime {
	ctx, cancel := context.WithCancel(ctx)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quietHandler{log})
	}))
	crew := &workers{}
	return &Runtime{
		system: system, Log: log, ctx: ctx, cancel: cancel, workers: crew,
		shutdown: sync.OnceFunc(func() {
			system.Shutdown()
			crew.end()
		}),
		stacks: map[string]bool{}, RootFailed: func(error) {}, BeforeMessage: func(string, any) {},
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
		case *actor.Stopping:
			end(b)
			return
		case *actor.Stopped, *actor.Restarting, *actor.Terminated, *actor.PoisonPill:
			return
		default:
			msg = m
		}
		defer func() {
			if v := recover(); v != nil {
				rt.failed(c, b, self, parent, recovered(v))
			}
		}()
		rt.BeforeMessage(name, msg)
		if m, ok := msg.(taskPanicked); ok {
			panic(m.panic)
		}
		b.Receive(&Turn{rt, c, self, parent}, msg)
	}, actor.WithDispatcher(rt.workers))
}

// failed ends an actor that panicked and tells its parent.
func (rt *Runtime) failed(c actor.Context, b Behavior, self, parent Ref, p *Panicked) {
	rt.tellPanic(self.Name, p)
	end(b)
	err := fmt.Errorf("actor %s: %w", self.Name, p)
	if parent.pid == nil {
		rt.RootFailed(err)
	}
	parent.Tell(ChildFailed{self, err, p.about})
	c.Stop(c.Self())
}

func end(b Behavior) {
	if begun, ok := b.(interface{ Ended() }); ok {
		begun.Ended()
	}
}

// Context returns a context that ends with the runtime.
func (rt *Runtime) Context() context.Context { return rt.ctx }

// Do runs a blocking task of the actor whose turn it is; see Ref.Do.
func (a *Turn) Do(task func(ctx context.Context)) { a.Self.Do(task) }

// Do runs a blocking task of an actor outside its mailbox. The task's context ends with the
// runtime; while the runtime ends, no task begins. If a task panics, its actor fails.
func (r Ref) Do(task func(ctx context.Context)) {
	r.rt.begin(task, func(p *Panicked) {
		r.rt.tellPanic(r.Name, p) // Also for an actor that is gone.
		r.Tell(taskPanicked{p})
	})
}

// Do runs a blocking task of no actor, like Ref.Do. A task that panics is over; one that must
// go on uses Guarded.
func (rt *Runtime) Do(who string, task func(ctx context.Context)) {
	rt.begin(task, func(p *Panicked) { rt.tellPanic(who, p) })
}

func (rt *Runtime) begin(task func(ctx context.Context), failed func(*Panicked)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.ending {
		return
	}
	rt.tasks.Add(1)
	rt.workers.Schedule(func() {
		defer rt.tasks.Done()
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

// Kill ends everything at once, like a crash: no message is delivered any more, and the
// contexts of all calls end. It returns when no task runs.
func (rt *Runtime) Kill() {
	rt.dead.Store(true)
	rt.endTasks()
	rt.shutdown()
}

// Abandon lets no task begin any more, and ends the contexts of those that run; Kill or Halt
// frees the rest.
func (rt *Runtime) Abandon() {
	rt.dead.Store(true)
	rt.cancel()
}

// Halt stops the tree from the top, and then kills what is left. No further message is handled,
// so that the saved states do not depend on which messages still were: all that is durable is
// in the record.
func (rt *Runtime) Halt(root Ref) {
	rt.dead.Store(true)
	rt.endTasks()
	if root.pid != nil {
		_ = rt.system.Root.StopFuture(root.pid).Wait()
	}
	rt.Kill()
}

// quietHandler passes the library's warnings and errors to our log, but never the logged
// values, because messages may hold anything.
type quietHandler struct{ log *logrus.Entry }

func (h quietHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h quietHandler) Handle(_ context.Context, r slog.Record) error {
	h.log.WithField("from", "actor library").Warn(r.Message)
	return nil
}

func (h quietHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h quietHandler) WithGroup(string) slog.Handler      { return h }
