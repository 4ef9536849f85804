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
// begins later, the older one's next event does. A process also looks whenever another one
// wrote to any of its streams. One that finds that it was replaced (events/membership) ends at
// once: two processes would spoil each other's record and take each other's nonces.

// hostRecord is what a process knows of its host's stream, and what it writes there. Safe for concurrent use.
type hostRecord struct {
	*shell.Base
	quarantined *quarantine.List // what the stream says is left alone

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
	// waiting are the events to write in the background, in their order, while a task is busy with that.
	waiting []waitingEvent
	busy    bool
	waitMu  sync.Mutex

	watched[membership.State] // what the stream says, as far as this process knows
}

func newHostRecord(b *shell.Base) *hostRecord {
	return &hostRecord{Base: b, writing: shell.NewPool("writes to the host's stream", 1)}
}

// known notes an event of the host's stream. Call it inside oneAtATime, so that nobody else sets the state.
func (h *hostRecord) known(m messages.HostEvent) { h.set(membership.Evolve(h.value, m)) }

// hostEvent is an event of the host's stream; each has a time.
type hostEvent = quarantine.Event

// takeOver appends HostStarted with the next epoch, together with what differs in the settings: so the record of a
// start is whole, or not there. It refuses the record of another chain, and asks a store that does not answer until ctx
// ends.
// ErrTakenOver: another process began at the same moment and was faster.
func (h *hostRecord) takeOver(ctx context.Context, cfg Config, m *marketRecord) error {
	for {
		started, err := h.nextStart(ctx, cfg, m)
		if err != nil {
			return err
		}
		batch := []hostEvent{started}
		now, _ := h.state()
		changed := membership.ChangeSettings(membership.Evolve(now, started), h.Epoch, cfg.Settings, h.Clock.Now())
		if changed != nil {
			batch = append(batch, changed)
		}
		at := h.count // Reading on moves it, and the epoch is the next one only here.
		err = h.oneAtATime(ctx, func() error {
			err := askStore(ctx, h.Base, func() error { return h.appendAt(ctx, at, batch...) })
			if errors.Is(err, events.ErrWrongRevision) {
				return errors.Join(askStore(ctx, h.Base, func() error { return h.readOn(ctx) }), err)
			}
			return err
		})
		switch {
		case err == nil:
			h.started = true
			return nil
		case errors.Is(err, shell.ErrTakenOver) || !errors.Is(err, events.ErrWrongRevision):
			return fmt.Errorf("write the host's record: %w", err)
		}
		// Another member began meanwhile, and has the epoch.
	}
}

