package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// This is the only file that knows the actor library. What it uses of it is
// what was found safe (eventstore.md §7): spawning, sending, the unbounded
// mailbox, poison. Replies are functions inside messages, timers are messages
// to oneself, and failures are told to the parent, which decides what becomes
// of the child; the library's futures, stash, receive timeouts, persistence
// and restart strategies are not used.

// ref addresses an actor. The zero ref swallows what it is told.
type ref struct {
	rt   *runtime
	pid  *actor.PID
	name string
}

// tell puts a message into the actor's mailbox. It never blocks.
func (r ref) tell(msg any) {
	if r.pid != nil && !r.rt.dead.Load() {
		r.rt.system.Root.Send(r.pid, msg)
	}
}

// nobody reports whether it is the zero ref.
func (r ref) nobody() bool { return r.pid == nil }

// is reports whether two refs are of the same actor, and not of nobody.
func (r ref) is(other ref) bool { return r.pid != nil && other.pid != nil && r.pid.Equal(other.pid) }

// behavior is what an actor does with a message. Receive is never called
// twice at once for one actor, and it must not block.
type behavior interface {
	receive(a *turn, msg any)
}

// A behavior that has a method Panicked is told when it panicked, to end what it
// has begun; another one goes on from the record.

// turn is what an actor may do while it handles a message.
type turn struct {
	rt     *runtime
	ctx    actor.Context
	self   ref
	parent ref
}

// started is the first message of every actor.
type started struct{}

// childFailed tells a parent that a child panicked. The child is stopped; what
// it did not say is lost, so the parent starts another from the record.
type childFailed struct {
	child ref
	err   error
	about Subject // what it was working on, if that is known
}

// taskPanicked tells an actor that a task of its own panicked, which is its failure.
type taskPanicked struct{ panic *panicked }

// runtime is one actor system: one host in one process.
type runtime struct {
	system *actor.ActorSystem
	log    *logrus.Entry
	ctx    context.Context
	cancel context.CancelFunc
	dead   atomic.Bool
	tasks  sync.WaitGroup
	// ending guards tasks: once it is set no task begins, so that waiting for
	// those that run is waiting for all.
	mu     sync.Mutex
	ending bool
	stacks map[string]bool // panics that were logged
	// rootFailed is told that the actor without a parent panicked: nobody starts it again.
	rootFailed func(error)
	// met is Config.Met.
	met func(actor string, msg any)
	// shutdown is called once; the library closes a channel in it.
	shutdown func()
}

func newRuntime(ctx context.Context, log *logrus.Entry) *runtime {
	ctx, cancel := context.WithCancel(ctx)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quietHandler{log})
	}))
	return &runtime{
		system: system, log: log, ctx: ctx, cancel: cancel, shutdown: sync.OnceFunc(system.Shutdown),
		stacks: map[string]bool{}, rootFailed: func(error) {}, met: func(string, any) {},
	}
}

// root spawns an actor without a parent.
func (rt *runtime) root(name string, b behavior) ref {
	r := ref{rt: rt, name: name}
	r.pid = rt.system.Root.Spawn(rt.props(name, b, ref{}))
	return r
}

// spawn starts a child of the actor whose turn it is.
func (a *turn) spawn(name string, b behavior) ref {
	r := ref{rt: a.rt, name: name}
	r.pid = a.ctx.Spawn(a.rt.props(name, b, a.self))
	return r
}

// stop ends the actor once it has handled what is in its mailbox.
func (r ref) stop() {
	if r.pid != nil {
		r.rt.system.Root.Poison(r.pid)
	}
}

func (rt *runtime) props(name string, b behavior, parent ref) *actor.Props {
	return actor.PropsFromFunc(func(c actor.Context) {
		if rt.dead.Load() {
			return
		}
		self := ref{rt: rt, pid: c.Self(), name: name}
		var msg any
		switch m := c.Message().(type) {
		case *actor.Started:
			msg = started{}
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
		rt.met(name, msg)
		if m, ok := msg.(taskPanicked); ok {
			panic(m.panic)
		}
		b.receive(&turn{rt, c, self, parent}, msg)
	})
}

// failed ends an actor that panicked and tells its parent.
func (rt *runtime) failed(c actor.Context, b behavior, self, parent ref, p *panicked) {
	rt.tellPanic(self.name, p)
	if f, ok := b.(interface{ Panicked() }); ok {
		f.Panicked()
	}
	err := fmt.Errorf("actor %s: %w", self.name, p)
	if parent.pid == nil {
		rt.rootFailed(err)
	}
	parent.tell(childFailed{self, err, p.about})
	c.Stop(c.Self())
}

// context ends with the runtime.
func (rt *runtime) context() context.Context { return rt.ctx }

// do runs a blocking task of the actor whose turn it is; see ref.do.
func (a *turn) do(task func(ctx context.Context)) { a.self.do(task) }

// do runs a blocking task of an actor outside of its mailbox; its context ends with
// the runtime. While the runtime ends nothing begins any more. A task that panics is
// the failure of its actor.
func (r ref) do(task func(ctx context.Context)) {
	r.rt.begin(task, func(p *panicked) {
		r.rt.tellPanic(r.name, p) // Also of an actor that is gone.
		r.tell(taskPanicked{p})
	})
}

// do runs a blocking task of no actor, as ref.do does. One that panics is over: what must
// go on makes an error of it by itself (guarded).
func (rt *runtime) do(who string, task func(ctx context.Context)) {
	rt.begin(task, func(p *panicked) { rt.tellPanic(who, p) })
}

func (rt *runtime) begin(task func(ctx context.Context), failed func(*panicked)) {
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
func (rt *runtime) endTasks() {
	rt.mu.Lock()
	rt.ending = true
	rt.mu.Unlock()
	rt.cancel()
	rt.tasks.Wait()
}

// kill ends everything at once, as a crash does: nothing is delivered any
// more, and the contexts of all calls end. It returns when no task runs.
func (rt *runtime) kill() {
	rt.dead.Store(true)
	rt.endTasks()
	rt.shutdown()
}

// abandon lets nothing begin any more, and ends the contexts of what runs; kill or halt
// frees the rest.
func (rt *runtime) abandon() {
	rt.dead.Store(true)
	rt.cancel()
}

// halt stops the tree from the top and then kills what is left. No message is handled from
// here on, so that what a state is saved as does not depend on which ones still were: what
// is durable is in the record, and nothing else could become so.
func (rt *runtime) halt(root ref) {
	rt.dead.Store(true)
	rt.endTasks()
	if root.pid != nil {
		_ = rt.system.Root.StopFuture(root.pid).Wait()
	}
	rt.kill()
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
