package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// Errors of starting a host.
var (
	// ErrOtherMarket: the record belongs to another chain or contract.
	ErrOtherMarket = errors.New("the record belongs to another market")
	// ErrWrongKeys: the contract takes proofs of another proving key.
	ErrWrongKeys = errors.New("the proving keys are not the contract's")
	// ErrBroken: a bug of ours ended the host. Starting it again goes on from the record.
	ErrBroken = errors.New("a bug ended the host")
	// ErrStopped: the host was stopped.
	ErrStopped = errors.New("the host has stopped")
)

// Host is a running host. Safe for concurrent use.
type Host struct {
	env        *env
	rt         *shell.Runtime
	supervisor shell.Ref

	once  sync.Once
	ended chan struct{}
	mu    sync.Mutex
	cause error
}

// Start takes over the host's identity and runs it. It fails only when the
// record forbids it (ErrOtherMarket, a record that cannot be read), or another
// process began at the same moment (ErrTakenOver); an event store or a chain that
// does not answer is waited for, until ctx ends. A process that ran the host until
// now ends with ErrTakenOver as soon as it looks at the record.
func Start(ctx context.Context, cfg Config, ports Ports, log *logrus.Entry) (*Host, error) {
	rt := shell.NewRuntime(context.WithoutCancel(ctx), log)
	e := newEnv(cfg.withDefaults(), ports, rt)
	if err := e.takeOver(ctx); err != nil {
		rt.Kill()
		return nil, err
	}
	h := &Host{env: e, rt: rt, ended: make(chan struct{})}
	rt.RootFailed = h.supervisorFailed
	e.owner.lost, e.Record.Conflict = h.takenOver, e.suspect
	h.supervisor = rt.Root("Supervisor", &supervisor{
		env: e, fatal: h.fail, kept: keep(e),
		agents: map[events.SlotID]*agent{}, beginning: map[events.SlotID]*candidate{},
		blamed: map[shell.Subject]int{},
	})
	e.Record.Notify(func() { h.supervisor.Tell(recordMoved{}) })
	if cfg.Alert != nil { // Not the scheduler's, which a chain that is away keeps from starting.
		rt.Do("watch", e.keepWatch)
	}
	rt.Do("heartbeat", e.beat)
	rt.Do("probe of the store", func(ctx context.Context) {
		for ctx.Err() == nil { // It ends with ctx, or panics.
			_ = rt.Guarded("probe of the store", func() error {
				e.Record.Probe(ctx, e.Store)
				return nil
			})
		}
	})
	return h, nil
}

// takenOver ends the host at once: whatever it did from now on would be beside
// the process that runs it now. Stop frees what is left.
func (h *Host) takenOver(err error) {
	h.env.Log.Errorf("%v; nothing more is done here", err)
	h.env.Raise(health.AlertTakenOver, events.SlotID{}, 0, err.Error(),
		"Find the other process and keep only one; to go on here, stop it and start this one again.")
	h.fail(err)
	h.rt.Abandon()
}

// supervisorFailed ends the host: nobody would start again what fails from now on, nor
// hand on the news of the chain. What runs goes on until the process stops it, and
// whoever runs the process starts it again.
func (h *Host) supervisorFailed(err error) { h.fail(fmt.Errorf("%w: %w", ErrBroken, err)) }

func (h *Host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.once.Do(func() {
		h.cause = err
		close(h.ended)
	})
}

// Done is closed when the host cannot go on; Err says why.
func (h *Host) Done() <-chan struct{} { return h.ended }

// Err is why Done was closed.
func (h *Host) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// Stop ends the host in good order: calls in flight are abandoned, which is
// safe at any moment, and the record says that it stopped; not that of a host that
// was taken over. A record that is away
// is not waited for: the error, ErrRecordAway, names what is not in it. That is
// lost, and safe to lose: the next start finds out what became of it.
func (h *Host) Stop(ctx context.Context) error {
	away, unwritten := h.env.Record.Now(), h.env.Record.Unwritten()
	h.fail(ErrStopped)
	h.env.Record.Stopping.Store(true)
	h.rt.Halt(h.supervisor)
	if errors.Is(h.Err(), shell.ErrTakenOver) { // Whatever it wrote would be beside the other process.
		return nil
	}
	if !away.Away {
		h.env.SaveAll(ctx)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shell.StopPatience)
		defer cancel()
	}
	err := h.recordStop(ctx)
	if err == nil || shell.NeverPasses(err) {
		return err
	}
	lost := "that the host stopped"
	if n := len(unwritten); n > 0 {
		lost += ", and what was decided last in " + strings.Join(unwritten[:min(n, shell.MaxNamedStreams)], ", ")
		if n > shell.MaxNamedStreams {
			lost += fmt.Sprintf(" and %d more", n-shell.MaxNamedStreams)
		}
	}
	return fmt.Errorf("%w: not in the record: %s: %w", shell.ErrRecordAway, lost, err)
}

