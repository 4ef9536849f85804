package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

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
	// ErrStopped: the host was stopped.
	ErrStopped = errors.New("the host has stopped")
)

// Host is a running host. Safe for concurrent use.
type Host struct {
	env        *env
	rt         *runtime
	supervisor ref

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
	rt := newRuntime(context.WithoutCancel(ctx), log)
	e := newEnv(cfg.withDefaults(), ports, rt)
	if err := e.takeOver(ctx); err != nil {
		rt.kill()
		return nil, err
	}
	h := &Host{env: e, rt: rt, ended: make(chan struct{})}
	e.owner.lost, e.record.conflict = h.takenOver, e.suspect
	h.supervisor = rt.root("Supervisor", &supervisor{
		env: e, fatal: h.fail, agents: map[events.SlotID]*agent{}, beginning: map[events.SlotID]*candidate{},
	})
	e.record.notify(func() { h.supervisor.tell(recordMoved{}) })
	rt.do(e.beat)
	if e.Alert != nil { // Not the scheduler's, which a chain that is away keeps from starting.
		rt.do(e.watch)
	}
	rt.do(func(ctx context.Context) { e.record.probe(ctx, e.Store) })
	return h, nil
}

// takenOver ends the host at once: whatever it did from now on would be beside
// the process that runs it now. Stop frees what is left.
func (h *Host) takenOver(err error) {
	h.env.log.Errorf("%v; nothing more is done here", err)
	h.env.alert(AlertTakenOver, events.SlotID{}, 0, err.Error(),
		"Find the other process and keep only one; to go on here, stop it and start this one again.")
	h.fail(err)
	h.rt.dead.Store(true)
	h.rt.cancel()
}

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
	away, unwritten := h.env.record.now(), h.env.record.unwritten()
	h.fail(ErrStopped)
	h.env.record.stopping.Store(true)
	h.rt.halt(h.supervisor)
	if errors.Is(h.Err(), ErrTakenOver) { // Whatever it wrote would be beside the other process.
		return nil
	}
	if !away.Away {
		h.env.saveAll(ctx)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, stopPatience)
		defer cancel()
	}
	err := h.recordStop(ctx)
	if err == nil || neverPasses(err) {
		return err
	}
	lost := "that the host stopped"
	if n := len(unwritten); n > 0 {
		lost += ", and what was decided last in " + strings.Join(unwritten[:min(n, maxNamedStreams)], ", ")
		if n > maxNamedStreams {
			lost += fmt.Sprintf(" and %d more", n-maxNamedStreams)
		}
	}
	return fmt.Errorf("%w: not in the record: %s: %w", ErrRecordAway, lost, err)
}

func (h *Host) recordStop(ctx context.Context) error {
	return h.env.appendHost(ctx, &messages.HostStopped{
		At: events.TimeToMessage(h.env.Clock.Now()), Epoch: h.env.epoch,
	})
}

// Kill ends the host as a crash does; for simulations.
func (h *Host) Kill() {
	h.fail(ErrStopped)
	h.rt.kill()
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

// outcome is an answer that may be an error.
type outcome struct{ err error }

// Ledger submits a command to the ledger and returns when what follows from
// it is durable. While the record is away: ErrRecordAway, at once; or within
// operatorPatience if it went away meanwhile, and then the command may still
// take effect. Repeating it is harmless, as for every command.
func (h *Host) Ledger(ctx context.Context, cmd capacity.Command) error {
	return h.command(ctx, func(ledger, _ ref, done chan<- outcome) {
		ledger.tell(ledgerCommand{cmd, "operator", func(r result[capacity.State, capacity.Event]) {
			done <- outcome{r.err}
		}})
	})
}

// Queue submits a command to the slot queue, as Ledger does to the ledger.
func (h *Host) Queue(ctx context.Context, cmd slotqueue.Command) error {
	return h.command(ctx, func(_, queue ref, done chan<- outcome) {
		queue.tell(queueCommand{cmd, "operator", func(r result[slotqueue.State, slotqueue.Event]) {
			done <- outcome{r.err}
		}})
	})
}

func (h *Host) command(ctx context.Context, send func(ledger, queue ref, done chan<- outcome)) error {
	if r := h.env.record.now(); r.Away {
		return fmt.Errorf("%w since %s; nothing was changed: %s",
			ErrRecordAway, r.Since.Format(time.TimeOnly), r.Reason)
	}
	ledger, queue, err := h.tree(ctx)
	if err != nil {
		return err
	}
	done := make(chan outcome, 1)
	send(ledger, queue, done)
	for {
		impatient := make(chan struct{})
		stop := h.env.Clock.After(operatorPatience, func() { close(impatient) })
		select {
		case o := <-done:
			stop()
			return o.err
		case <-h.ended:
			stop()
			return h.Err()
		case <-ctx.Done():
			stop()
			return ctx.Err()
		case <-impatient:
		}
		if r := h.env.record.now(); r.Away {
			return fmt.Errorf("%w; the command may still take effect when it is back: %s", ErrRecordAway, r.Reason)
		}
	}
}

// ErrStarting: the host waits for the chain before it can do anything.
var ErrStarting = errors.New("the host is starting; the chain has not answered yet")

func (h *Host) tree(ctx context.Context) (ledger, queue ref, err error) {
	type refs struct {
		ledger, queue ref
		booted        bool
	}
	r, err := ask(ctx, h, func(done chan<- refs) {
		h.supervisor.tell(lookAround{func(s *supervisor) { done <- refs{s.ledger, s.queue, s.booted} }})
	})
	if err == nil && !r.booted {
		err = ErrStarting
	}
	return r.ledger, r.queue, err
}

// ViewLedger shows the durable ledger. The function runs in the ledger's turn:
// it must be quick and keep nothing of the state.
func (h *Host) ViewLedger(ctx context.Context, look func(capacity.State)) error {
	ledger, _, err := h.tree(ctx)
	if err != nil {
		return err
	}
	_, err = ask(ctx, h, func(done chan<- struct{}) {
		ledger.tell(ledgerQuery{func(s capacity.State) {
			look(s)
			done <- struct{}{}
		}})
	})
	return err
}

// ViewQueue shows the durable queue; the same rules as for ViewLedger.
func (h *Host) ViewQueue(ctx context.Context, look func(slotqueue.State)) error {
	_, queue, err := h.tree(ctx)
	if err != nil {
		return err
	}
	_, err = ask(ctx, h, func(done chan<- struct{}) {
		queue.tell(queueQuery{func(s slotqueue.State) {
			look(s)
			done <- struct{}{}
		}})
	})
	return err
}