// nextStart reads the host's stream, and returns the start that may follow.
func (h *hostRecord) nextStart(ctx context.Context, cfg Config, m *marketRecord) (*messages.HostStarted, error) {
	var last *messages.HostStarted
	var count uint64
	err := askStore(ctx, h.Base, func() (err error) {
		h.quarantined.Clear()
		h.set(membership.State{})
		last, count, err = h.read(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the host's record: %w", err)
	}
	if err := sameMarket(last, cfg); err != nil {
		return nil, err
	}
	if err := m.sameChain(ctx); err != nil {
		return nil, err
	}
	now, _ := h.state()
	starting := membership.Starting{Member: h.Member, Cluster: cfg.ClusterName, Node: h.Node, UsedDirectory: true}
	if err := membership.MayStart(now, starting, h.Clock.Now()); errors.Is(err, membership.ErrHasMembers) ||
		errors.Is(err, membership.ErrOtherCluster) && !cfg.TakeOver {
		return nil, err
	}
	h.Epoch, h.count = now.Epoch+1, count
	hostLedger := membership.HoldsHostLedger(now, h.Member, cfg.UsedDirectory)
	if h.Ledger = h.Member; hostLedger {
		h.Ledger = ""
	}
	return &messages.HostStarted{
		At: events.TimeToMessage(h.Clock.Now()), Epoch: h.Epoch, ChainId: cfg.ChainID,
		Genesis: cfg.Genesis.String(), Contract: cfg.Contract.String(), Version: cfg.Version, Node: h.Node,
		Member: string(h.Member), HostLedger: hostLedger, Cluster: cfg.ClusterName,
	}, nil
}

// read reads the last start, and the number of events in the host's stream.
func (h *hostRecord) read(ctx context.Context) (last *messages.HostStarted, count uint64, err error) {
	member := map[uint64]events.Member{} // by epoch
	all := events.ReadStream{}
	err = readAs(ctx, h.Base, events.HostStream(h.Me), all, func(r events.Recorded, m messages.HostEvent) bool {
		if m, ok := m.(*messages.HostStarted); ok {
			last = m
			member[m.GetEpoch()] = events.Member(m.GetMember())
		}
		// Another member's quarantines are its own.
		if of, ok := m.(interface{ GetEpoch() uint64 }); !ok || h.Member == "" || member[of.GetEpoch()] == "" ||
			member[of.GetEpoch()] == h.Member {
			h.quarantined.Fold(m)
		}
		h.known(m)
		count = r.Revision + 1
		return false
	})
	return last, count, err
}

// readAs reads a stream, if there is one, whose events are of one kind, until take has enough.
func readAs[E proto.Message](
	ctx context.Context, b *shell.Base, stream string, from events.ReadStream,
	take func(events.Recorded, E) (done bool),
) error {
	for r, err := range b.Store.ReadStream(ctx, stream, from) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := shell.DecodeAs[E](b.Codec, r)
		if err != nil {
			return fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		if take(r, m) {
			return nil
		}
	}
	return nil
}

// write writes the next event of this process, and repeats the append until it is known to
// be stored; other events wait. ErrTakenOver: another process wrote to the stream.
func (h *hostRecord) write(ctx context.Context, m hostEvent) error {
	return h.oneAtATime(ctx, func() error {
		return askStore(ctx, h.Base, func() error { return h.appendNext(ctx, func() hostEvent { return m }) })
	})
}

// oneAtATime lets this process write one event at a time.
func (h *hostRecord) oneAtATime(ctx context.Context, write func() error) error {
	leave, err := h.writing.Enter(ctx, time.Time{})
	if err != nil {
		return fmt.Errorf("write the host's record: %w", err)
	}
	defer leave()
	if h.unsure {
		if err := askStore(ctx, h.Base, func() error { return h.readOn(ctx) }); err != nil {
			return err
		}
	}
	err = write()
	h.unsure = err != nil
	return err
}

// appendNext tries once to write the next event of this process, as it follows from what is known then; nil: none does.
// When another process has written meanwhile, it is known what. Call it inside oneAtATime.
func (h *hostRecord) appendNext(ctx context.Context, next func() hostEvent) error {
	for {
		m := next()
		if m == nil {
			return nil
		}
		err := h.appendAt(ctx, h.count, m)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, events.ErrWrongRevision):
			return fmt.Errorf("write the host's record: %w", err)
		}
		before := h.count
		if err := h.readOn(ctx); err != nil {
			return err
		}
		if h.count == before { // The stream is shorter than it was.
			return fmt.Errorf("write the host's record: %w", err)
		}
	}
}

// appendAt tries to write events together, after so many. Call it inside oneAtATime.
func (h *hostRecord) appendAt(ctx context.Context, count uint64, all ...hostEvent) error {
	stream := events.HostStream(h.Me)
	var batch []events.NewEvent
	for i, m := range all {
		name, version, data, err := h.Codec.Encode(m)
		if err != nil {
			return err
		}
		meta := h.Metadata("")
		meta.Version = version
		// The id differs between processes that claim the same epoch at the same revision: a store
		// takes an append with known ids for a repetition.
		id := fmt.Sprintf("epoch:%d@%d/%d/%s", h.Epoch, count+uint64(i), m.GetAt().AsTime().UnixNano(), h.Node)
		batch = append(batch, events.NewEvent{
			ID: events.NewEventID(stream, id, 0), Type: name, Data: data, Meta: meta,
		})
	}
	if _, err := h.Store.Append(ctx, stream, events.ExpectNext(count), batch); err != nil {
		return err
	}
	h.count = count + uint64(len(all))
	for _, m := range all {
		h.known(m)
	}
	return nil
}

