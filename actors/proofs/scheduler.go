// Package proofs decides which proofs are owed, by the rules of events/duty, and in which order
// they are made. With each block the Scheduler tells the sales of all hosted slots what they
// owe, what they no longer owe, and what became of periods that passed while nobody looked.
// Provers bounds how many proofs are made at once.
//
// Not for: making and submitting proofs. A sale does that, and records it.
package proofs

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// lookEvery is how often, in chain time, a hosted sale is compared with the chain without
// another reason, so that no slashing stays unnoticed.
const lookEvery = 24 * time.Hour

// Scheduler tells every hosted sale what it owes, in one pass over all slots per block and
// without asking the chain. It finds out which periods owed a proof while nobody looked
// (silent.go), tells Provers the chain's time, and wakes sales whose state changes by time
// alone.
type Scheduler struct {
	Deps
	sales map[events.SlotID]*scheduled
	// unproven are slots whose sales are quarantined.
	unproven map[events.SlotID]*unproven
	// failing are slots whose duties could not be computed lately.
	failing map[events.SlotID]failing
	order   []*scheduled // the slots that have a sale, by id
	pace    chainview.Pacer
	since   time.Time // chain time of the first block that was looked at
	// fetching: block hashes are being read, after which everything is looked at again.
	fetching bool
	// judging: periods that are over are being judged.
	judging bool
	rewinds uint64 // the view's rewinds for which closed holds
	// cause names the block causedBy in what sales are told.
	cause    string
	causedBy uint64
}

// Deps are what the scheduler needs.
type Deps struct {
	*admission.Rules
	*health.Alerts
	Quarantined *quarantine.List
	// Provers schedule the proofs; the scheduler tells them the time.
	Provers *Provers
	// Verdict is the rule for what a slot owes: (*duty.Pass).Verdict.
	Verdict func(*duty.Pass, *duty.Slot) duty.Verdict
	// Since is the chain time of the first block that the host looked at, if there was one.
	// Recent are the blocks before the start, as far as known, to measure the block time.
	Since  time.Time
	Recent []events.Head
}

// New returns a scheduler that knows no sale yet.
func New(deps Deps) *Scheduler {
	p := &Scheduler{
		Deps: deps, sales: map[events.SlotID]*scheduled{}, unproven: map[events.SlotID]*unproven{},
		failing: map[events.SlotID]failing{}, since: deps.Since,
	}
	p.pace.Learn(deps.Recent)
	return p
}

// scheduled is what the scheduler knows of a living sale. What is needed at every block is kept
// beside the state, because states are large.
type scheduled struct {
	duty.Slot
	proves bool
	wake   time.Time
	look   time.Time // when it is next compared with the chain
	began  time.Time // chain time at which it was ready to prove
	// known and knownFrom are the last and the first period for which it was known in time what
	// is owed.
	known, knownFrom uint64
	// paused are the periods in which the sale was not run, and why: its end was recorded and
	// taken back, or it was quarantined.
	paused pause
	// judged: all periods up to this one were judged, or lie before the fill.
	judged uint64
	silent []sale.ReportSilentPeriod // found silent; told until recorded
	// closed says for open duties past their deadline whether a miss can be marked.
	closed map[uint64]bool
	damage health.Incident // its data is damaged
	agent  shell.Ref
	state  sale.State // with what is decided and not in the record yet
}

// hashesFetched says that missing block hashes were read, or that reading them failed.
type hashesFetched struct{ more bool }

// Receive handles a message.
func (p *Scheduler) Receive(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case shell.Started:
		p.learnFailing()
	case sales.Changed:
		p.ofSlot(m.Slot, func() {
			p.alertSale(m.Slot, m.Fresh)
			p.onSale(a, m)
		})
	case chainview.HeadMoved:
		p.onHead(a, m.Head)
	case hashesFetched:
		p.fetching = false
		if m.more {
			p.onHead(a, p.View.Now())
		}
	case pastRead:
		p.onPast(a, m)
	case sales.Quarantined:
		p.onQuarantined(a, m)
	case quarantinedTerms:
		p.onTerms(m)
	case quarantinedOwes:
		p.onOwes(m)
	}
}

func (p *Scheduler) onSale(a *shell.Turn, m sales.Changed) {
	p.NoteLoad(m.Slot, m.Ahead)
	delete(p.unproven, m.Slot)
	if m.State.Over() {
		p.drop(m.Slot)
		return
	}
	st := m.Ahead // Proofs that are due do not wait for the record.
	s := p.sales[m.Slot]
	if s == nil {
		s = &scheduled{Slot: duty.Slot{ID: m.Slot, Probability: new(big.Int)}, closed: map[uint64]bool{}}
		p.sales[m.Slot] = s
		p.order = slices.Insert(p.order, p.place(m.Slot), s)
	}
	if s.state.Phase == sale.Unknown || st.Attempt != s.state.Attempt {
		s.Probability = duty.Probability(p.Terms.Proofs, st.Request.Ask.ProofProbability)
	}
	began := st.Hosting() && !s.proves
	if s.proves && !st.Hosting() { // This matters only if the end is taken back.
		s.paused = p.pauseFrom("the slot had ended, until a reorganisation took that back")
	}
	p.alertDamaged(&s.damage, m.Slot, st)
	s.agent, s.state, s.proves, s.wake, s.FilledAt = p.RT.At(m.Agent), st, st.Hosting(), st.WakeAt(), st.FilledAt
	s.keepVerdicts()
	if began { // It may owe a proof in this very block, the last one of a period.
		p.begins(s)
		p.look(a, []*scheduled{s}, p.View.Now())
	}
}

