package actors

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/selling"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file keeps the sales of a host: those that run here, those of other members, and those that are about to begin.
// A sale that cannot be run, because its actor fails again and again or its record cannot be read, is quarantined.
// Nothing is done for such a sale; it is tried again at a slow pace, because the cause may pass or be repaired. While
// its slot is ours on chain, each period that owes a proof raises an alert.

// maxFailures is how often a sale's actor may fail in a row before the sale is quarantined:
// further tries on the same record would fail as well.
const maxFailures = 5

// agent is a sale that is in work or hosted.
type agent struct {
	shell.Child[*agent]
	slot     events.SlotID
	remote   events.Member // the other member that runs it; then there is no actor here
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
	// refills counts what was tried to fill the slot again; refillShort: the last try sent nothing, for want of tokens.
	refills     uint64
	refillShort bool
	counted     counted
}

// newAgent is what the supervisor keeps of a sale.
func newAgent(slot events.SlotID, request events.RequestID, index uint64) *agent {
	ag := &agent{slot: slot, request: request, index: index}
	ag.Child = shell.Child[*agent]{Of: ag, Name: "SalesAgent " + slot.Short()}
	return ag
}

// changed tells what is known of the sale.
func (ag *agent) changed() sales.Changed {
	return sales.Changed{
		Agent: ag.Ref().Address(), Slot: ag.slot, State: ag.state, Last: ag.last, Ahead: ag.ahead, Trouble: ag.trouble,
	}
}

// quarantined tells why the sale is left alone.
func (ag *agent) quarantined() sales.Quarantined {
	return sales.Quarantined{Slot: ag.slot, Request: ag.request, Index: ag.index, Why: ag.Left}
}

// inWork reports whether the sale has yet to pay its collateral.
func (ag *agent) inWork() bool {
	if ag.starting {
		return !ag.start.Adopted
	}
	return ag.state.BeforeFill() && !ag.state.Adopted
}

// asked is the request of the sale.
func (ag *agent) asked() events.Request {
	if ag.starting {
		return ag.start.Request
	}
	return ag.state.Request
}

// collateral is what the slot of the sale costs.
func (ag *agent) collateral() events.Amount {
	collateral, _ := ag.asked().Ask.CollateralPerSlot()
	return collateral
}

// seller is the member that runs the sale, given the name of this one.
func (ag *agent) seller(here events.Member) events.Member {
	if ag.remote != "" {
		return ag.remote
	}
	return here
}

// candidate is a slot whose sale is about to begin.
type candidate struct {
	request events.RequestID
	index   uint64
	by      events.EventID // what took the slot; zero: it is adopted, or not known
	workers []shell.Ref
	// member is to whom the slot was handed out before; start is the sale's. handing: it is being
	// handed out now, and asked is the member that is asked first.
	member  events.Member
	start   sale.Start
	handing bool
	asked   events.Member
	locked  bool // it begins when the leftovers of an earlier sale are deleted
	// over is the sale's end, if that came before the answer of the member that sold the slot.
	over *sales.Changed
}

// outstanding is what the slot will cost once it is handed out; nothing if it is adopted, or not known yet.
func (c *candidate) outstanding() slotqueue.Unpaid {
	var collateral events.Amount
	if !c.start.Adopted {
		collateral, _ = c.start.Request.Ask.CollateralPerSlot()
	}
	return slotqueue.Unpaid{RequestID: c.request, SlotIndex: c.index, Collateral: collateral}
}

// roster are the sales of a host. It lives in the supervisor's turns.
type roster struct {
	*admission.Rules
	*health.Alerts
	quarantined          *quarantine.List
	scheduler, validator *shell.Part // they are told of each change
	finalBlocks          uint64
	family               shell.Family[*agent]
	agents               map[events.SlotID]*agent
	tally                tally
	beginning            map[events.SlotID]*candidate
	askOwned             bool // the chain is to be asked again which slots are ours
}