func (h *Host) recordStop(ctx context.Context) error {
	return h.env.appendHost(ctx, &messages.HostStopped{
		At: events.TimeToMessage(h.env.Clock.Now()), Epoch: h.env.Epoch,
	})
}

// Kill ends the host as a crash does; for simulations.
func (h *Host) Kill() {
	h.fail(ErrStopped)
	h.rt.Kill()
}

// ask runs a function in an actor's turn and waits for it.
func ask[T any](ctx context.Context, h *Host, send func(done chan<- T)) (T, error) {
	done := make(chan T, 1)
	send(done)
	var none T
	select {
	case v := <-done:
		return v, nil
	case <-h.ended:
		return none, h.Err()
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Ledger submits a command to the ledger and returns when what follows from
// it is durable. While the record is away: ErrRecordAway, at once; or within
// operatorPatience if it went away meanwhile, and then the command may still
// take effect. Repeating it is harmless, as for every command.
func (h *Host) Ledger(ctx context.Context, cmd capacity.Command) error {
	return h.command(ctx, h.env.ledger, func(reply replies) any {
		return ledgerCommand{cmd, operatorCause, func(r shell.Result[capacity.State, capacity.Event]) {
			reply(struct{}{}, r.Err)
		}}
	})
}

// Queue submits a command to the slot queue, as Ledger does to the ledger.
func (h *Host) Queue(ctx context.Context, cmd slotqueue.Command) error {
	return h.command(ctx, h.env.queue, func(reply replies) any {
		return queueCommand{cmd, operatorCause, func(r shell.Result[slotqueue.State, slotqueue.Event]) {
			reply(struct{}{}, r.Err)
		}}
	})
}

// operatorCause is the cause of what operators command.
const operatorCause = "operator"

// replies takes the answer to a command.
type replies = func(struct{}, error)

func (h *Host) command(ctx context.Context, to *shell.Part, message func(reply replies) any) error {
	if r := h.env.Record.Now(); r.Away {
		return fmt.Errorf("%w since %s; nothing was changed: %s",
			shell.ErrRecordAway, r.Since.Format(time.TimeOnly), r.Reason)
	}
	if err := h.started(ctx); err != nil {
		return err
	}
	return h.await(ctx, shell.AskPart(to, message))
}

// TryAgain ends the quarantine of a piece of work, so that it is tried again; the answer
// comes when the record has it. ErrNotQuarantined.
func (h *Host) TryAgain(ctx context.Context, what shell.Subject) error {
	if err := h.started(ctx); err != nil {
		return err
	}
	done := make(chan shell.Answer[struct{}], 1)
	h.supervisor.Tell(tryAgain{what, func(err error) { done <- shell.Answer[struct{}]{Err: err} }})
	return h.await(ctx, shell.Question[struct{}]{Done: done})
}

// await waits for the answer to a command while the record is there.
func (h *Host) await(ctx context.Context, asked shell.Question[struct{}]) error {
	if asked.Err != nil {
		return asked.Err
	}
	for {
		impatient := make(chan struct{})
		stop := h.env.Clock.After(shell.OperatorPatience, func() { close(impatient) })
		select {
		case a := <-asked.Done:
			stop()
			return a.Err
		case <-asked.Gone:
			stop()
			_, err := asked.Wait(ctx) // It may have answered at the same moment.
			return err
		case <-h.ended:
			stop()
			return h.Err()
		case <-ctx.Done():
			stop()
			return ctx.Err()
		case <-impatient:
		}
		if r := h.env.Record.Now(); r.Away {
			return fmt.Errorf("%w; the command may still take effect when it is back: %s",
				shell.ErrRecordAway, r.Reason)
		}
	}
}

// ErrStarting: the host waits for the chain before it can do anything.
var ErrStarting = errors.New("the host is starting; the chain has not answered yet")

// started is an error while the host has not begun.
func (h *Host) started(ctx context.Context) error {
	booted, err := ask(ctx, h, func(done chan<- bool) {
		h.supervisor.Tell(lookAround{func(s *supervisor) { done <- s.booted }})
	})
	if err == nil && !booted {
		err = ErrStarting
	}
	return err
}

// ViewLedger shows the durable ledger. The function runs in the ledger's turn:
// it must be quick and keep nothing of the state.
func (h *Host) ViewLedger(ctx context.Context, look func(capacity.State)) error {
	if err := h.started(ctx); err != nil {
		return err
	}
	return h.await(ctx, askLedgerAbout(h.env.ledger, func(s capacity.State) struct{} {
		look(s)
		return struct{}{}
	}))
}

// ViewQueue shows the durable queue; the same rules as for ViewLedger.
func (h *Host) ViewQueue(ctx context.Context, look func(slotqueue.State)) error {
	if err := h.started(ctx); err != nil {
		return err
	}
	return h.await(ctx, shell.AskPart(h.env.queue, func(reply replies) any {
		return queueQuery{func(s slotqueue.State) {
			look(s)
			reply(struct{}{}, nil)
		}}
	}))
}
