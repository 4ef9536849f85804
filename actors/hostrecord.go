package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

// This file makes sure that one process at a time runs a host, or is a member of it.
//
// A process writes HostStarted with the next epoch when it begins, HostHeartbeat while it lives
// and HostStopped at its end, each at exactly the revision after the last that it knows of the
// host's stream. So of two processes that begin at once, one meets a conflict; when another
// begins later, the older one's next event does. A process also looks whenever somebody else
// wrote to any of its streams. One that finds that it was replaced (events/membership) ends at
// once: two processes would spoil each other's record and take each other's nonces.

// owner is what a process knows of its host's stream. Safe for concurrent use.
type owner struct {
	// writing admits one writer at a time, until it is known whether the store took its event:
	// the outcome of another append at the same revision would depend on it. A writer may give
	// up with its context.
	writing *shell.Pool
	count   uint64 // events in the stream, as far as this process knows
	started bool   // the start of this process is in the stream
	unsure  bool   // the last writer gave up, and its event may be in the stream
	looking bool   // guarded by lookMu
	lookMu  sync.Mutex
	// lost is called when another process runs the host.
	lost func(error)

	watched[membership.State] // what the stream says, as far as this process knows
}

// known notes an event of the host's stream. Call it inside oneAtATime, so that nobody else sets the state.
func (o *owner) known(m messages.HostEvent) { o.set(membership.Evolve(o.value, m)) }

// hostEvent is an event of the host's stream; each has a time.
type hostEvent = quarantine.Event

// takeOver appends HostStarted with the next epoch. It refuses the record of another chain, and
// asks a store that does not answer until ctx ends. ErrTakenOver: another process began at the
// same moment and was faster.
func (e *env) takeOver(ctx context.Context) error {
	for {
		started, err := e.nextStart(ctx)
		if err != nil {
			return err
		}
		at := e.owner.count // Reading on moves it, and the epoch is the next one only here.
		err = e.oneAtATime(ctx, func() error {
			err := e.ask(ctx, func() error { return e.appendHostAt(ctx, at, started) })
			if errors.Is(err, events.ErrWrongRevision) {
				return errors.Join(e.ask(ctx, func() error { return e.readOn(ctx) }), err)
			}
			return err
		})
		switch {
		case err == nil:
			e.owner.started = true
			return nil
		case errors.Is(err, shell.ErrTakenOver) || !errors.Is(err, events.ErrWrongRevision):
			return fmt.Errorf("write the host's record: %w", err)
		}
		// Another member began meanwhile, and has the epoch.
	}
}

// nextStart reads the host's stream, and returns the start that may follow.
func (e *env) nextStart(ctx context.Context) (*messages.HostStarted, error) {
	var last *messages.HostStarted
	var count uint64
	err := e.ask(ctx, func() (err error) {
		e.quarantined.Clear()
		e.owner.set(membership.State{})
		last, count, err = e.readHost(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the host's record: %w", err)
	}
	if err := e.sameMarket(last); err != nil {
		return nil, err
	}
	if err := e.sameChain(ctx); err != nil {
		return nil, err
	}
	now, _ := e.owner.state()
	starting := membership.Starting{Member: e.Member, Cluster: e.ClusterName, Node: e.Node, UsedDirectory: true}
	if err := membership.MayStart(now, starting, e.Clock.Now()); errors.Is(err, membership.ErrHasMembers) ||
		errors.Is(err, membership.ErrOtherCluster) && !e.TakeOver {
		return nil, err
	}
	e.Epoch, e.owner.count = now.Epoch+1, count
	hostLedger := membership.HoldsHostLedger(now, e.Member, e.UsedDirectory)
	if e.Ledger = e.Member; hostLedger {
		e.Ledger = ""
	}
	return &messages.HostStarted{
		At: events.TimeToMessage(e.Clock.Now()), Epoch: e.Epoch, ChainId: e.ChainID,
		Genesis: e.Genesis.String(), Contract: e.Contract.String(), Version: e.Version, Node: e.Node,
		Member: string(e.Member), HostLedger: hostLedger, Cluster: e.ClusterName,
	}, nil
}

// readHost reads the last start, and the number of events in the host's stream.
func (e *env) readHost(ctx context.Context) (last *messages.HostStarted, count uint64, err error) {
	member := map[uint64]events.Member{} // by epoch
	all := events.ReadStream{}
	err = readAs(ctx, e, events.HostStream(e.Me), all, func(r events.Recorded, m messages.HostEvent) bool {
		if m, ok := m.(*messages.HostStarted); ok {
			last = m
			member[m.GetEpoch()] = events.Member(m.GetMember())
		}
		// Another member's quarantines are its own.
		if of, ok := m.(interface{ GetEpoch() uint64 }); !ok || e.Member == "" || member[of.GetEpoch()] == "" ||
			member[of.GetEpoch()] == e.Member {
			e.quarantined.Fold(m)
		}
		e.owner.known(m)
		count = r.Revision + 1
		return false
	})
	return last, count, err
}

// readAs reads a stream, if there is one, whose events are of one kind, until take has enough.
func readAs[E proto.Message](
	ctx context.Context, e *env, stream string, from events.ReadStream, take func(events.Recorded, E) (done bool),
) error {
	for r, err := range e.Store.ReadStream(ctx, stream, from) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := shell.DecodeAs[E](e.Codec, r)
		if err != nil {
			return fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		if take(r, m) {
			return nil
		}
	}
	return nil
}

// writeHost writes the next event of this process, and repeats the append until it is known to
// be stored; other events wait. ErrTakenOver: another process wrote to the stream.
func (e *env) writeHost(ctx context.Context, m hostEvent) error {
	return e.oneAtATime(ctx, func() error {
		return e.ask(ctx, func() error { return e.appendHost(ctx, m) })
	})
}

// oneAtATime lets this process write one event at a time.
func (e *env) oneAtATime(ctx context.Context, write func() error) error {
	leave, err := e.owner.writing.Enter(ctx, time.Time{})
	if err != nil {
		return fmt.Errorf("write the host's record: %w", err)
	}
	defer leave()
	if e.owner.unsure {
		if err := e.ask(ctx, func() error { return e.readOn(ctx) }); err != nil {
			return err
		}
	}
	err = write()
	e.owner.unsure = err != nil
	return err
}

// appendHost tries once to write the next event of this process. Call it inside oneAtATime.
func (e *env) appendHost(ctx context.Context, m hostEvent) error {
	for {
		err := e.appendHostAt(ctx, e.owner.count, m)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, events.ErrWrongRevision):
			return fmt.Errorf("write the host's record: %w", err)
		}
		before := e.owner.count
		if err := e.readOn(ctx); err != nil {
			return err
		}
		if e.owner.count == before { // The stream is shorter than it was.
			return fmt.Errorf("write the host's record: %w", err)
		}
	}
}