// readOn reads the events after those that this process knows, and counts its own whose answers
// were lost. ErrTakenOver: it was replaced. Call it inside oneAtATime.
func (h *hostRecord) readOn(ctx context.Context) error {
	var other *messages.HostStarted
	epoch := h.Epoch
	if !h.started { // Another process may have it.
		epoch--
	}
	from := events.ReadStream{From: h.count}
	err := readAs(ctx, h.Base, events.HostStream(h.Me), from, func(r events.Recorded, m messages.HostEvent) bool {
		h.known(m)
		now, _ := h.state()
		s, ok := m.(*messages.HostStarted)
		if ok && s.GetEpoch() > epoch && membership.Replaced(now, epoch, h.Member) {
			other = s
		}
		if other == nil {
			h.count = r.Revision + 1
		}
		return false
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the host's record: %w", err)
	case other == nil:
		return nil
	}
	now, _ := h.state()
	p, _ := now.Process(events.Member(other.GetMember()))
	is, at := "was last heard", p.Heard
	if !p.Stopped.IsZero() {
		is, at = "stopped", p.Stopped
	}
	return fmt.Errorf("%w: start %d of account %s began at %s on %q and %s at %s; this process is start %d on %q",
		shell.ErrTakenOver, p.Epoch, h.Me, p.Since.UTC().Format(time.RFC3339), p.Node,
		is, at.UTC().Format(time.RFC3339), h.Epoch, h.Node)
}

// beat records now and then that this process is alive, until ctx ends. So others know, and
// this process learns when another one has begun.
func (h *hostRecord) beat(ctx context.Context, every time.Duration) {
	for every > 0 && shell.Sleep(ctx, h.Clock, every) == nil {
		h.Yield(ctx, "heartbeat")
		m := &messages.HostHeartbeat{At: events.TimeToMessage(h.Clock.Now()), Epoch: h.Epoch}
		err := h.RT.Guarded("heartbeat", func() error { return h.write(ctx, m) })
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, shell.ErrTakenOver):
			h.lost(err)
			return
		default:
			h.Log.Errorf("the heartbeat could not be recorded: %v", err)
		}
	}
}

// suspect checks whether another process runs the host, because another one wrote to one of
// its streams.
func (h *hostRecord) suspect() {
	h.lookMu.Lock()
	defer h.lookMu.Unlock()
	if h.looking || h.lost == nil {
		return
	}
	h.looking = true
	h.RT.Do("owner", func(ctx context.Context) {
		h.Yield(ctx, "owner")
		err := h.RT.Guarded("owner", func() error { return h.look(ctx) })
		h.lookMu.Lock()
		h.looking = false
		h.lookMu.Unlock()
		if errors.Is(err, shell.ErrTakenOver) {
			h.lost(err)
		}
	})
}

// look reads on, whenever this process does not write.
func (h *hostRecord) look(ctx context.Context) error {
	return askStore(ctx, h.Base, func() error {
		_, err := shell.In(ctx, h.writing, time.Time{}, func() (struct{}, error) {
			return struct{}{}, h.readOn(ctx)
		})
		return err
	})
}

