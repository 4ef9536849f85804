package proofs

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file judges periods that are over. Once a period can no longer be marked, the blocks of
// its marking window say whether a proof was owed. A period that owed a proof and of which the
// sale knows nothing is called silent: the host was down, or did not reach the chain, or the
// blocks did not come as expected. It is recorded as due and missed, with the reason, unless
// the contract took a proof after all (actors/selling/takenproofs.go asks before anything is
// recorded).

// pastRead is what decides about periods that are over, or why it could not be read.
type pastRead struct {
	past    *duty.Past
	missing map[uint64]bool // what could not be found before
	err     error
}

// judge begins to judge the periods that are over and not judged yet.
func (p *Scheduler) judge(a *shell.Turn, head events.Head) {
	to := p.ClosedPeriod(head)
	from := to + 1
	for _, s := range p.order {
		if s.proves {
			p.ofSlot(s.ID, func() { from = min(from, p.unjudged(s, to)) })
		}
	}
	if from > to || p.judging {
		return
	}
	p.readPast(a, from, to)
}

func (p *Scheduler) readPast(a *shell.Turn, from, to uint64) {
	p.judging = true
	p.Later(a, "periods that are over", func(ctx context.Context) any {
		m := pastRead{}
		m.err = p.RT.Guarded("periods that are over", func() (err error) {
			m.past, err = p.ReadPast(ctx, from, to, p.View.Now().Number)
			return err
		})
		return m
	})
}

// onPast judges all sales once everything that decides was read.
func (p *Scheduler) onPast(a *shell.Turn, m pastRead) {
	p.judging = false
	if m.err != nil { // It is asked again at the next block.
		p.Log.Warnf("find out which proofs were owed in past periods, will try again: %v", m.err)
		return
	}
	missing := map[uint64]bool{}
	challenges := m.past.Challenges(p.View.At, missing)
	head := p.View.Now()
	type verdict struct {
		sale   *scheduled
		upTo   uint64
		silent []sale.ReportSilentPeriod
	}
	var verdicts []verdict
	for _, s := range p.order {
		if !s.proves {
			continue
		}
		p.ofSlot(s.ID, func() {
			upTo := min(m.past.To, p.certainUpTo(s))
			p.judgeOpen(s, m.past, upTo, challenges, len(m.missing) > 0)
			if s.judged < upTo {
				verdicts = append(verdicts, verdict{s, upTo, p.silentPeriods(s, m.past, upTo, challenges, head)})
			}
		})
	}
	if len(missing) > 0 && len(m.missing) == 0 {
		p.readMissing(a, m.past, missing)
		return
	}
	for _, v := range verdicts {
		if m.past.Short && v.sale.judged+1 < m.past.From {
			p.Log.WithField("slot", v.sale.ID.String()).Warnf("what the slot owed before period %d is not known: "+
				"the chain is read back %d blocks at most", m.past.From, duty.MostPastBlocks)
		}
		v.sale.judged = v.upTo
		v.sale.silent = append(v.sale.silent, v.silent...)
		p.tellSilent(v.sale, head)
	}
	for _, s := range p.order {
		p.ofSlot(s.ID, func() { p.tellJudged(s, head) })
	}
}

// readMissing reads hashes from before the blocks that were read.
func (p *Scheduler) readMissing(a *shell.Turn, past *duty.Past, missing map[uint64]bool) {
	p.judging = true
	p.Later(a, "challenges of periods that are over", func(ctx context.Context) any {
		m := pastRead{past: past, missing: missing}
		m.err = p.RT.Guarded("periods that are over", func() error { return p.FillPast(ctx, past, missing) })
		return m
	})
}

// silentPeriods returns the periods that owed a proof and that the sale knows nothing of.
func (p *Scheduler) silentPeriods(s *scheduled, past *duty.Past, upTo uint64, challenges duty.Challenges,
	head events.Head,
) []sale.ReportSilentPeriod {
	j := s.judge(past, challenges)
	return sales.SilentPeriods(&j, p.Terms.Proofs, &s.state, max(s.judged+1, past.From), upTo, head,
		func(period uint64) string { return p.whySilent(s, period) })
}

// judge returns the judge of a slot's periods in a past.
func (s *scheduled) judge(past *duty.Past, challenges duty.Challenges) duty.Judge {
	return duty.Judge{
		Past: past, Slot: &s.Slot, Filled: s.state.FilledBlock, Until: s.state.HostedUntil(), Challenges: challenges,
	}
}

// unjudged is the first period, up to to, for which a sale is still to be judged; to+1 when
// there is none.
func (p *Scheduler) unjudged(s *scheduled, to uint64) uint64 {
	last := min(to, p.certainUpTo(s))
	if first := min(s.judged+1, s.unclosed(last)); first <= last {
		return first
	}
	return to + 1
}

// certainUpTo is the last period for which it is certain until when its miss could be marked.
// Before the record knows that the request has started, it does not know whether the slot owes
// anything after the expiry. The look at the slot, which is due then, will tell; until then no
// period is judged that the expiry would cut short.
func (p *Scheduler) certainUpTo(s *scheduled) uint64 {
	if s.state.Started {
		return math.MaxUint64
	}
	return max(duty.Period(p.Terms.Proofs, s.state.ExpiresAt.Add(-p.Terms.Proofs.Timeout)), 1) - 1
}

// pause is a range of periods in which a sale was not run.
type pause struct {
	from, to uint64
	why      string
}

func (p pause) holds(period uint64) bool { return p.why != "" && p.from <= period && period <= p.to }

// pauseFrom returns a pause that begins now.
func (p *Scheduler) pauseFrom(why string) pause {
	return pause{from: duty.Period(p.Terms.Proofs, p.View.Now().Time), why: why}
}

// whySilent says why a sale was not told of a period in time.
func (p *Scheduler) whySilent(s *scheduled, period uint64) string {
	end := duty.End(p.Terms.Proofs, period)
	switch {
	case !end.After(p.since):
		return p.WhyNotRun(end, "the period was over")
	case s.paused.holds(period):
		return "nothing was done for the sale in the period: " + s.paused.why
	case !end.After(s.began):
		return "the host ran, but the sale was not ready to prove before the period was over: its record " +
			"could not be read yet"
	case s.knownFrom == 0 || period < s.knownFrom || period > s.known:
		return "the blocks that decide about it could not be read while the period ran"
	}
	return fmt.Sprintf("no block of the period showed it in time: a proof is owed when the "+
		"pointer can leave its %d blocks of downtime before the marking ends", p.Terms.Proofs.Downtime)
}

// tellSilent tells a sale of its silent periods until it knows them.
func (p *Scheduler) tellSilent(s *scheduled, head events.Head) {
	s.silent = slices.DeleteFunc(s.silent, func(c sale.ReportSilentPeriod) bool { return s.state.Settles(c.Period) })
	for _, c := range s.silent {
		p.tell(s, head, c)
	}
}