// appendHostAt tries to write an event after so many. Call it inside oneAtATime.
func (e *env) appendHostAt(ctx context.Context, count uint64, m hostEvent) error {
	name, version, data, err := e.Codec.Encode(m)
	if err != nil {
		return err
	}
	meta := e.Metadata("")
	meta.Version = version
	stream := events.HostStream(e.Me)
	// The id differs between processes that claim the same epoch at the same revision: a store
	// takes an append with known ids for a repetition.
	id := fmt.Sprintf("epoch:%d@%d/%d/%s", e.Epoch, count, m.GetAt().AsTime().UnixNano(), e.Node)
	_, err = e.Store.Append(ctx, stream, events.ExpectNext(count), []events.NewEvent{{
		ID: events.NewEventID(stream, id, 0), Type: name, Data: data, Meta: meta,
	}})
	if err == nil {
		e.owner.count = count + 1
		e.owner.known(m)
	}
	return err
}

// readOn reads the events after those that this process knows, and counts its own whose answers
// were lost. ErrTakenOver: it was replaced. Call it inside oneAtATime.
func (e *env) readOn(ctx context.Context) error {
	var other *messages.HostStarted
	epoch := e.Epoch
	if !e.owner.started { // Another process may have it.
		epoch--
	}
	from := events.ReadStream{From: e.owner.count}
	err := readAs(ctx, e, events.HostStream(e.Me), from, func(r events.Recorded, m messages.HostEvent) bool {
		e.owner.known(m)
		now, _ := e.owner.state()
		s, ok := m.(*messages.HostStarted)
		if ok && s.GetEpoch() > epoch && membership.Replaced(now, epoch, e.Member) {
			other = s
		}
		if other == nil {
			e.owner.count = r.Revision + 1
		}
		return false
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the host's record: %w", err)
	case other == nil:
		return nil
	}
	now, _ := e.owner.state()
	p, _ := now.Process(events.Member(other.GetMember()))
	is, at := "was last heard", p.Heard
	if !p.Stopped.IsZero() {
		is, at = "stopped", p.Stopped
	}
	return fmt.Errorf("%w: start %d of account %s began at %s on %q and %s at %s; this process is start %d on %q",
		shell.ErrTakenOver, p.Epoch, e.Me, p.Since.UTC().Format(time.RFC3339), p.Node,
		is, at.UTC().Format(time.RFC3339), e.Epoch, e.Node)
}

// beat records now and then that this process is alive, until ctx ends. So others know, and
// this process learns when another one has begun.
func (e *env) beat(ctx context.Context) {
	for e.Heartbeat > 0 && shell.Sleep(ctx, e.Clock, e.Heartbeat) == nil {
		e.Yield(ctx, "heartbeat")
		m := &messages.HostHeartbeat{At: events.TimeToMessage(e.Clock.Now()), Epoch: e.Epoch}
		err := e.RT.Guarded("heartbeat", func() error { return e.writeHost(ctx, m) })
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, shell.ErrTakenOver):
			e.owner.lost(err)
			return
		default:
			e.Log.Errorf("the heartbeat could not be recorded: %v", err)
		}
	}
}