// keep says how the agents of sales are supervised. A sale that is not recorded yet begins.
func (s *roster) keep(deps *selling.Deps, slow func(n int) time.Duration) {
	s.family = shell.Family[*agent]{
		Base: s.Base, Most: maxFailures, Slow: slow, Ended: s.onAgentEnded,
		Start: func(a *shell.Turn, ag *agent, _ int, broken func(error)) shell.Behavior {
			return selling.New(deps, ag.slot, ag.request, ag.index, broken, a.Self)
		},
		Began: func(_ *shell.Turn, ag *agent) {
			if ag.starting {
				ag.Ref().Tell(sales.Command{Cmd: ag.start, Cause: "begin", By: ag.by})
			}
		},
	}
}

// begin begins a sale that this process runs.
func (s *roster) begin(a *shell.Turn, start sale.Start, by events.EventID, watchers []shell.Ref) {
	ag := newAgent(start.Slot, start.Request.ID, start.Index)
	ag.watchers, ag.starting, ag.start, ag.by = watchers, true, start, by
	s.put(ag)
	// The next slot is judged with this one included.
	s.Load.Set(start.Slot, s.ExpectedProofs(start.Request), start.EndsAt)
	s.family.Run(a, &ag.Child)
}

// watch lets a worker follow a sale.
func (s *roster) watch(ag *agent, workers ...shell.Ref) {
	ag.watchers = append(ag.watchers, workers...)
	tellAll(workers, ag.changed())
}

