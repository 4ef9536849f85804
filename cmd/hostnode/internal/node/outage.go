package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/outage"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/prover"
)

// This file proves what is hosted while a start waits for its event store. Everything that it
// has opened is closed before the node is opened, because there is only one outbox, and one
// disk; the node proves until its host has read the record.

const (
	// storePatience is how long a start waits for one answer of the event store before it
	// begins to prove: connecting may take much longer, and a proof may be due.
	storePatience = 3 * time.Second
	// bootLook is how often it is looked whether the host has read its record, and how long
	// that may take before what is hosted is proven meanwhile.
	bootLook = time.Second
)

// errSilentStore: the event store has not answered yet.
var errSilentStore = fmt.Errorf("%w: no answer for %s", events.ErrAway, storePatience)

// untilRecordAnswers is untilAnswered, and shows what is waited for. Once it has waited, what is
// hosted is proven until stopProving.
func (p *Process) untilRecordAnswers(ctx context.Context, ask func() error) error {
	return untilAnswered(ctx, p.log, func() error {
		err := p.patiently(ctx, ask)
		away := errors.Is(err, events.ErrAway)
		if err == nil || away {
			p.start.waits(err)
		}
		if away {
			p.startProving(ctx)
		}
		return err
	})
}

// patiently asks, and begins to prove if the answer takes long.
func (p *Process) patiently(ctx context.Context, ask func() error) error {
	answer := make(chan error, 1)
	go func() { answer <- ask() }()
	select {
	case err := <-answer:
		return err
	case <-time.After(storePatience):
	}
	p.start.waits(errSilentStore)
	p.startProving(ctx)
	return <-answer
}

// task is a goroutine beside the start.
type task struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func begin(ctx context.Context, do func(context.Context)) *task {
	ctx, cancel := context.WithCancel(ctx)
	t := &task{cancel, make(chan struct{})}
	go func() {
		defer close(t.done)
		do(ctx)
	}()
	return t
}

// end returns when it has ended; of none as well.
func (t *task) end() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}

// startProving begins to prove, unless that was begun before.
func (p *Process) startProving(ctx context.Context) {
	// The embedded chain stands still meanwhile. A member without the key can send nothing.
	if p.proving != nil || p.config.Embedded() || p.config.Clustered() && !p.config.Account.Transactions {
		return
	}
	p.proving = begin(ctx, func(ctx context.Context) {
		err := shell.Caught(func() error { return p.prove(ctx) })
		if err != nil && ctx.Err() == nil {
			p.log.Errorf("nothing is proven while the event store is away: %v", err)
			p.start.proves(health.OutageFacts{Nothing: err.Error()})
		}
	})
}

// stopProving ends that, and returns when everything is closed. A proof that was being
// made is dropped; one that was sent is in the outbox.
func (p *Process) stopProving() {
	if p.proving == nil {
		return
	}
	p.proving.end()
	p.proving = nil
	p.start.proves(health.OutageFacts{})
	p.start.waitsMeanwhile(nil)
}

// prove proves the account's slots. The account is that of the data directory. It fails
// when it has no means to prove, and when another program uses the account.
func (p *Process) prove(ctx context.Context) error {
	owner, err := p.Dir.Owner()
	if err != nil {
		return err
	}
	used, err := p.Dir.Used()
	if err != nil || !used || owner.Zero() { // It never hosted anything.
		return err
	}
	p.start.is(owner)
	_, key, err := p.keyOf(owner)
	if err != nil {
		return err
	}
	parts, err := p.parts(ctx, owner, key)
	if err != nil {
		return err
	}
	parts.Waits = p.start.waitsMeanwhile
	if err := p.remoteChain(ctx, p.config, &parts); err != nil {
		return err
	}
	o, err := FromConfig(p.config, parts)
	if err != nil {
		return err
	}
	n := new(Node)
	o.Proves = p.start.proves
	return errors.Join(n.prove(ctx, o, p.start), n.close())
}

// prove opens what is needed to prove without a store, and runs it.
func (n *Node) prove(ctx context.Context, o Options, told *start) (err error) {
	if n.Repo, err = openSlots(o); err != nil {
		return err
	}
	slots, err := n.prover(o)
	if err != nil {
		return err
	}
	n.alerts = o.Alerts
	if err := n.dial(ctx, o); err != nil {
		return err
	}
	told.reaches(n.Market.Reachability)
	defer told.reaches(nil)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-n.Market.Failed():
			stop()
		case <-ctx.Done():
		}
	}()
	err = n.keep(ctx, o, slots)
	if why := n.Market.Failure(); why != nil {
		return why
	}
	return err
}

