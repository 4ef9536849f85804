package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Errors of starting a host.
var (
	// ErrOtherMarket: the record belongs to another chain or contract.
	ErrOtherMarket = errors.New("the record belongs to another market")
	// ErrOtherChain: the market's stream belongs to another chain with the same id and the same
	// contract address.
	ErrOtherChain = errors.New("the event store has the record of another chain under the name of this market")
	// ErrWrongKeys: the contract accepts proofs of another proving key.
	ErrWrongKeys = errors.New("the proving keys are not the contract's")
	// ErrBroken: a bug ended the host. A restart goes on from the record.
	ErrBroken = errors.New("a bug ended the host")
	// ErrStopped: the host was stopped.
	ErrStopped = errors.New("the host has stopped")
)

// Host is a running host. Safe for concurrent use.
type Host struct {
	rt         *shell.Runtime
	base       *shell.Base
	alerts     *health.Alerts
	record     *hostRecord
	supervisor shell.Ref

	ledger, queue, sectors *shell.Part
	sectorPorts            *SectorPorts // nil: this host has no sectors
	disk                   *diskWatch
	// Nil: the host is one process, or never has the term.
	cluster port.Cluster
	market  *members.Market
	handout *handout
	terms   *terms
	rooms   []Room // of further machines
	checks  *checks.Checks

	// ended is cancelled when the host cannot go on; its cause is the reason.
	ended context.Context
	end   context.CancelCauseFunc
}

// Start takes over the host's identity and runs it. It fails only when the record forbids it
// (ErrOtherMarket, ErrOtherChain, a record that cannot be read), or when another process starts
// at the same moment (ErrTakenOver). It waits for an event store or a chain that does not
// answer, until ctx ends. A process that ran the host until now ends with ErrTakenOver as soon
// as it looks at the record.
func Start(ctx context.Context, cfg Config, ports Ports, log *logrus.Entry) (*Host, error) {
	rt := shell.NewRuntime(context.WithoutCancel(ctx), log)
	cfg = cfg.withDefaults()
	h, root := assemble(cfg, ports, rt)
	b := h.base
	if store, ok := events.Inner[events.Watchful](ports.Store); ok {
		rt.Do("return of the store", func(ctx context.Context) { b.RingFor(ctx, store) })
	}
	if err := h.record.takeOver(ctx, cfg, root.market); err != nil {
		rt.Kill()
		return nil, err
	}
	h.ended, h.end = context.WithCancelCause(context.Background())
	h.checks = newChecks(h, cfg, ports.Repo)
	// Without a supervisor nobody restarts what fails, or passes on what the chain says. Running work goes on until
	// the process stops the host; its operator starts it again.
	rt.RootFailed = func(err error) { h.end(fmt.Errorf("%w: %w", ErrBroken, err)) }
	h.record.lost, b.StoreWatch.Conflict = h.takenOver, h.record.suspect
	if ports.Cluster != nil {
		b.HasTerm = h.record.hasTerm
	}
	root.fatal = h.end
	h.supervisor = rt.Root(root.root.Name, root)
	b.StoreWatch.Notify(func() { h.supervisor.Tell(sales.RecordMoved{}) })
	if ports.Cluster != nil {
		h.serve()
	}
	if cfg.Alert != nil { // The scheduler cannot watch: without a chain it never starts.
		rt.Do("watch", root.watch.keep)
	}
	rt.Do("heartbeat", func(ctx context.Context) { h.record.beat(ctx, cfg.Heartbeat) })
	rt.Do("probe of the store", func(ctx context.Context) {
		for ctx.Err() == nil { // The probe returns when ctx ends, or when it panicked.
			_ = rt.Guarded("probe of the store", func() error {
				b.StoreWatch.Probe(ctx, b.Store)
				return nil
			})
		}
	})
	return h, nil
}

// takenOver ends the host at once, because another process runs it now. Stop frees what is
// left.
func (h *Host) takenOver(err error) {
	h.base.Log.Errorf("%v; this process does nothing more", err)
	h.alerts.Raise(health.AlertTakenOver, events.SlotID{}, 0, err.Error(),
		"Find the other process and keep only one; to go on here, stop it and start this one again.")
	h.end(err)
	h.rt.Abandon()
}

// Done is closed when the host cannot go on; Err says why.
func (h *Host) Done() <-chan struct{} { return h.ended.Done() }

// Err is why Done was closed.
func (h *Host) Err() error { return context.Cause(h.ended) }

