package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file takes the commands of an operator. On a host of several members a command may be given
// to any of them, and is passed on to the member that it concerns. Record takes them for a host that does not run.

// ErrUnknownMember: the host has no member of that name.
var ErrUnknownMember = errors.New("the host has no such member")

// Ledger submits a command to the ledger of this process and returns when its events are durable. While
// the event store is away it returns ErrStoreAway at once. If the store goes away while the
// command waits, it returns that error within OperatorPatience, and the command may still take
// effect. Repeating a command is harmless.
func (h *Host) Ledger(ctx context.Context, cmd capacity.Command) error {
	_, err := Order[capacity.Book](ctx, h, h.ledger, ledger.Command{Cmd: cmd, Cause: ledger.OperatorCause})
	return err
}

// LedgerOf is Ledger for the ledger of any member; empty: of this process. Other errors than those of Ledger:
// ErrUnknownMember, and events.ErrMemberAway, after which the command may have taken effect.
func (h *Host) LedgerOf(ctx context.Context, of events.Member, cmd capacity.Command) error {
	q, err := members.ToLedger(cmd)
	if err != nil {
		return err
	}
	_, err = byMember(ctx, h, of, q, func() (members.None, error) { return members.None{}, h.Ledger(ctx, cmd) })
	return err
}

// RoomOf is the room on a member's disk as it was measured last; empty: of this process.
// ErrUnknownMember, events.ErrMemberAway.
func (h *Host) RoomOf(ctx context.Context, of events.Member) (members.Room, error) {
	return byMember(ctx, h, of, members.LookForRoom{}, func() (members.Room, error) { return h.room(), nil })
}

func (h *Host) room() members.Room {
	d := h.Room()
	return members.Room{Known: d.Known, Free: d.Free, Keep: d.Keep}
}

// WorkOf is what a member has to do now; empty: this process. ErrUnknownMember, events.ErrMemberAway.
func (h *Host) WorkOf(ctx context.Context, of events.Member) (members.Work, error) {
	return byMember(ctx, h, of, members.LookAtWork{}, func() (members.Work, error) { return h.work(ctx) })
}

func (h *Host) work(ctx context.Context) (members.Work, error) {
	s, err := h.Standing(ctx)
	w := members.Work{
		Head: s.Head.Number, ProofsDue: s.ProofsDue, ProverBusy: s.Prover.Busy, ProverMost: s.Prover.Most,
		MayOwn: h.terms != nil && !h.base.StoreWatch.Away(),
	}
	return w, err
}

// Queue submits a command to the slot queue, as Ledger does to the ledger; another member that has
// the term is asked to. events.ErrNoOwner: nobody has it. After events.ErrMemberAway the command may
// have taken effect.
func (h *Host) Queue(ctx context.Context, cmd slotqueue.Command) error {
	if h.cluster == nil {
		return h.queueHere(ctx, cmd)
	}
	q, err := members.ToQueue(cmd)
	if err != nil {
		return err
	}
	owner, known := h.record.ownerNow()
	if !known {
		return events.ErrNoOwner
	}
	_, err = byMember(ctx, h, owner, q, func() (members.None, error) { return members.None{}, h.queueHere(ctx, cmd) })
	return err
}

func (h *Host) queueHere(ctx context.Context, cmd slotqueue.Command) error {
	_, err := Order[struct{}](ctx, h, h.queue, queue.Command{Cmd: cmd, Cause: ledger.OperatorCause})
	return err
}

// TryAgain ends the quarantine of a piece of work, on the member that left it alone, so that it is tried
// again; it returns when that is recorded. ErrNotQuarantined: no member that answers has such a
// quarantine.
func (h *Host) TryAgain(ctx context.Context, what shell.Subject) error {
	err := h.tryHere(ctx, what)
	if h.cluster == nil || !errors.Is(err, shell.ErrNotQuarantined) {
		return err
	}
	for _, m := range h.cluster.Seen() {
		if m == h.base.Member {
			continue
		}
		_, there := byMember(ctx, h, m, members.TryAgain{Work: what}, nil)
		if !errors.Is(there, shell.ErrNotQuarantined) {
			return there
		}
	}
	return err
}

