package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// supervisor is the root of the tree. It spawns the ledger, the queue, the scheduler and one
// sales agent per slot that is in work or hosted, passes on to them what the chain says, and
// restarts what fails.
type supervisor struct {
	*env
	fatal func(error)

	self  shell.Ref
	rooms rooms
	heads []events.Head // the newest at the start, for the scheduler
	// sectorPools are those of the newest life of the sectors.
	sectorPools []*shell.Pool
	booted      bool
	bootWaits   atomic.Pointer[string] // why the last attempt to start failed
	family      shell.Family[*agent]
	agents      map[events.SlotID]*agent
	beginning   map[events.SlotID]*candidate
	handedOut   uint64
	// panicked counts the panics of each piece of work.
	panicked map[shell.Subject]int
	since    time.Time // chain time of the first block that the host looked at
	live     bool
	owned    ownedAgain
	term     term
	lastNews time.Time // by the machine's clock
}

// Messages to the supervisor.
type (
	// bootReport is what the record and the chain said at the start.
	bootReport struct {
		market events.MarketConfig
		head   events.Head
		heads  []events.Head // the newest blocks up to head; empty if they cannot be read
		living *livingSales
		others []remoteSale // the living sales of other members
		owned  []events.OwnedSlot
		stored []events.StoredSlot
		// diskAway: the disk with the slots is not there, so stored is not known.
		diskAway bool
		// awaySince is since when the start waited for the event store; zero: it did not.
		awaySince time.Time
	}
	// saleReady is the chain's answer about a slot whose sale may begin.
	saleReady struct {
		slot    events.SlotID
		start   sale.Start
		balance events.Balance
		paid    []events.Head // supervisor.paid, from before the balance was read
		refused *admission.Refusal
	}
	// isBooted asks whether the start is over; showStatus asks for a Status.
	isBooted   struct{}
	showStatus struct{}
)

func (s *supervisor) Receive(a *shell.Turn, msg any) {
	if s.rooms.family.Handle(a, msg) || s.family.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		s.self = a.Self
		s.root.Began(a.Self)
		s.boot(a)
	case bootReport:
		s.onBoot(a, m)
	case ownedSlots:
		s.onOwned(a, m)
	case unlistedSale:
		s.onUnlisted(a, m)
	case lockSlot:
		s.onLock(a, m)
	case unlockSlot:
		s.onUnlock(a, m)
	case sales.Begin:
		s.onBegin(a, m)
	case saleReady:
		s.onReady(a, m)
	case sales.Changed:
		s.onSale(m)
	case sales.GiveUp:
		s.onGiveUp(a, m)
	case chainNews:
		s.onNews(a, m)
		s.tellValidator(m)
	case sales.RecordMoved:
		s.tellSales(m)
	case examineFailed:
		s.onExamineFailed(m)
	case tryAgain:
		s.onTryAgain(a, m)
	case quarantineOver:
		s.onQuarantineOver(m)
	case scrubFound:
		s.onScrubFound(m)
	case diskBack:
		s.tellDamaged(m.stored)
	case isBooted:
		a.Asker()(s.booted, nil)
	case showStatus:
		a.Asker()(s.status(), nil)
	case queue.Unpaid:
		a.Asker()(s.outstanding(), nil)
	case refillBegins:
		s.onRefillBegins(a, m)
	case refillTried:
		s.onRefillTried(m)
	default:
		s.onMembers(a, msg)
	}
}

// bootPause is the longest pause between two tries to start. It is short because no sale goes on meanwhile, and no
// event tells that the chain is back before the chain is followed.
const bootPause = 2 * time.Second

