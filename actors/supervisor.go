package actors

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/selling"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// maxFailures is how often a sale's actor may fail in a row before the sale is quarantined:
// further tries on the same record would fail as well.
const maxFailures = 5

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

// agent is a sale that is in work or hosted.
type agent struct {
	shell.Child[*agent]
	slot     events.SlotID
	far      events.Member // the other member that runs it; then there is no actor here
	request  events.RequestID
	index    uint64
	state    sale.State
	last     events.EventID // the last event of that
	ahead    sale.State     // with what is decided and not recorded yet
	trouble  sales.Trouble
	watchers []shell.Ref // workers
	// starting: the new attempt, start, is not recorded yet, so what the agent tells is still
	// about the attempt before.
	starting bool
	start    sale.Start
	by       events.EventID // that of the candidate
	refill   refill
}

// Messages to the supervisor.
type (
	// bootReport is what the record and the chain said at the start.
	bootReport struct {
		market events.MarketConfig
		head   events.Head
		heads  []events.Head // the newest blocks up to head; empty if they cannot be read
		living *livingSales
		others []farSale // the living sales of other members
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
	case overlookedSale:
		s.onOverlooked(a, m)
	case holdSlot:
		s.onHold(a, m)
	case releaseSlot:
		s.onRelease(a, m)
	case sales.Begin:
		s.onBegin(a, m)
	case saleReady:
		s.onReady(a, m)
	case sales.Changed:
		s.onSale(m)
	case sales.LetGo:
		s.onLetGo(a, m)
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
		a.Asker()(s.unpaid(), nil)
	case refillBegins:
		s.onRefillBegins(a, m)
	case refillTried:
		s.onRefillTried(m)
	default:
		s.onMembers(a, msg)
	}
}

// newAgent is what the supervisor keeps of a sale.
func newAgent(slot events.SlotID, request events.RequestID, index uint64) *agent {
	ag := &agent{slot: slot, request: request, index: index}
	ag.Child = shell.Child[*agent]{Of: ag, Name: "SalesAgent " + slot.Short()}
	return ag
}

// keepSales says how the agents of sales are supervised. A sale that is not recorded yet begins.
func (s *supervisor) keepSales() {
	s.family = shell.Family[*agent]{
		Base: s.Base, Most: maxFailures, Slow: s.quarantinePause, Ended: s.onAgentEnded,
		Start: func(a *shell.Turn, ag *agent, _ int, broken func(error)) shell.Behavior {
			return selling.New(s.selling, ag.slot, ag.request, ag.index, broken, a.Self)
		},
		Began: func(_ *shell.Turn, ag *agent) {
			if ag.starting {
				ag.Ref().Tell(sales.Command{Cmd: ag.start, Cause: "begin", By: ag.by})
			}
		},
	}
}

func (s *supervisor) onBegin(a *shell.Turn, m sales.Begin) {
	slot, worker := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex), s.RT.At(m.Worker)
	if ag := s.agents[slot]; ag != nil {
		if ag.Left != "" {
			worker.Tell(admission.Refusal{
				Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + ag.Left,
			})
			return
		}
		s.watch(slot, ag, worker)
		return
	}
	if q, ok := s.quarantined.Has(shell.Subject{Kind: shell.SubjectSlot, Key: slot.String()}); ok {
		worker.Tell(admission.Refusal{
			Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + q.Reason, Requeue: true,
		})
		return
	}
	s.candidate(a, slot, m.Work.RequestID, m.Work.SlotIndex, worker, m.By)
	s.beginning[slot].member = m.Work.Member
}

// watch lets a worker follow a sale.
func (s *supervisor) watch(slot events.SlotID, ag *agent, worker shell.Ref) {
	ag.watchers = append(ag.watchers, worker)
	worker.Tell(sales.Changed{
		Agent: ag.Ref().Address(), Slot: slot, State: ag.state, Last: ag.last,
		Trouble: ag.trouble,
	})
}

