package actors

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
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

func (r ref) is(other ref) bool { return r.pid != nil && other.pid != nil && r.pid.Equal(other.pid) }

// behavior is what an actor does with a message. Receive is never called
// twice at once for one actor, and it must not block.
type behavior interface {
	receive(a *turn, msg any)
}

// A behavior that has a method failed is told when it panicked, to end what it
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
}

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
			if p := recover(); p != nil {
				rt.log.WithField("actor", name).Errorf("panic: %v\n%s", p, debug.Stack())
				if f, ok := b.(interface{ failed() }); ok {
					f.failed()
				}
				parent.tell(childFailed{self, fmt.Errorf("actor %s panicked: %v", name, p)})
				c.Stop(c.Self())
			}
		}()
		b.receive(&turn{rt, c, self, parent}, msg)
	})
}

// do runs a blocking task outside of every mailbox; its context ends with the
// runtime. While the runtime ends nothing begins any more.
func (rt *runtime) do(task func(ctx context.Context)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if !rt.ending {
		rt.tasks.Go(func() { task(rt.ctx) })
	}
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

// halt stops the tree from the top and then kills what is left.
func (rt *runtime) halt(root ref) {
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
