package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
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
// record forbids it (*ErrOtherMarket*, a record that cannot be read); a chain
// that does not answer is waited for.
func Start(ctx context.Context, cfg Config, ports Ports, log *logrus.Entry) (*Host, error) {
	rt := newRuntime(context.WithoutCancel(ctx), log)
	e := newEnv(cfg.withDefaults(), ports, rt)
	if err := e.takeOver(ctx); err != nil {
		rt.kill()
		return nil, err
	}
	h := &Host{env: e, rt: rt, ended: make(chan struct{})}
	h.supervisor = rt.root("Supervisor", &supervisor{
		env: e, fatal: h.fail, agents: map[events.SlotID]*agent{}, beginning: map[events.SlotID]*candidate{},
	})
	return h, nil
}

// takeOver appends HostStarted with the next epoch. Another chain's record is
// refused.
func (e *env) takeOver(ctx context.Context) error {
	stream := events.HostStream(e.me)
	var last *messages.HostStarted
	count := uint64(0)
	for r, err := range e.Store.ReadStream(ctx, stream, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the host's record: %w", err)
		}
		m, err := e.codec.Decode(r)
		if err != nil {
			return fmt.Errorf("read the host's record: %w", err)
		}
		if m, ok := m.(*messages.HostStarted); ok {
			last = m
		}
		count = r.Revision + 1
	}
	if err := e.sameMarket(last); err != nil {
		return err
	}
	e.epoch = last.GetEpoch() + 1
	return e.appendHost(ctx, count, &messages.HostStarted{
		At: events.TimeToMessage(e.Clock.Now()), Epoch: e.epoch, ChainId: e.ChainID,
		Genesis: e.Genesis.String(), Contract: e.Contract.String(), Version: e.Version, Node: e.Node,
	})
}

func (e *env) sameMarket(last *messages.HostStarted) error {
	if last == nil {
		return nil
	}
	if last.GetChainId() != e.ChainID || last.GetGenesis() != e.Genesis.String() ||
		last.GetContract() != e.Contract.String() {
		return fmt.Errorf("%w: it is of chain %d, genesis %s, contract %s; this is chain %d, genesis %s, contract %s",
			ErrOtherMarket, last.GetChainId(), last.GetGenesis(), last.GetContract(),
			e.ChainID, e.Genesis, e.Contract)
	}
	return nil
}

func (e *env) appendHost(ctx context.Context, count uint64, m messages.HostEvent) error {
	name, version, data, err := e.codec.Encode(m)
	if err != nil {
		return err
	}
	meta := e.metadata("")
	meta.Version = version
	stream := events.HostStream(e.me)
	_, err = e.Store.Append(ctx, stream, events.ExpectNext(count), []events.NewEvent{{
		ID:   events.NewEventID(stream, fmt.Sprintf("epoch:%d@%d", e.epoch, count), 0),
		Type: name, Data: data, Meta: meta,
	}})
	if err != nil {
		return fmt.Errorf("write the host's record: %w", err)
	}
	return nil
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
// safe at any moment, and the record says that it stopped.
func (h *Host) Stop(ctx context.Context) error {
	h.fail(ErrStopped)
	h.rt.halt(h.supervisor)
	count := uint64(0)
	for r, err := range h.env.Store.ReadStream(ctx, events.HostStream(h.env.me),
		events.ReadStream{From: events.End, Backward: true, Limit: 1}) {
		if err != nil {
			return fmt.Errorf("read the host's record: %w", err)
		}
		count = r.Revision + 1
	}
	return h.env.appendHost(ctx, count, &messages.HostStopped{
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
// it is durable.
func (h *Host) Ledger(ctx context.Context, cmd capacity.Command) error {
	ledger, _, err := h.tree(ctx)
	if err != nil {
		return err
	}
	o, err := ask(ctx, h, func(done chan<- outcome) {
		ledger.tell(ledgerCommand{cmd, "operator", func(r result[capacity.State, capacity.Event]) {
			done <- outcome{r.err}
		}})
	})
	return errors.Join(err, o.err)
}

// Queue submits a command to the slot queue.
func (h *Host) Queue(ctx context.Context, cmd slotqueue.Command) error {
	_, queue, err := h.tree(ctx)
	if err != nil {
		return err
	}
	o, err := ask(ctx, h, func(done chan<- outcome) {
		queue.tell(queueCommand{cmd, "operator", func(r result[slotqueue.State, slotqueue.Event]) {
			done <- outcome{r.err}
		}})
	})
	return errors.Join(err, o.err)
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

// Status is what the host does at a moment.
type Status struct {
	Booted bool
	Epoch  uint64
	Head   events.Head
	// Live says that the host has seen the newest block; Stalled that the chain
	// has been silent for longer than it should.
	Live, Stalled bool
	Sales         []SaleStatus
	Pools         []PoolStatus
}

// SaleStatus is a sale that is in work or hosted.
type SaleStatus struct {
	State       sale.State
	Waiting     string
	Trouble     Trouble
	Quarantined string
}

// PoolStatus is how busy a kind of call is.
type PoolStatus struct {
	Name                   string
	Running, Waiting, Size int
}

// Status reads what the host does now.
func (h *Host) Status(ctx context.Context) (Status, error) {
	return ask(ctx, h, func(done chan<- Status) {
		h.supervisor.tell(lookAround{func(s *supervisor) { done <- s.status() }})
	})
}

func (s *supervisor) status() Status {
	st := Status{
		Booted: s.booted, Epoch: s.epoch, Head: s.view.now(), Live: s.live,
		Stalled: s.booted && s.Clock.Now().Sub(s.lastNews) > stalledAfter,
	}
	for _, slot := range s.slots() {
		ag := s.agents[slot]
		st.Sales = append(st.Sales, SaleStatus{ag.state, sale.Waiting(ag.state), ag.trouble, ag.quarantined})
	}
	for _, p := range []*pool{s.downloads, s.proofs, s.transactions, s.reads, s.disk} {
		running, waiting := p.busy()
		st.Pools = append(st.Pools, PoolStatus{p.name, running, waiting, p.size})
	}
	return st
}