// boot reads what the record and the chain say, and waits for both as long as it takes.
func (s *supervisor) boot(a *shell.Turn) {
	a.Do(func(ctx context.Context) {
		var report bootReport
		awaySince := s.StoreAwaySince
		eager := *s.Base
		eager.RetryMost = min(s.RetryMost, bootPause)
		err := eager.Retry(ctx, "boot",
			func(err error) {
				why := fmt.Sprintf("waiting for the chain or the event store: %v", err)
				s.bootWaits.Store(&why)
				away := errors.Is(err, events.ErrAway)
				if s.recordAway.Store(away); away && awaySince.IsZero() {
					awaySince = s.Clock.Now()
				}
				s.Log.Warn("starting: " + why)
			},
			func(err error) bool {
				return errors.Is(err, events.ErrDamaged) || errors.Is(err, events.ErrNewerEvent) ||
					errors.Is(err, events.ErrUnknownEvent) || errors.Is(err, events.ErrMalformed)
			},
			func(ctx context.Context) (err error) {
				report, err = s.look(ctx)
				return err
			})
		if report.awaySince = awaySince; awaySince.IsZero() {
			report.awaySince = s.StoreWatch.FirstAway()
		}
		switch {
		case err == nil:
			s.root.Tell(report)
		case ctx.Err() == nil:
			s.fatal(fmt.Errorf("start: %w", err))
		}
	})
}

func (s *supervisor) look(ctx context.Context) (r bootReport, err error) {
	if r.market, err = s.Market.Config(ctx); err != nil {
		return r, fmt.Errorf("read the contract's configuration: %w", err)
	}
	if r.head, err = s.Market.Head(ctx); err != nil {
		return r, fmt.Errorf("read the newest block: %w", err)
	}
	// The first block cannot be compared with an earlier one, and all later ones are compared
	// with it.
	if again, err := s.Market.HeadAt(ctx, r.head.Number); err != nil {
		return r, fmt.Errorf("read the newest block again: %w", err)
	} else if again.Hash != r.head.Hash {
		return r, fmt.Errorf("read the newest block again: %w", chainview.ErrOvertaken)
	}
	if s.Witness != nil { // A loss is told, and recorded, only if it is one at another look.
		if err = s.Witness.LookAgain(ctx); err != nil {
			return r, fmt.Errorf("look again for what the event store lacks: %w", err)
		}
	}
	r.heads = s.Lately(ctx, r.head)
	if r.owned, err = s.Market.MySlots(ctx); err != nil {
		return r, fmt.Errorf("read our slots on chain: %w", err)
	}
	r.stored, err = s.Repo.Stored(ctx)
	if r.diskAway = errors.Is(err, events.ErrDiskAway); err != nil && !r.diskAway {
		return r, fmt.Errorf("list the stored slots: %w", err)
	}
	if r.living, err = readLivingSales(ctx, s.Base); err != nil {
		return r, err
	}
	if s.Cluster != nil {
		if r.others, err = s.loadOthers(ctx, r.living); err != nil {
			return r, err
		}
	}
	return r, r.living.whole()
}

func (s *supervisor) onBoot(a *shell.Turn, m bootReport) {
	if have, want := s.Prover.KeyHash(), m.market.Proofs.KeyHash; have != want {
		s.fatal(fmt.Errorf("%w: the contract wants %s, the prover has %s", ErrWrongKeys, want, have))
		return
	}
	s.Terms = m.market
	if !m.awaySince.IsZero() {
		s.Waited = m.head.Time.Add(-s.Clock.Now().Sub(m.awaySince))
	}
	s.recordAway.Store(false)
	s.View.Advance(m.head)
	s.View.Keep(m.heads, s.View.Rewound())
	s.lastNews = s.Clock.Now()
	s.Shown, m.living.lengths = m.living.lengths, nil
	s.heads = m.heads
	s.alertRecordLoss()
	s.term.owns = s.Cluster == nil
	s.runRooms(a)
	for _, l := range m.living.inOrder() {
		if !s.Mine(l.member) {
			continue
		}
		s.agents[l.slot] = newAgent(l.slot, l.request, l.index)
		s.stayQuarantined(l.slot)
		s.family.Run(a, &s.agents[l.slot].Child)
	}
	if !m.diskAway { // Otherwise it is not known what is missing.
		s.tellDamaged(m.stored)
	}
	s.endOldQuarantines()
	for _, o := range m.others {
		s.onRemoteSale(o.Changed)
	}
	s.adopt(a, m.owned)
	s.releaseOrphans(m)
	s.booted = true
	s.saveLivingSales(a, m.living)
	s.runRooms(a) // The validator comes last: it is told which slots are ours.
	a.RT.Do("room", s.watchRoom(m.diskAway, func(m queue.Wake) { s.queue.Tell(m) }))
	if s.ScrubEvery > 0 {
		a.RT.Do("scrub", s.scrub)
	}
	if s.term.owns {
		s.follow(a)
	} else {
		s.startMember(a)
	}
}

