package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// supervisor is the root of the tree. It spawns the rooms, and one sales agent per slot that is in
// work or hosted, passes on to them what the chain says, and restarts what fails.
type supervisor struct {
	*admission.Rules
	fatal func(error)

	root, queue    *shell.Part
	repo           port.Repo
	prover         port.Prover
	storeAwaySince time.Time // since when the process had waited for the event store before

	rooms    *rooms
	sales    *roster
	begin    *beginnings
	handout  *handout
	adoption *adoption
	orphans  *orphans
	panics   *panics
	market   *marketRecord
	record   *hostRecord
	loss     *recordLoss
	watch    *watch
	disk     *diskWatch
	scrub    *scrub
	// others are the other members of the host; nil: it is this process. terms has it take the term; nil: it never
	// does.
	others *otherMembers
	terms  *terms

	validating  *validating
	sectors     *shell.Part
	sectorFiles port.SectorStore // nil: this host has no sectors
	// pools and provers run its calls; sectorPools are those of the newest life of the sectors.
	pools, sectorPools []*shell.Pool
	provers            *proofs.Provers

	self       shell.Ref
	heads      []events.Head          // the newest at the start, for the scheduler
	since      time.Time              // chain time of the first block that the host looked at
	bootWaits  atomic.Pointer[string] // why the last attempt to start failed
	live       bool
	lastNews   time.Time          // by the machine's clock
	stopFollow context.CancelFunc // stops following the chain
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
	// isBooted asks whether the start is over; showStatus asks for a Status.
	isBooted   struct{}
	showStatus struct{ with whichSales }
)

// whichSales are in a Status.
type whichSales int

const (
	noSales whichSales = iota
	troubledSales
	allSales
)