// Stop ends the host in good order: it abandons the calls in flight, which is safe at any
// moment, and records that the host stopped, unless another process has taken over. It does not
// wait long for an event store that is away: ErrStoreAway then names what could not be
// recorded. It is safe to lose that: the next start finds out what became of it.
func (h *Host) Stop(ctx context.Context) error {
	away, unwritten := h.base.StoreWatch.Now(), h.base.StoreWatch.Unwritten()
	h.end(ErrStopped)
	h.base.StoreWatch.Stopping.Store(true)
	h.rt.Halt(h.supervisor)
	if errors.Is(h.Err(), shell.ErrTakenOver) { // The record belongs to the other process now.
		return nil
	}
	if !away.Away {
		h.base.SaveAll(ctx)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shell.StopPatience)
		defer cancel()
	}
	err := h.record.stop(ctx)
	if h.terms != nil {
		h.terms.resign()
	}
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
	return fmt.Errorf("%w: not in the record: %s: %w", shell.ErrStoreAway, lost, err)
}

// Kill ends the host like a crash does; for simulations.
func (h *Host) Kill() {
	h.end(ErrStopped)
	h.rt.Kill()
}

// ViewLedger shows the durable state of the ledger.
func (h *Host) ViewLedger(ctx context.Context) (capacity.Snapshot, error) {
	return view[capacity.Snapshot](ctx, h, h.ledger, ledger.Show{})
}

// ViewQueue shows the durable state of the queue.
func (h *Host) ViewQueue(ctx context.Context) (slotqueue.Snapshot, error) {
	return view[slotqueue.Snapshot](ctx, h, h.queue, queue.Show{})
}

// Order has a room of this process do something, unless the event store is away: shell.ErrStoreAway, at once or soon.
// ErrStarting, shell.ErrPartDown: it does not run, here or now.
func Order[T any](ctx context.Context, h *Host, to *shell.Part, msg any) (none T, err error) {
	if r := h.base.StoreWatch.Now(); r.Away {
		return none, fmt.Errorf("%w since %s; nothing was changed: %s",
			shell.ErrStoreAway, r.Since.Format(time.TimeOnly), r.Reason)
	}
	return view[T](ctx, h, to, msg)
}

// OrderOwner is Order for a room that runs with the owner: another member that has the term is asked to, and the room's
// errors come from there as a text. The order and the answer have JSON forms. events.ErrNoOwner: nobody has the term.
// After events.ErrMemberAway it may have taken effect.
func OrderOwner[T, M any](ctx context.Context, h *Host, to *shell.Part, order M) (answer T, err error) {
	if h.cluster == nil {
		return Order[T](ctx, h, to, order)
	}
	owner, known := h.record.ownerNow()
	switch {
	case !known:
		return answer, events.ErrNoOwner
	case owner == h.base.Member:
		return Order[T](ctx, h, to, order)
	}
	body, err := json.Marshal(order)
	if err != nil {
		return answer, fmt.Errorf("pass an order on to %s: %w", owner, err)
	}
	said, err := byMember(ctx, h, owner, members.ToRoom{Room: to.Name, Order: body}, nil)
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	return answer, err
}

// Taker is Room.Takes for orders of type M with answers of type T.
func Taker[T, M any](to *shell.Part) func(context.Context, *Host, []byte) (any, error) {
	return func(ctx context.Context, h *Host, body []byte) (any, error) {
		var order M
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields() // An order is never carried out in part.
		if err := d.Decode(&order); err != nil {
			return nil, fmt.Errorf("an order to %s: %w: %w; the members may be of different versions", to.Name,
				events.ErrMalformed, err)
		}
		return Order[T](ctx, h, to, order)
	}
}

// view asks a part something once the start is over.
func view[T any](ctx context.Context, h *Host, of *shell.Part, msg any) (none T, err error) {
	if err := h.started(ctx); err != nil {
		return none, err
	}
	return await(ctx, h, shell.Ask[T](of, msg))
}

// ErrStarting: the host still waits for the chain.
var ErrStarting = errors.New("the host is starting; the chain has not answered yet")

// started returns an error until the start is over.
func (h *Host) started(ctx context.Context) error {
	booted, err := ask(ctx, h, shell.AskActor[bool](h.supervisor, isBooted{}))
	if err == nil && !booted {
		err = ErrStarting
	}
	return err
}

// errImpatient: there was no answer within OperatorPatience.
var errImpatient = errors.New("no answer yet")

// await waits for the answer to a command, but not long once the event store is away.
func await[T any](ctx context.Context, h *Host, q shell.Question[T]) (T, error) {
	for {
		patient, cancel := context.WithCancelCause(ctx)
		stop := h.base.Clock.After(shell.OperatorPatience, func() { cancel(errImpatient) })
		v, err := ask(patient, h, q)
		stop()
		cancel(nil)
		if !errors.Is(err, errImpatient) {
			return v, err
		}
		if r := h.base.StoreWatch.Now(); r.Away {
			return v, fmt.Errorf("%w; the command may still take effect when it is back: %s",
				shell.ErrStoreAway, r.Reason)
		}
	}
}

// ask waits for the answer to a question while the host runs.
func ask[T any](ctx context.Context, h *Host, q shell.Question[T]) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ended, func() { cancel(h.Err()) })()
	return q.Wait(ctx)
}