func (h *Host) tryHere(ctx context.Context, what shell.Subject) error {
	if err := h.started(ctx); err != nil {
		return err
	}
	_, err := await(ctx, h, shell.AskActor[struct{}](h.supervisor, tryAgain{what}))
	return err
}

// byMember has a member do something: here, if it is this one.
func byMember[A any](
	ctx context.Context, h *Host, m events.Member, q members.Question[A], here func() (A, error),
) (none A, err error) {
	if m == "" || m == h.base.Member {
		return here()
	}
	now, _ := h.record.state()
	if _, joined := now.Process(m); !joined || h.cluster == nil {
		var names []string
		for _, p := range now.Members() {
			names = append(names, string(p.Member))
		}
		is := "it is one process"
		if len(names) > 0 {
			slices.Sort(names)
			is = "its members are " + strings.Join(names, ", ")
		}
		return none, fmt.Errorf("%w: %q; %s", ErrUnknownMember, m, is)
	}
	ctx, cancel := context.WithTimeout(ctx, shell.OperatorPatience)
	defer cancel()
	return members.Ask(ctx, h.cluster, m, q)
}

// serve answers the questions of the other members.
func (h *Host) serve() {
	to := members.Answers{}
	h.market.Answer(to)
	members.On(to, func(ctx context.Context, q members.Sell) (members.Sells, error) {
		start, err := startOf(q.Started)
		if err != nil {
			return members.Sells{}, err
		}
		start.Member = h.base.Member
		asked := sellHere{start: start, by: q.By, try: q.Try}
		return h.handout.sells(ctx, asked, func(m sellHere) (*members.Refusal, error) {
			return ask(ctx, h, shell.AskActor[*members.Refusal](h.supervisor, m))
		})
	})
	members.On(to, func(ctx context.Context, q members.LetGo) (none members.None, err error) {
		here := giveUpHere{sales.GiveUp{Work: q.Work, Reason: q.Reason}}
		_, err = ask(ctx, h, shell.AskActor[struct{}](h.supervisor, here))
		return none, err
	})
	h.answerCommands(to)
	h.cluster.Serve(to.Serve)
}

// answerCommands adds how this member answers the commands that others pass on.
func (h *Host) answerCommands(to members.Answers) {
	members.On(to, func(ctx context.Context, q members.ChangeLedger) (none members.None, err error) {
		cmd, err := q.Command()
		if err != nil {
			return none, err
		}
		return none, h.Ledger(ctx, cmd)
	})
	members.On(to, func(ctx context.Context, q members.ChangeQueue) (none members.None, err error) {
		cmd, err := q.Command()
		if err != nil {
			return none, err
		}
		if owner, known := h.record.ownerNow(); !known || owner != h.base.Member {
			return none, fmt.Errorf("it has not the term now: %w", events.ErrNoOwner)
		}
		return none, h.queueHere(ctx, cmd)
	})
	members.On(to, func(ctx context.Context, q members.ToRoom) (json.RawMessage, error) {
		i := slices.IndexFunc(h.rooms, func(r Room) bool { return r.Part.Name == q.Room && r.Takes != nil })
		if i < 0 {
			return nil, fmt.Errorf("%w: this member has no %s", events.ErrMalformed, q.Room)
		}
		answer, err := h.rooms[i].Takes(ctx, h, q.Order)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	})
	members.On(to, func(ctx context.Context, q members.TryAgain) (none members.None, err error) {
		return none, h.tryHere(ctx, q.Work)
	})
	members.On(to, func(context.Context, members.LookForRoom) (members.Room, error) { return h.room(), nil })
	members.On(to, func(ctx context.Context, _ members.LookAtWork) (members.Work, error) { return h.work(ctx) })
}

// ErrNoSectors: this host has no sealer.
var ErrNoSectors = errors.New("this host seals no sectors: set sectors.sealer")

// BeginSector begins a sector and returns its number when that is durable. What is wrong with the
// sector or its pieces is events.ErrMalformed or a *sector.Refused. ErrNoSectors; an event
// store that is away is as for Ledger. Repeating it begins another one.
func (h *Host) BeginSector(ctx context.Context, o sectors.Create) (uint64, error) {
	return askSectors[uint64](ctx, h, o)
}