// askStore repeats a call on the store until it is answered. If ctx ends first, the error also says
// why the last try failed.
func askStore(ctx context.Context, b *shell.Base, question func() error) error {
	call := b.StoreWatch.Call(ctx, events.HostStream(b.Me))
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

func sameMarket(last *messages.HostStarted, cfg Config) error {
	if last == nil {
		return nil
	}
	if last.GetChainId() != cfg.ChainID || last.GetGenesis() != cfg.Genesis.String() ||
		last.GetContract() != cfg.Contract.String() {
		return fmt.Errorf("%w: it is of chain %d, genesis %s, contract %s; this is chain %d, genesis %s, contract %s",
			ErrOtherMarket, last.GetChainId(), last.GetGenesis(), last.GetContract(),
			cfg.ChainID, cfg.Genesis, cfg.Contract)
	}
	return nil
}

// hasTerm reads on in the host's stream, and returns ErrDeposed, or ErrTakenOver, if this process does not have the
// term. An exact revision says that a stream was read to its end, not that the reader is still its owner: so it is
// asked by all who have read a stream of the owner, before they write to it.
func (h *hostRecord) hasTerm(ctx context.Context) error {
	if err := h.look(ctx); err != nil {
		return err
	}
	now, _ := h.state()
	if term, lasts := membership.Owner(now); !lasts || term.Epoch != h.Epoch {
		return fmt.Errorf("%w: %s", shell.ErrDeposed, term.Member)
	}
	return nil
}

// endTerm tries once to record that the term of this process is over, if it has one. Another member
// may take the next one at the same moment; then this one's needs no end. Call it inside oneAtATime.
func (h *hostRecord) endTerm(ctx context.Context, at time.Time) error {
	return h.appendNext(ctx, func() hostEvent {
		now, _ := h.state()
		term, lasts := membership.Owner(now)
		if !lasts || term.Epoch != h.Epoch {
			return nil
		}
		return &messages.TermEnded{At: events.TimeToMessage(at), Epoch: h.Epoch, Term: term.Number}
	})
}

// stop tries once to record that this process has stopped.
func (h *hostRecord) stop(ctx context.Context) error {
	return h.oneAtATime(ctx, func() error {
		if err := h.endTerm(ctx, h.Clock.Now()); err != nil {
			return err
		}
		return h.appendNext(ctx, func() hostEvent {
			return &messages.HostStopped{At: events.TimeToMessage(h.Clock.Now()), Epoch: h.Epoch}
		})
	})
}

// ownerNow is the member that has the term; false: none has.
func (h *hostRecord) ownerNow() (events.Member, bool) {
	now, _ := h.state()
	term, lasts := membership.Owner(now)
	return term.Member, lasts
}

// hostLedgerHolder is the member that has the host's ledger.
func (h *hostRecord) hostLedgerHolder() events.Member {
	now, _ := h.state()
	for _, p := range now.Members() {
		if p.HostLedger {
			return p.Member
		}
	}
	return ""
}

// waitingEvent is an event that is written in the background.
type waitingEvent struct {
	event  hostEvent
	stored func()
}

// writeLater writes an event into the host's stream in the background, after those before it,
// and calls stored when it is durable.
func (h *hostRecord) writeLater(m hostEvent, stored func()) {
	h.waitMu.Lock()
	defer h.waitMu.Unlock()
	h.waiting = append(h.waiting, waitingEvent{m, stored})
	if !h.busy {
		h.busy = true
		h.RT.Do("host's stream", h.writeQueued)
	}
}

func (h *hostRecord) writeQueued(ctx context.Context) {
	for {
		h.Yield(ctx, "host's stream")
		h.waitMu.Lock()
		if len(h.waiting) == 0 {
			h.busy = false
			h.waitMu.Unlock()
			return
		}
		next := h.waiting[0]
		h.waiting = h.waiting[1:]
		h.waitMu.Unlock()
		err := h.RT.Guarded("host's stream", func() error { return h.write(ctx, next.event) })
		switch {
		case ctx.Err() != nil: // busy stays set, so nothing is written any more.
			return
		case errors.Is(err, shell.ErrTakenOver):
			h.lost(err)
			return
		case err != nil:
			h.Log.Errorf("an event of the host's stream could not be recorded: %v", err)
		default:
			next.stored()
		}
	}
}

// watched is a value that others wait for. Safe for concurrent use.
type watched[T any] struct {
	mu    sync.Mutex
	value T
	moved chan struct{} // closed with the next state; made when it is asked for
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