// suspect checks whether another process runs the host, because somebody else wrote to one of
// its streams.
func (e *env) suspect() {
	o := &e.owner
	o.lookMu.Lock()
	defer o.lookMu.Unlock()
	if o.looking || o.lost == nil {
		return
	}
	o.looking = true
	e.RT.Do("owner", func(ctx context.Context) {
		e.Yield(ctx, "owner")
		err := e.RT.Guarded("owner", func() error { return e.look(ctx) })
		o.lookMu.Lock()
		o.looking = false
		o.lookMu.Unlock()
		if errors.Is(err, shell.ErrTakenOver) {
			o.lost(err)
		}
	})
}

// look reads on, whenever this process does not write.
func (e *env) look(ctx context.Context) error {
	return e.ask(ctx, func() error {
		_, err := shell.In(ctx, e.owner.writing, time.Time{}, func() (struct{}, error) {
			return struct{}{}, e.readOn(ctx)
		})
		return err
	})
}

// ask repeats a call on the store until it is answered. If ctx ends first, the error also says
// why the last try failed.
func (e *env) ask(ctx context.Context, question func() error) error {
	call := e.StoreWatch.Call(ctx, events.HostStream(e.Me))
	defer call.End()
	var last error
	err := call.Repeat(func() error {
		last = question()
		return last
	})
	if ctx.Err() != nil {
		return errors.Join(last, ctx.Err())
	}
	return err
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

// hasTerm reads on in the host's stream, and returns ErrDeposed, or ErrTakenOver, if this process does not have the
// term. An exact revision says that a stream was read to its end, not that the reader is still its owner: so whoever
// has read a stream of the owner asks this before writing to it.
func (e *env) hasTerm(ctx context.Context) error {
	if err := e.look(ctx); err != nil {
		return err
	}
	now, _ := e.owner.state()
	if term, lasts := membership.Owner(now); !lasts || term.Epoch != e.Epoch {
		return fmt.Errorf("%w: %s", shell.ErrDeposed, term.Member)
	}
	return nil
}

// endTerm tries once to record that the term of this process is over, if it has one. Another member
// may take the next one at the same moment; then this one's needs no end. Call it inside oneAtATime.
func (e *env) endTerm(ctx context.Context, at time.Time) error {
	for {
		now, _ := e.owner.state()
		term, lasts := membership.Owner(now)
		if !lasts || term.Epoch != e.Epoch {
			return nil
		}
		m := &messages.TermEnded{At: events.TimeToMessage(at), Epoch: e.Epoch, Term: term.Number}
		err := e.appendHostAt(ctx, e.owner.count, m)
		if err == nil {
			return nil
		}
		if !errors.Is(err, events.ErrWrongRevision) {
			return fmt.Errorf("write the host's record: %w", err)
		}
		if err := e.readOn(ctx); err != nil {
			return err
		}
	}
}

// ownerNow is the member that has the term; false: none has.
func (e *env) ownerNow() (events.Member, bool) {
	now, _ := e.owner.state()
	term, lasts := membership.Owner(now)
	return term.Member, lasts
}

// hostLedgerHolder is the member that has the host's ledger.
func (e *env) hostLedgerHolder() events.Member {
	now, _ := e.owner.state()
	for _, p := range now.Members() {
		if p.HostLedger {
			return p.Member
		}
	}
	return ""
}

// hostWrites are the events that wait to be written into the host's stream, in their order.
type hostWrites struct {
	mu      sync.Mutex
	waiting []hostWrite
	writing bool
}

type hostWrite struct {
	event  hostEvent
	stored func()
}

// recordHost writes an event into the host's stream in the background, after those before it,
// and calls stored when it is durable.
func (e *env) recordHost(m hostEvent, stored func()) {
	e.hostWrites.mu.Lock()
	defer e.hostWrites.mu.Unlock()
	e.hostWrites.waiting = append(e.hostWrites.waiting, hostWrite{m, stored})
	if !e.hostWrites.writing {
		e.hostWrites.writing = true
		e.RT.Do("host's stream", e.writeQueued)
	}
}

func (e *env) writeQueued(ctx context.Context) {
	for {
		e.Yield(ctx, "host's stream")
		e.hostWrites.mu.Lock()
		if len(e.hostWrites.waiting) == 0 {
			e.hostWrites.writing = false
			e.hostWrites.mu.Unlock()
			return
		}
		next := e.hostWrites.waiting[0]
		e.hostWrites.waiting = e.hostWrites.waiting[1:]
		e.hostWrites.mu.Unlock()
		err := e.RT.Guarded("host's stream", func() error { return e.writeHost(ctx, next.event) })
		switch {
		case ctx.Err() != nil: // writing stays set, so nothing is written any more.
			return
		case errors.Is(err, shell.ErrTakenOver):
			e.owner.lost(err)
			return
		case err != nil:
			e.Log.Errorf("an event of the host's stream could not be recorded: %v", err)
		default:
			next.stored()
		}
	}
}

// watched is a value that others wait for. Safe for concurrent use.
type watched[T any] struct {
	mu    sync.Mutex
	value T
	moved chan struct{} // closed with the next state; made when somebody asks
}

// state is the present state, and a channel that is closed when there is another.
func (m *watched[T]) state() (T, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moved == nil {
		m.moved = make(chan struct{})
	}
	return m.value, m.moved
}

func (m *watched[T]) set(value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value = value
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}