// OrderSector gives an operator's order, and returns the state that the sector is in when what follows is
// durable. sectors.ErrNoSector: there is none, or it is over; *sector.Refused: its state does not
// allow that, and says what it does; quarantine.ErrQuarantined. ErrNoSectors; an event store that is
// away is as for Ledger. shell.ErrPartDown: it may have taken effect.
func (h *Host) OrderSector(ctx context.Context, o sectors.Order) (sector.State, error) {
	return askSectors[sector.State](ctx, h, o)
}

// SectorRules is what the contract of sectors was made with. ErrNoSectors.
func (h *Host) SectorRules(ctx context.Context) (events.SectorConfig, error) {
	if h.sectorPorts == nil {
		return events.SectorConfig{}, ErrNoSectors
	}
	return h.sectorPorts.Chain.Config(ctx)
}

// SectorOnChain is what the contract has of a sector at the newest block, and what it was made with. ErrNoSectors.
func (h *Host) SectorOnChain(ctx context.Context, number uint64) (events.SectorOnChain, events.SectorConfig, error) {
	rules, err := h.SectorRules(ctx)
	if err != nil {
		return events.SectorOnChain{}, rules, err
	}
	on, err := h.sectorPorts.Chain.Sector(ctx, number)
	return on, rules, err
}

// SectorsOnChain is what the contract has of sectors at the newest block, each of them. ErrNoSectors.
func (h *Host) SectorsOnChain(ctx context.Context, numbers []uint64) (
	all []events.SectorOnChain, rules events.SectorConfig, err error,
) {
	if rules, err = h.SectorRules(ctx); err == nil {
		all, err = h.sectorPorts.Chain.Sectors(ctx, numbers)
	}
	if err == nil && len(all) != len(numbers) {
		err = fmt.Errorf("the chain was asked for %d sectors and answered %d", len(numbers), len(all))
	}
	return all, rules, err
}

// Sectors are all sectors that are not over, by number, and how much of their step is done.
func (h *Host) Sectors(ctx context.Context) ([]sectors.Standing, error) {
	if h.sectorPorts == nil {
		return nil, ErrNoSectors
	}
	return view[[]sectors.Standing](ctx, h, h.sectors, sectors.List{})
}

// HeldPieces are the pieces for whose files the ledger holds bytes, by CID.
func (h *Host) HeldPieces(ctx context.Context) ([]capacity.Piece, error) {
	book, err := h.ViewLedger(ctx)
	return book.Pieces, err
}

func askSectors[T any](ctx context.Context, h *Host, msg any) (none T, err error) {
	if h.sectorPorts == nil {
		return none, ErrNoSectors
	}
	return Order[T](ctx, h, h.sectors, msg)
}

// Record is the record of a host that does not run, for a reader, or the holder of the lock of
// its data directory.
type Record struct{ base *shell.Base }

// NewRecord opens the record of a host in a store. ledger names the member's ledger that commands are
// for; empty: the host's own. Events get the epoch, which is that of the last start.
func NewRecord(store events.Store, host events.Address, ledger events.Member, epoch uint64, node string) Record {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard) // The next start reports a snapshot that cannot be used.
	return Record{&shell.Base{
		Log: logrus.NewEntry(quiet), Store: store, Codec: catalog.Codec(), Me: host, Ledger: ledger,
		Epoch: epoch, Node: node,
		Savers: map[string]shell.Saver{},
	}}
}

// Ledger submits an operator's command to the ledger, just as a running host does. When it
// returns nil, the resulting events are durable.
func (r Record) Ledger(ctx context.Context, cmd capacity.Command) error {
	return ledger.New(ledger.Deps{Base: r.base, Decide: capacity.Decide}).Once(ctx, cmd)
}

// Queue submits a command to the slot queue, as Ledger does to the ledger.
func (r Record) Queue(ctx context.Context, cmd slotqueue.Command) error {
	deps := queue.Deps{
		Rules: &admission.Rules{Chain: &chainview.Chain{Base: r.base}}, Decide: slotqueue.Decide,
	}
	return queue.New(deps).Once(ctx, cmd)
}

// Quarantined is the work that the host left alone.
func (r Record) Quarantined(ctx context.Context) ([]quarantine.Work, error) {
	h := &hostRecord{Base: r.base, quarantined: quarantine.New(r.base, nil)}
	_, _, err := h.read(ctx)
	return h.quarantined.All(), err
}