// keep proves the account's slots until ctx ends.
func (n *Node) keep(ctx context.Context, o Options, slots port.Prover) error {
	var market outage.Market = n.Market
	what := "the slots of the account"
	if o.Cluster != nil {
		market, what = onDisk{n.Market, ownAccount{n.Market, o.Store, o.Dir.Outbox()}, n.Repo}, "the slots on this disk"
	}
	o.Log.Warnf("the host has not read its events: %s are proven, and nothing else is done until it has", what)
	return outage.Run(ctx, outage.Config{
		Margin: o.Host.Margin, Proofs: o.Host.Proofs, Tell: o.Proves, Log: o.Log,
		Alert: n.alerts.Raise,
	}, outage.Ports{Market: market, Feed: n.Market.Feed(), Prover: slots})
}

// onDisk is the market of a member that knows nothing but its own disk: it proves the slots that are there,
// beside whoever owns the account's transactions.
type onDisk struct {
	outage.Market
	account port.Account
	repo    interface {
		Stored(ctx context.Context) ([]events.StoredSlot, error)
	}
}

// MySlots are those of the account whose data is on this disk.
func (d onDisk) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	stored, err := d.repo.Stored(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the stored slots: %w", err)
	}
	owned, err := d.Market.MySlots(ctx)
	return slices.DeleteFunc(owned, func(o events.OwnedSlot) bool {
		return !slices.ContainsFunc(stored, func(s events.StoredSlot) bool { return s.Slot == o.Slot })
	}), err
}

// TakenProofs are those that this member sent; the contract refuses what others have sent.
func (d onDisk) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	return d.account.TakenProofs(ctx, slot, from)
}

// SubmitProof sends a proof beside the owner.
func (d onDisk) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	return d.account.SubmitProof(ctx, call, period, proof)
}

// untilBooted lets what is hosted be proven while a host that was begun has not read its
// record: because the event store does not answer, or for any other reason. It goes on until the
// host proves itself, whatever the event store says meanwhile. at once: what is hosted was
// proven until now. ask tells whether the event store answers; waits and proves are called with
// the state.
func untilBooted(
	ctx context.Context, atOnce bool, booted func(context.Context) bool, ask, keep func(context.Context) error,
	waits func(error), proves func(health.OutageFacts),
) {
	var keeping *task
	defer func() {
		if keeping != nil {
			keeping.end()
			proves(health.OutageFacts{})
			waits(nil)
		}
	}()
	for first := true; ; first = false {
		if !first || !atOnce {
			_ = retry.Sleep(ctx, bootLook)
		}
		if ctx.Err() != nil || booted(ctx) {
			return
		}
		if keeping == nil {
			keeping = begin(ctx, func(ctx context.Context) {
				if err := shell.Caught(func() error { return keep(ctx) }); err != nil && ctx.Err() == nil {
					proves(health.OutageFacts{Nothing: err.Error()})
				}
			})
		}
		asking, cancel := context.WithTimeout(ctx, bootLook)
		switch err := ask(asking); {
		case ctx.Err() != nil:
		case errors.Is(err, events.ErrAway):
			waits(err)
		case asking.Err() != nil:
			waits(errSilentStore)
		default:
			waits(nil)
		}
		cancel()
	}
}

// prover proves the slots of the repo.
func (n *Node) prover(o Options) (*prover.SlotProver, error) {
	p, err := prover.New(o.Keys, max(o.Host.Proofs, 1))
	if err != nil {
		return nil, fmt.Errorf("set up the prover: %w", err)
	}
	return prover.NewSlotProver(p, func(slot events.SlotID) (prover.StoredSlot, error) {
		return n.Repo.Reader(slot)
	}), nil
}

// errNotBegun: the event store has not stored the start of the host, which makes no other
// call until then.
var errNotBegun = fmt.Errorf("%w: the start of this host is not in the record yet", events.ErrAway)

// answers reports whether the event store answers, whether or not the host's start is
// stored. A store that answers reads may still accept no appends, like a leader that is cut
// off.
func answers(ctx context.Context, store events.Store, begun bool) error {
	if _, err := store.Head(ctx); err != nil {
		return err
	}
	if !begun {
		return errNotBegun
	}
	return nil
}

// proveUntilBooted is untilBooted for a host that reports when it has begun.
func (n *Node) proveUntilBooted(
	ctx context.Context, o Options, slots port.Prover, hosts <-chan *actors.Host,
) *task {
	var host *actors.Host
	booted := func(ctx context.Context) bool {
		select {
		case host = <-hosts:
		default:
		}
		if host == nil {
			return false
		}
		s, err := host.Status(ctx)
		return err != nil || s.Booted
	}
	ask := func(ctx context.Context) error { return answers(ctx, o.Store, host != nil) }
	keep := func(ctx context.Context) error { return n.keep(ctx, o, slots) }
	return begin(context.WithoutCancel(ctx), func(ctx context.Context) {
		untilBooted(ctx, !o.Host.StoreAwaySince.IsZero(), booted, ask, keep, o.Waits, o.Proves)
	})
}
