// Package proofs says which proofs are owed, and in which order they are made. The scheduler
// looks at each block for all hosted slots together and tells each sale what it owes, what it
// does not owe any more, and what became of periods that passed while nobody looked. The
// rules are those of events/duty; Provers bounds how many proofs are made at once.
//
// Not for: making a proof and handing it in. A sale does that, and records it.
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

// lookEvery is how often a hosted sale is compared with the chain, in chain time,
// when nothing else gives reason to: so a slash that nobody heard of is noticed.
const lookEvery = 24 * time.Hour

// Scheduler tells every hosted sale what it owes, in one pass over all
// slots per block and without asking the chain (events/duty); it finds out which
// periods were owed while nobody looked (silent.go), keeps the order of the proofs
// in line with the chain's time, and wakes sales whose state changes by time alone.
type Scheduler struct {
	Deps
	sales map[events.SlotID]*scheduled
	// unproven are slots whose sales are quarantined.
	unproven map[events.SlotID]*unproven
	// failing are slots whose duties could not be computed lately.
	failing map[events.SlotID]*failing
	order   []*scheduled // those of sales, by slot
	pace    chainview.Pacer
	since   time.Time // chain time of the first block that was looked at
	// fetching: block hashes are being read; everything is looked at again then.
	fetching bool
	// judging: periods that are over are being judged.
	judging bool
	rewinds uint64 // of the view, when closed was last true
	// cause names the block causedBy in what sales are told.
	cause    string
	causedBy uint64
}

// Deps are what the scheduler needs.
type Deps struct {
	*admission.Rules
	*health.Alerts
	Quarantined *quarantine.List
	// Provers make the proofs; the scheduler tells them the time.
	Provers *Provers
	// Verdict is the rule of what a slot owes: (*duty.Pass).Verdict.
	Verdict func(*duty.Pass, *duty.Slot) duty.Verdict
	// Since is the chain time of the first block that the host looked at, if it has; Recent
	// are the blocks before it as far as they are at hand, for the pace of blocks.
	Since  time.Time
	Recent []events.Head
}

// New is a scheduler that knows no sale yet.
func New(deps Deps) *Scheduler {
	p := &Scheduler{
		Deps: deps, sales: map[events.SlotID]*scheduled{}, unproven: map[events.SlotID]*unproven{},
		failing: map[events.SlotID]*failing{}, since: deps.Since,
	}
	p.pace.Learn(deps.Recent)
	return p
}

// scheduled is a living sale as the scheduler knows it. What every block asks of
// every slot is kept ready, because states are large.
type scheduled struct {
	duty.Slot
	proves bool
	wake   time.Time
	look   time.Time // when it is compared with the chain next
	began  time.Time // chain time at which it was ready to prove
	// known and knownFrom are the last and the first period of which it is known in
	// time what is owed.
	known, knownFrom uint64
	// paused are the first and the last period in which the sale was not run, and why:
	// its end was recorded and taken back, or it was quarantined.
	paused pause
	// judged: all periods up to this one were judged, or lie before the fill.
	judged uint64
	silent []sale.ReportSilentPeriod // what was found; told until it is recorded
	// closed says of open duties that are past their deadline whether a miss can be marked.
	closed map[uint64]bool
	damage health.Incident // its data is damaged
	agent  shell.Ref
	state  sale.State // with what is decided and not in the record yet
}

// hashesFetched says that missing block hashes were read, or that it failed.
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
	st := m.Ahead // What is due does not wait for the record.
	s := p.sales[m.Slot]
	if s == nil {
		s = &scheduled{Slot: duty.Slot{ID: m.Slot, Probability: new(big.Int)}}
		p.sales[m.Slot] = s
		p.order = slices.Insert(p.order, p.place(m.Slot), s)
	}
	if s.state.Phase == sale.Unknown || st.Attempt != s.state.Attempt {
		s.Probability = duty.Probability(p.Terms.Proofs, st.Request.Ask.ProofProbability)
	}
	began := st.Proves() && !s.proves
	if s.proves && !st.Hosting() { // Unless that is taken back, nobody will read this.
		s.paused = p.pauseFrom("its end was on the chain, which a reorganisation took back")
	}
	p.alertDamaged(&s.damage, m.Slot, st)
	s.agent, s.state, s.proves, s.wake, s.FilledAt = p.RT.At(m.Agent), st, st.Proves(), st.WakeAt(), st.FilledAt
	s.keepVerdicts()
	if began { // It may owe a proof in this very block, the last of a period.
		p.begins(s)
		p.look(a, []*scheduled{s}, p.View.Now())
	}
}

// begins notes from where on the periods of a sale that comes to prove are judged.
func (p *Scheduler) begins(s *scheduled) {
	s.judged = sales.FirstUnjudged(p.Terms.Proofs, &s.state) - 1
	s.knownFrom, s.known, s.silent, s.began = 0, 0, nil, p.View.Now().Time
	s.paused.to = duty.Period(p.Terms.Proofs, p.View.Now().Time)
	// Not all at once: they are spread by their ids.
	s.look = p.View.Now().Time.Add(lookEvery / 256 * time.Duration(int(s.ID[0])+1))
}

// place is where a slot is in the order, or belongs.
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
		return // A newer one is on its way; it covers this one.
	}
	if p.since.IsZero() {
		p.since = head.Time
	}
	p.forgetVerdicts()
	p.lookAtFailing(head)
	p.pace.See(head, p.View.At)
	p.Provers.tick(head.Time)
	next := p.look(a, p.order, head)
	p.lookAtUnproven(a, head)
	if m, ok := chainview.Optional[interface{ DutiesDue(next time.Time) }](p.Market); ok {
		m.DutiesDue(next)
	}
	p.judge(a, head)
}

// look tells the sales of these slots what a block means for them. It returns the
// deadline of the earliest duty that is open or about to be.
func (p *Scheduler) look(a *shell.Turn, slots []*scheduled, head events.Head) (next time.Time) {
	margin := p.Margin()
	pass := duty.NewPass(p.Terms.Proofs, head, duty.Pace{
		Shortest: p.pace.Shortest(margin.BlockTime),
		Lead:     time.Duration(margin.Blocks) * margin.BlockTime,
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
	self := a.Self
	a.Do(func(ctx context.Context) {
		p.Yield(ctx, "block hashes")
		more, err := chainview.Patiently(ctx, p.Base, p.Patience(), p.View.Fetch)
		if err != nil { // The next head asks again.
			p.Log.Warnf("read block hashes for proof duties: %v", err)
		}
		self.Tell(hashesFetched{more})
	})
}

// duties tells one sale what it owes now, what it no longer owes, and which
// periods are over. Known is false when a block hash was not at hand; due is the
// earliest deadline that the sale has to meet.
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

// knows reports whether the sale has this duty, open or closed.
// Until it does the sale is told at every block; a command that comes twice
// changes nothing.
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