// begins notes from which period on a sale is judged that has just come to prove.
func (p *Scheduler) begins(s *scheduled) {
	s.judged = sales.FirstUnjudged(p.Terms.Proofs, &s.state) - 1
	s.knownFrom, s.known, s.silent, s.began = 0, 0, nil, p.View.Now().Time
	s.paused.to = duty.Period(p.Terms.Proofs, p.View.Now().Time)
	// Looks are spread by id, so that they do not come all at once.
	s.look = p.View.Now().Time.Add(lookEvery / 256 * time.Duration(int(s.ID[0])+1))
}

// place is the slot's index in order, or where it would be inserted.
func (p *Scheduler) place(slot events.SlotID) int {
	at, _ := slices.BinarySearchFunc(p.order, slot, func(s *scheduled, slot events.SlotID) int {
		return s.ID.Compare(slot)
	})
	return at
}

func (p *Scheduler) drop(slot events.SlotID) {
	if p.sales[slot] != nil {
		at := p.place(slot)
		p.order = slices.Delete(p.order, at, at+1)
		delete(p.sales, slot)
		p.recovers(slot, "the sale is over")
	}
}

func (p *Scheduler) onHead(a *shell.Turn, head events.Head) {
	if head.Number < p.View.Now().Number {
		return // A newer block is on its way and covers this one.
	}
	if p.since.IsZero() {
		p.since = head.Time
	}
	p.forgetVerdicts()
	p.lookAtFailing(head)
	p.pace.See(head, p.View.At)
	p.Provers.arrange()
	next := p.look(a, p.order, head)
	p.lookAtUnproven(a, head)
	if m, ok := chainview.Optional[interface{ DutiesDue(next time.Time) }](p.Market); ok {
		m.DutiesDue(next)
	}
	p.judge(a, head)
}

// look tells the sales of these slots what a block means for them. It returns the earliest
// deadline of a duty that is open or about to be.
func (p *Scheduler) look(a *shell.Turn, slots []*scheduled, head events.Head) (next time.Time) {
	margin := p.Margin()
	pass := duty.NewPass(p.Terms.Proofs, head, duty.Pace{
		Shortest: p.pace.Shortest(margin.BlockTime),
		Lead:     margin.Total(),
	}, p.View.Hash)
	unknown := false
	for _, s := range slots {
		p.ofSlot(s.ID, func() {
			due, known := p.lookAt(pass, s, head)
			unknown = unknown || !known
			if !due.IsZero() && (next.IsZero() || due.Before(next)) {
				next = due
			}
		})
	}
	if unknown && !p.fetching {
		p.fetch(a)
	}
	return next
}

// lookAt tells one sale what a block means for it; see duties.
func (p *Scheduler) lookAt(pass *duty.Pass, s *scheduled, head events.Head) (due time.Time, known bool) {
	if !s.wake.IsZero() && !head.Time.Before(s.wake) {
		s.agent.Tell(sales.Look{})
	}
	if !s.proves {
		return due, true
	}
	if !head.Time.Before(s.look) {
		s.look = head.Time.Add(lookEvery)
		s.agent.Tell(sales.Look{})
	}
	return p.duties(pass, s, head)
}

func (p *Scheduler) fetch(a *shell.Turn) {
	p.fetching = true
	p.Later(a, "block hashes", func(ctx context.Context) any {
		more, err := chainview.Patiently(ctx, p.Base, p.Patience(), p.View.Fetch)
		if err != nil { // It is asked again at the next block.
			p.Log.Warnf("read block hashes for proof duties: %v", err)
		}
		return hashesFetched{more}
	})
}

// duties tells one sale what it owes, what it no longer owes, and which periods are over. known
// is false when a block hash is missing; due is the earliest deadline that the sale has to
// meet.
func (p *Scheduler) duties(pass *duty.Pass, s *scheduled, head events.Head) (due time.Time, known bool) {
	for _, d := range s.state.Duties {
		switch {
		case head.Time.After(d.Deadline):
			p.closes(s, d.Period, head)
		case due.IsZero():
			due = d.Deadline
		}
	}
	if len(s.silent) > 0 {
		p.tellSilent(s, head)
	}
	v := p.Verdict(pass, &s.Slot)
	if !v.Known {
		return due, false
	}
	if s.known = v.Period; s.knownFrom == 0 {
		s.knownFrom = v.Period
	}
	switch {
	case v.Owed && !knows(&s.state, v):
		last := duty.Deadline(p.Terms.Proofs, v.Period)
		p.tell(s, head, sale.ReportProofDue{At: head.Time, Period: v.Period, Challenge: v.Challenge, Deadline: last})
		if due.IsZero() {
			due = last
		}
	case !v.Owed:
		for _, d := range s.state.Duties {
			if d.Period == v.Period && d.Challenge != v.Challenge {
				p.tell(s, head, sale.ReportProofExcused{
					At: head.Time, Period: d.Period,
					Reason: fmt.Sprintf("the pointer is at %d, where none is demanded", v.Pointer),
				})
			}
		}
	}
	return due, true
}

// knows reports whether the sale has this duty, open or closed. Until then it is told at every
// block; a repeated command changes nothing.
func knows(s *sale.State, v duty.Verdict) bool {
	for _, d := range s.Duties {
		if d.Period == v.Period {
			return d.Challenge == v.Challenge
		}
	}
	return s.LastPeriod > v.Period || s.Settles(v.Period)
}

func (p *Scheduler) tell(s *scheduled, head events.Head, cmd sale.Command) {
	if p.causedBy != head.Number || p.cause == "" {
		p.cause, p.causedBy = fmt.Sprintf("block:%d", head.Number), head.Number
	}
	s.agent.Tell(sales.Command{Cmd: cmd, Cause: p.cause})
}