// candidate asks the chain about a slot before its sale begins. The zero worker means that the
// slot is to be adopted.
func (s *supervisor) candidate(
	a *shell.Turn, slot events.SlotID, request events.RequestID, index uint64, worker shell.Ref,
	by events.EventID,
) {
	if c := s.beginning[slot]; c != nil {
		c.request, c.index, c.by = request, index, by
		c.workers = append(c.workers, worker)
		return
	}
	c := &candidate{request: request, index: index, by: by, workers: []shell.Ref{worker}}
	s.beginning[slot] = c
	s.examineBeside(a, slot, c)
}

func (s *supervisor) onReady(a *shell.Turn, m saleReady) {
	c := s.beginning[m.slot]
	if c == nil {
		return
	}
	if s.agents[m.slot] == nil && m.refused == nil && !m.start.Adopted && s.paidSince(m.paid) {
		s.examineBeside(a, m.slot, c) // The balance may be that before the payment.
		return
	}
	delete(s.beginning, m.slot)
	if ag := s.agents[m.slot]; ag != nil { // Another member began meanwhile.
		for _, w := range c.workers {
			s.watch(m.slot, ag, w)
		}
		return
	}
	if m.refused == nil && !m.start.Adopted {
		m.refused = s.admit(m)
	}
	if m.refused != nil {
		for _, w := range c.workers {
			w.Tell(*m.refused)
			// A slot of ours is not given up for unsound terms: with them nobody could have
			// filled it.
			s.owned.due = s.owned.due || w.Nobody() && m.refused.Criterion == slotqueue.CriterionUnsound
		}
		return
	}
	s.tellTerms(m.start, m.balance)
	if s.Cluster != nil {
		c.start = m.start
		if c.handing = true; m.start.Adopted {
			s.placeAdopted(a, m.slot, c)
		} else {
			s.handOut(a, m, c)
		}
		return
	}
	s.begin(a, m.start, c.by, c.workers)
}

// begin begins a sale that this process runs.
func (s *supervisor) begin(a *shell.Turn, start sale.Start, by events.EventID, watchers []shell.Ref) {
	ag := newAgent(start.Slot, start.Request.ID, start.Index)
	ag.watchers, ag.starting, ag.start, ag.by = watchers, true, start, by
	s.agents[start.Slot] = ag
	s.Load.Set(start.Slot, s.ExpectedProofs(start.Request)) // The next slot is judged with this one included.
	s.family.Run(a, &ag.Child)
}

func (s *supervisor) onSale(m sales.Changed) {
	ag := s.agents[m.Slot]
	if ag != nil && ag.far != "" {
		return
	}
	if ag != nil && m.State.Phase != sale.Unknown && !m.State.Over() && !s.Mine(m.State.Member) {
		s.onFarSale(m)
		return
	}
	if ag == nil || m.State.Phase == sale.Unknown || ag.starting && m.State.Over() ||
		!s.isOf(ag, m) {
		return
	}
	ag.starting = false
	s.scheduler.Tell(m)
	s.validator.Tell(m)
	ag.state, ag.last, ag.ahead, ag.trouble = m.State, m.Last, m.Ahead, m.Trouble
	tellAll(ag.watchers, m)
	if m.State.Over() {
		s.family.Stop(&ag.Child)
		s.forget(m)
	}
}

func (s *supervisor) onLetGo(a *shell.Turn, m sales.LetGo) {
	if s.StoreWatch.Away() { // No sale makes progress during an outage; the worker goes on waiting.
		return
	}
	slot := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex)
	if ag := s.agents[slot]; ag != nil && ag.far != "" {
		s.letGoFar(a, ag, m)
	} else if ag != nil {
		ag.Ref().Tell(sales.Command{Cmd: sale.GiveUp{
			At: s.ChainTime(), Reason: m.Reason, LetGo: true, Reprocess: true,
			Criterion: slotqueue.CriterionNoProgress,
		}, Cause: "worker"})
	}
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

// slots returns the slots of all agents in a fixed order, so that a simulated run can be
// repeated.
func (s *supervisor) slots() []events.SlotID {
	return slices.SortedFunc(maps.Keys(s.agents), events.SlotID.Compare)
}

// tellSales tells all sales of this process something.
func (s *supervisor) tellSales(msg any) {
	for _, slot := range s.slots() {
		s.agents[slot].Ref().Tell(msg)
	}
}

func tellAll(refs []shell.Ref, msg any) {
	for _, r := range refs {
		r.Tell(msg)
	}
}