// setQuota tells the ledger the quota. A quota below what availabilities and sales already use
// does not stop the host, because hosted slots must be proven. The ledger then goes as low as
// it can, takes nothing new, and lowers itself further as space is freed.
func (s *supervisor) setQuota() {
	if s.Quota == 0 {
		return
	}
	asked := shell.Ask[capacity.Book](s.ledger, ledger.Command{
		Cmd: capacity.SetQuota{At: s.Clock.Now(), Bytes: s.Quota, Near: true}, Cause: "start",
	})
	s.RT.Do("quota", func(ctx context.Context) {
		s.Yield(ctx, "quota")
		book, err := asked.Wait(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, shell.ErrReloading), errors.Is(err, shell.ErrPartDown):
		case err != nil:
			s.Raise(health.AlertQuota, events.SlotID{}, 0,
				fmt.Sprintf("the ledger did not take the quota of %d bytes: %v", s.Quota, err),
				"the previous quota stays in force; find the cause in the log and restart the host")
		default:
			if book.Sectors > 0 && s.Ports.Sectors == nil {
				s.Log.Errorf("sectors hold %d bytes and are not proven, because this host has no sealer: "+
					"their deposits shrink; set sectors.sealer to what it was", book.Sectors)
			}
			if book.Pieces > 0 && s.Ports.Sectors == nil {
				s.Log.Warnf("the data of pieces holds %d bytes, which can be removed only with a sealer: "+
					"set sectors.sealer to what it was", book.Pieces)
			}
			s.RaiseCause("quota-too-small", events.SlotID{},
				health.Facts{Supply: health.Supply{Quota: s.Quota, Allocated: book.Allocated()}})
		}
	})
}

// onNews takes what the chain says. Proofs that are due do not wait for the record, so a block
// arrives before its logs are recorded.
func (s *supervisor) onNews(a *shell.Turn, m chainNews) {
	switch {
	case m.recorded != nil:
		for _, n := range m.recorded {
			s.queue.Tell(n)
			if s.Cluster == nil { // Members read what concerns their sales in the record.
				s.tellConcerned(n.Event)
			}
		}
		return
	case m.reorganized != nil:
		s.lastNews = s.Clock.Now()
		s.Log.WithField("ancestor", m.reorganized.GetAncestor()).Warnf(
			"the chain was reorganised: %d blocks are gone", len(m.reorganized.GetDropped()))
		s.View.Rewind(m.head)
		s.tellSales(sales.Look{})
		s.owned.due = true
		return
	}
	if s.stalled() {
		s.Bell.Ring()
	}
	s.lastNews, s.live = s.Clock.Now(), m.live
	if s.View.Advance(m.head) {
		if s.since.IsZero() {
			s.since = m.head.Time
		}
		s.askOwned(a, m.head)
		s.tellHead(m.head)
	}
}

// stalled reports that no block came for too long.
func (s *supervisor) stalled() bool {
	return s.booted && s.Clock.Now().Sub(s.lastNews) > s.StalledAfter()
}

// tellConcerned makes the sales that an event is about look at the chain.
func (s *supervisor) tellConcerned(e messages.MarketEvent) {
	switch e := e.(type) {
	case *messages.ChainSlotFilled:
		s.wakeSlot(e.GetRequestId(), e.GetSlotIndex())
	case *messages.ChainSlotFreed:
		s.wakeSlot(e.GetRequestId(), e.GetSlotIndex())
	case *messages.ChainRequestFulfilled, *messages.ChainRequestFailed, *messages.ChainRequestCancelled:
		s.wakeRequest(ledger.RequestOf(e))
	case *messages.ChainStorageRequested, *messages.ChainSlotReservationsFull,
		*messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
	}
}

func (s *supervisor) wakeSlot(request string, index uint64) {
	slot := events.SlotIDOf(events.Must(events.ParseRequestID(request)), index)
	if ag := s.agents[slot]; ag != nil {
		ag.Ref().Tell(sales.Look{})
	}
}

func (s *supervisor) wakeRequest(request string) {
	for _, slot := range s.slots() {
		if ag := s.agents[slot]; ag.request.String() == request {
			ag.Ref().Tell(sales.Look{})
		}
	}
}
