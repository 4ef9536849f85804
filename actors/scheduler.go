package actors

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// proofScheduler tells every hosted sale what it owes, in one pass over all
// slots per block and without asking the chain (design §9), and wakes sales
// whose state changes by time alone.
type proofScheduler struct {
	*env
	sales map[events.SlotID]*scheduled
	// fetching: block hashes are being read; everything is looked at again then.
	fetching bool
}

// scheduled is a living sale as the scheduler knows it.
type scheduled struct {
	agent       ref
	state       sale.State
	probability *big.Int
}

// headMoved says that the chain has a new newest block.
type headMoved struct{ head events.Head }

// hashesFetched says that missing block hashes were read, or that it failed.
type hashesFetched struct{ more bool }

func (p *proofScheduler) receive(a *turn, msg any) {
	switch m := msg.(type) {
	case saleChanged:
		p.onSale(a, m)
	case headMoved:
		p.onHead(a, m.head)
	case hashesFetched:
		p.fetching = false
		if m.more {
			p.onHead(a, p.view.now())
		}
	}
}

func (p *proofScheduler) onSale(a *turn, m saleChanged) {
	if m.state.Over() {
		delete(p.sales, m.slot)
		return
	}
	s := p.sales[m.slot]
	if s == nil {
		s = &scheduled{
			probability: duty.Probability(p.terms.Proofs, m.state.Request.Ask.ProofProbability),
		}
		p.sales[m.slot] = s
	}
	began := proves(m.state) && !proves(s.state)
	s.agent, s.state = m.agent, m.state
	if began { // It may owe a proof in this very block, the last of a period.
		p.look(a, []events.SlotID{m.slot}, p.view.now())
	}
}

func proves(s sale.State) bool { return s.Phase == sale.Proving || s.Phase == sale.ProvingSimulated }

func (p *proofScheduler) onHead(a *turn, head events.Head) {
	if head.Number < p.view.now().Number {
		return // A newer one is on its way; it covers this one.
	}
	p.look(a, slices.SortedFunc(maps.Keys(p.sales), compareSlots), head)
}

// look tells the sales of these slots what a block means for them.
func (p *proofScheduler) look(a *turn, slots []events.SlotID, head events.Head) {
	unknown := false
	for _, slot := range slots {
		s := p.sales[slot]
		if wake := s.state.WakeAt(); !wake.IsZero() && !head.Time.Before(wake) {
			s.agent.tell(lookAtChain{})
		}
		if proves(s.state) {
			unknown = !p.duties(slot, s, head) || unknown
		}
	}
	if !unknown || p.fetching {
		return
	}
	p.fetching = true
	self := a.self
	a.rt.do(func(ctx context.Context) {
		p.Turn(ctx, "block hashes")
		more, err := p.view.fetch(ctx)
		if err != nil { // The next head asks again.
			p.log.Warnf("read block hashes for proof duties: %v", err)
		}
		self.tell(hashesFetched{more})
	})
}

func compareSlots(a, b events.SlotID) int { return slices.Compare(a[:], b[:]) }

// duties tells one sale what it owes now, what it no longer owes, and which
// periods are over. It reports false when a block hash was not at hand.
func (p *proofScheduler) duties(slot events.SlotID, s *scheduled, head events.Head) bool {
	for _, d := range s.state.Duties {
		if head.Time.After(d.Deadline) {
			p.tell(s, head, sale.ReportPeriodClosed{At: head.Time, Period: d.Period})
		}
	}
	v := duty.Next(p.terms.Proofs, duty.Slot{
		ID: slot, FilledAt: s.state.FilledAt, Probability: s.probability,
	}, head, p.Margin.BlockTime, p.view.hash)
	if !v.Known {
		return false
	}
	switch {
	case v.Owed && !knows(s.state, v):
		p.tell(s, head, sale.ReportProofDue{
			At: head.Time, Period: v.Period, Challenge: v.Challenge,
			Deadline: duty.End(p.terms.Proofs, v.Period).Add(-time.Second),
		})
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
	return true
}

// knows reports whether the record of the sale has this duty, open or closed.
// Until it does the sale is told at every block; a command that comes twice
// changes nothing.
func knows(s sale.State, v duty.Verdict) bool {
	if s.LastPeriod != v.Period {
		return s.LastPeriod > v.Period
	}
	for _, d := range s.Duties {
		if d.Period == v.Period {
			return d.Challenge == v.Challenge
		}
	}
	return true
}

func (p *proofScheduler) tell(s *scheduled, head events.Head, cmd sale.Command) {
	s.agent.tell(saleCommand{cmd: cmd, cause: fmt.Sprintf("block:%d", head.Number)})
}