func (s *supervisor) Receive(a *shell.Turn, msg any) {
	if s.rooms.family.Handle(a, msg) || s.sales.family.Handle(a, msg) {
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
		s.adoption.onOwned(a, m, s.rooms.owns)
	case unlistedSale:
		s.sales.onUnlisted(a, m)
	case lockSlot:
		s.sales.onLock(a, m)
	case unlockSlot:
		s.begin.onUnlock(a, m)
	case sales.Begin:
		s.begin.onBegin(a, m)
	case saleReady:
		s.begin.onReady(a, m)
	case sales.Changed:
		s.sales.onSale(m)
	case sales.GiveUp:
		s.handout.onGiveUp(a, m)
	case chainNews:
		s.onNews(a, m)
		s.validating.tell(m)
	case sales.RecordMoved:
		s.sales.tell(m)
	case examineFailed:
		s.begin.onExamineFailed(m)
	case tryAgain:
		s.onTryAgain(a, m)
	case scrubFound:
		s.sales.onScrubFound(m)
	case keepsData:
		a.Asker()(struct{}{}, s.sales.keepsData(m.slot))
	case diskBack:
		s.sales.tellDamaged(m.stored)
	case isBooted:
		a.Asker()(s.rooms.booted, nil)
	case showStatus:
		a.Asker()(s.status(m.with), nil)
	case queue.Unpaid:
		a.Asker()(s.sales.outstanding(), nil)
	case refillBegins:
		s.sales.onRefillBegins(a, m)
	case refillTried:
		s.sales.onRefillTried(m)
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
		awaySince := s.storeAwaySince
		eager := *s.Base
		eager.RetryMost = min(s.RetryMost, bootPause)
		err := eager.Retry(ctx, "boot",
			func(err error) {
				why := fmt.Sprintf("waiting for the chain or the event store: %v", err)
				s.bootWaits.Store(&why)
				away := errors.Is(err, events.ErrAway)
				if s.watch.recordAway.Store(away); away && awaySince.IsZero() {
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
	if s.loss.witness != nil { // A loss is told, and recorded, only if it is one at another look.
		if err = s.loss.witness.LookAgain(ctx); err != nil {
			return r, fmt.Errorf("look again for what the event store lacks: %w", err)
		}
	}
	r.heads = s.Lately(ctx, r.head)
	if r.owned, err = s.Market.MySlots(ctx); err != nil {
		return r, fmt.Errorf("read our slots on chain: %w", err)
	}
	r.stored, err = s.repo.Stored(ctx)
	if r.diskAway = errors.Is(err, events.ErrDiskAway); err != nil && !r.diskAway {
		return r, fmt.Errorf("list the stored slots: %w", err)
	}
	if r.living, err = readLivingSales(ctx, s.Base); err != nil {
		return r, err
	}
	if s.others != nil {
		if r.others, err = s.others.load(ctx, r.living); err != nil {
			return r, err
		}
	}
	return r, r.living.whole()
}

func (s *supervisor) onBoot(a *shell.Turn, m bootReport) {
	if have, want := s.prover.KeyHash(), m.market.Proofs.KeyHash; have != want {
		s.fatal(fmt.Errorf("%w: the contract wants %s, the prover has %s", ErrWrongKeys, want, have))
		return
	}
	s.Terms = m.market
	if !m.awaySince.IsZero() {
		s.Waited = m.head.Time.Add(-s.Clock.Now().Sub(m.awaySince))
	}
	s.watch.recordAway.Store(false)
	s.View.Advance(m.head)
	s.View.Keep(m.heads, s.View.Rewound())
	s.lastNews = s.Clock.Now()
	s.MinEvents, m.living.lengths = m.living.lengths, nil
	s.heads = m.heads
	s.loss.alert()
	s.rooms.owns = s.others == nil
	s.rooms.run(a)
	for _, l := range m.living.inOrder() {
		if s.Mine(l.member) {
			s.sales.resume(a, l)
		}
	}
	if !m.diskAway { // Otherwise it is not known what is missing.
		s.sales.tellDamaged(m.stored)
	}
	s.sales.endOldQuarantines()
	for _, o := range m.others {
		s.sales.onRemoteSale(o.Changed)
	}
	s.adoption.adopt(a, m.owned, s.rooms.owns)
	s.orphans.releaseAll(m)
	s.rooms.booted = true
	s.followRecord(a, m.living)
	s.rooms.run(a) // The validator comes last: it is told which slots are ours.
	s.disk.unread = m.diskAway
	a.RT.Do("room", s.disk.run)
	if s.scrub.every > 0 {
		a.RT.Do("scrub", s.scrub.run)
	}
	if s.rooms.owns {
		s.followMarket(a)
	} else {
		s.startMember(a)
	}
}

// followRecord follows the log, for the next start and for what the other members write.
func (s *supervisor) followRecord(a *shell.Turn, from *livingSales) {
	if !s.Saves() && s.others == nil {
		return
	}
	w := &livingSalesSaver{hostRecord: s.record, living: from}
	if s.others != nil {
		s.others.followed.set(from.read)
		w.others, w.followed = s.others.take, s.others.followed
	}
	if s.Saves() {
		s.Savers["living sales"] = w
	}
	a.RT.Do("living sales", w.run)
}

// followMarket starts the chain follower, which goes on from where the record ends.
func (s *supervisor) followMarket(a *shell.Turn) {
	s.following(a, "chain follower", (&chainFollower{marketRecord: s.market}).run)
}

// followHeads follows the blocks without their logs, which the owner records.
func (s *supervisor) followHeads(a *shell.Turn) { s.following(a, "heads", s.market.followHeads) }

// following runs a task that follows the chain until the term changes.
func (s *supervisor) following(a *shell.Turn, name string, task func(context.Context)) {
	until, stop := context.WithCancel(context.Background())
	s.stopFollow = stop
	a.RT.Do(name, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(until, cancel)()
		task(ctx)
	})
}

// onNews takes what the chain says. Proofs that are due do not wait for the record, so a block
// arrives before its logs are recorded.
func (s *supervisor) onNews(a *shell.Turn, m chainNews) {
	switch {
	case m.recorded != nil:
		for _, n := range m.recorded {
			s.queue.Tell(n)
			if s.others == nil { // Members read what concerns their sales in the record.
				s.sales.tellConcerned(n.Event)
			}
		}
		return
	case m.reorganized != nil:
		s.lastNews = s.Clock.Now()
		s.Log.WithField("ancestor", m.reorganized.GetAncestor()).Warnf(
			"the chain was reorganised: %d blocks are gone", len(m.reorganized.GetDropped()))
		s.View.Rewind(m.head)
		s.sales.tell(sales.Look{})
		s.sales.askOwned = true
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
		if m.live {
			s.adoption.ask(a, m.head)
		}
		s.rooms.tellHead(m.head, m.live)
	}
}

// stalled reports that no block came for too long.
func (s *supervisor) stalled() bool {
	return s.rooms.booted && s.Clock.Now().Sub(s.lastNews) > s.StalledAfter()
}

// unready says why this process cannot begin a sale now; empty: it can. Only who is asked whether it would sell a slot,
// and not yet to begin, is refused for what may pass.
func (s *supervisor) unready(m sellHere) string {
	switch {
	case !s.rooms.booted:
		return "it is starting"
	case m.try && s.StoreWatch.Away(): // It could not begin.
		return "the event store does not answer it"
	case m.try && s.stalled(): // It could neither fill the slot nor prove it.
		return fmt.Sprintf("its chain end point has told of no new block for %s",
			s.Clock.Now().Sub(s.lastNews).Round(time.Second))
	}
	return ""
}