func (s *roster) onSale(m sales.Changed) {
	ag := s.agents[m.Slot]
	if ag != nil && ag.remote != "" {
		return
	}
	if ag != nil && m.State.Phase != sale.Unknown && !m.State.Over() && !s.Mine(m.State.Member) {
		s.onRemoteSale(m)
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
	s.put(ag)
	tellAll(ag.watchers, m)
	if m.State.Over() {
		s.family.Stop(&ag.Child)
		s.forget(m)
	}
}

// isOf reports whether a message is of the agent that runs a sale. One that was quarantined and reports is so no more.
func (s *roster) isOf(ag *agent, m sales.Changed) bool {
	if ag.Ref().Address() != m.Agent {
		return false
	}
	if s.family.Works(&ag.Child, len(m.Fresh) > 0) {
		s.Log.WithField("slot", m.Slot.String()).Warn("the sale that was quarantined is run again")
		s.quarantined.End(aboutSale(m.Slot), "it can be run again", func() {})
	}
	return true
}

// onRemoteSale takes the state of another member's sale.
func (s *roster) onRemoteSale(m sales.Changed) {
	ag := s.agents[m.Slot]
	if ag != nil && ag.remote == "" { // This member began one at the same time, and was not the first.
		if m.State.Over() || s.Mine(m.State.Member) {
			return
		}
		s.Log.WithField("slot", m.Slot.String()).Warnf(
			"member %s sells the slot; the attempt of this member ends", m.State.Member)
		s.family.Stop(&ag.Child)
		s.Load.Set(m.Slot, 0, time.Time{})
		watchers := ag.watchers
		ag = newAgent(m.Slot, ag.request, ag.index)
		ag.watchers = watchers
	}
	if ag == nil {
		ag = newAgent(m.Slot, m.State.Request.ID, m.State.Index)
	}
	ag.remote, ag.state, ag.ahead, ag.last, ag.starting = m.State.Member, m.State, m.State, m.Last, false
	s.put(ag)
	s.NoteRemoteLoad(m.Slot, m.State)
	tellAll(ag.watchers, m)
	if m.State.Over() {
		s.forget(m)
	}
}

// forget drops a sale that is over.
func (s *roster) forget(m sales.Changed) {
	s.drop(m.Slot)
	if c := s.beginning[m.Slot]; c != nil && c.handing && m.State.BeganAt.Equal(c.start.At) {
		c.over = &m
	}
}

// onAgentEnded quarantines a sale that is left alone, and raises an alert. The host and its other sales go on.
func (s *roster) onAgentEnded(ag *agent, f shell.Failure) bool {
	slot := ag.slot
	if f.Lefts == 0 {
		return true
	}
	s.Log.WithField("slot", slot.String()).Errorf("the sale is quarantined and nothing is done for its slot until "+
		"it is tried again in %s; look at it with `hostnode sale %s`: %v", f.Pause, slot, f.Err)
	if f.Lefts == 1 { // Not at each try; every proof that is owed raises an alert of its own.
		trouble := health.SlotTrouble{Slot: slot, Reason: f.Err.Error()}
		s.RaiseCause("sale-quarantined", slot, health.Facts{Quarantined: []health.SlotTrouble{trouble}})
	}
	ag.state.Slot = slot
	s.put(ag)
	s.quarantined.Begin(aboutSale(slot), f.Err.Error())
	tellAll(ag.watchers,
		admission.Refusal{Criterion: slotqueue.CriterionQuarantined, Reason: "quarantined: " + ag.Left})
	ag.watchers = nil
	s.scheduler.Tell(ag.quarantined())
	return true
}

// quarantineFirst is the pause before the first try; each further pause is twice as long, up to
// Config.QuarantineRetry.
const quarantineFirst = time.Minute

// quarantinePause is the pause before the nth try of what is left alone, at most so long.
func quarantinePause(most time.Duration) func(n int) time.Duration {
	return func(n int) time.Duration { return min(quarantineFirst<<min(n-1, 20), most) }
}

func aboutSale(slot events.SlotID) shell.Subject {
	return shell.Subject{Kind: shell.SubjectSale, Key: slot.String()}
}

// resume runs a sale that the record says is not over. One that was quarantined when the last process ended stays so
// until it is seen to work.
func (s *roster) resume(a *shell.Turn, l livingSale) {
	ag := newAgent(l.slot, l.request, l.index)
	if q, ok := s.quarantined.Has(aboutSale(l.slot)); ok {
		s.family.LeaveAlone(&ag.Child, q.Reason)
		ag.state.Slot = l.slot
		s.scheduler.Tell(ag.quarantined())
	}
	s.put(ag)
	s.family.Run(a, &ag.Child)
}

// endOldQuarantines ends the quarantines of sales that are over.
func (s *roster) endOldQuarantines() {
	for _, q := range s.quarantined.All() {
		slot, err := events.ParseSlotID(q.Subject.Key)
		ofSale := q.Subject.Kind == shell.SubjectSale || q.Subject.Kind == shell.SubjectDuties
		if ofSale && (err != nil || s.agents[slot] == nil) {
			s.quarantined.End(q.Subject, "the sale is over", func() {})
		}
	}
}

// tellScheduler tells a new life of the scheduler which sales there are.
func (s *roster) tellScheduler(scheduler shell.Ref) {
	for _, slot := range s.slots() {
		ag := s.agents[slot]
		switch {
		case ag.Left != "":
			scheduler.Tell(ag.quarantined())
		case ag.state.Phase != sale.Unknown:
			scheduler.Tell(ag.changed())
		}
	}
}

// forgetWorkers forgets the workers of a queue that failed: they are gone, and its next life
// begins others.
func (s *roster) forgetWorkers() {
	for _, ag := range s.agents {
		ag.watchers = nil
	}
	for _, c := range s.beginning {
		c.workers = slices.DeleteFunc(c.workers, func(w shell.Ref) bool { return !w.Nobody() })
	}
}

// tellConcerned makes the sales that an event is about look at the chain.
func (s *roster) tellConcerned(e messages.MarketEvent) {
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

func (s *roster) wakeSlot(request string, index uint64) {
	slot := events.SlotIDOf(events.Must(events.ParseRequestID(request)), index)
	if ag := s.agents[slot]; ag != nil {
		ag.Ref().Tell(sales.Look{})
	}
}

func (s *roster) wakeRequest(request string) {
	for _, slot := range s.slots() {
		if ag := s.agents[slot]; ag.request.String() == request {
			ag.Ref().Tell(sales.Look{})
		}
	}
}

// slots returns the slots of all agents in a fixed order, so that a simulated run can be
// repeated.
func (s *roster) slots() []events.SlotID {
	return slices.SortedFunc(maps.Keys(s.agents), events.SlotID.Compare)
}

// tell tells all sales of this process something.
func (s *roster) tell(msg any) {
	for _, slot := range s.slots() {
		s.agents[slot].Ref().Tell(msg)
	}
}

func tellAll(refs []shell.Ref, msg any) {
	for _, r := range refs {
		r.Tell(msg)
	}
}

// onTheirWay are the slots that are being handed out, or were by a former owner, and whose sales have not begun: what
// bounds the sales bounds them together with these.
func (s *roster) onTheirWay() iter.Seq2[events.SlotID, *candidate] {
	return func(yield func(events.SlotID, *candidate) bool) {
		for slot, c := range s.beginning {
			if s.agents[slot] == nil && (c.asked != "" || c.member != "") && !yield(slot, c) {
				return
			}
		}
	}
}

// outstanding is the collateral that sales in work have not paid yet. The queue counts slots on their way, when it
// hands one out.
func (s *roster) outstanding() (sum events.Amount) {
	for _, ag := range s.tally.inWork {
		sum = sum.AddSaturating(ag.collateral())
	}
	return sum
}

// outstandingSales are the sales in work, which have not paid yet, and those that are about to begin because a former
// owner handed their slots out: it may have released them after this one read the queue.
func (s *roster) outstandingSales() (list []slotqueue.Unpaid) {
	for _, slot := range s.slots() {
		if ag := s.agents[slot]; ag.inWork() {
			list = append(list, slotqueue.Unpaid{
				RequestID: ag.request, SlotIndex: ag.index, Collateral: ag.collateral(),
			})
		}
	}
	for _, c := range s.onTheirWay() {
		if c.handing && c.member != "" {
			list = append(list, c.outstanding())
		}
	}
	return list
}

// paid are the blocks in which sales paid their collateral, as far as is recorded, but for those that are final: only
// the newest of these, which a node that is behind may not know. On a chain without one of them the account still
// holds the tokens of a sale that is not counted as unpaid.
func (s *roster) paid() (blocks []events.Head) {
	final, newest := s.View.Now().Number, events.Head{}
	final -= min(final, s.finalBlocks)
	for _, slot := range s.slots() {
		ag := s.agents[slot]
		b := events.Head{Number: ag.state.FilledBlock, Hash: ag.state.FilledHash}
		if newest.Number < b.Number {
			newest = b
		}
		if b.Number > final && !slices.Contains(blocks, b) {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 && newest.Number > 0 {
		blocks = append(blocks, newest)
	}
	return blocks
}

// paidSince reports whether a slot was paid, by the record, that is not among these. It is not counted as unpaid, and
// the balance may be that before it was paid.
func (s *roster) paidSince(known []events.Head) bool {
	return slices.ContainsFunc(s.paid(), func(p events.Head) bool { return !slices.Contains(known, p) })
}

// promised is how much the sales that still fetch their data may write.
func (s *roster) promised() (sum events.Bytes) {
	for _, ag := range s.agents {
		if ag.remote == "" && (ag.starting || ag.state.Stored == 0 && !ag.state.Ended()) {
			size := ag.asked().Ask.SlotSize
			sum += size + s.Overhead(size)
		}
	}
	return sum
}

// needs is what the account must hold for the slots that are hosted or in work.
func (s *roster) needs() health.Funds {
	n := health.Funds{MinWei: s.MinWei, Days: s.WalletDays, Unpaid: s.outstanding()}
	n.Proofs = s.ProofsOfAll(n.Days)
	return n
}

// fits judges whether the disk of this machine has room for one more slot.
func (s *roster) fits(r events.Request) *admission.Refusal {
	size := r.Ask.SlotSize + s.Overhead(r.Ask.SlotSize)
	if why := s.Room.Fits(size, s.promised()); why != "" {
		return &admission.Refusal{Criterion: slotqueue.CriterionDisk, Reason: why, Requeue: true}
	}
	return nil
}

// admitHere judges what only the member knows that is to sell a slot: its disk and its prover.
func (s *roster) admitHere(r events.Request) *admission.Refusal {
	if no := s.fits(r); no != nil {
		return no
	}
	n := admission.Affordable{MaxSame: 1, MaxProofLoad: s.ProofLoad}
	n.ProofLoad, n.ProofDetail = s.BusyWith(r)
	return n.Judge()
}

// beforePayment refuses a slot until the balance is one from after all payments.
func (s *roster) beforePayment(why error) *admission.Refusal {
	return &admission.Refusal{
		Criterion: slotqueue.CriterionTokens, Requeue: true, RetryAt: s.ChainTime().Add(queue.FundsEvery),
		Reason: why.Error(),
	}
}
