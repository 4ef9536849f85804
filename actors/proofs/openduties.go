package proofs

import (
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file closes duties whose periods ended without a proof. A duty is opened before the
// blocks that decide about it are known, so more duties are opened than the contract demands in
// the end, above all while the block time is unknown. A duty is missed as soon as the next
// block may mark it, and excused when the marking is over and no block could mark it. The same
// holds for a duty that is open when the hosting ends (actors/selling/closing.go): the end of
// the hosting ends the marking.

// closes tells a sale what became of an open duty that is past its deadline, once that is
// certain.
func (p *Scheduler) closes(s *scheduled, period uint64, head events.Head) {
	demanded, judged := s.closed[period]
	if !judged {
		if !p.marksNext(s, period, head) {
			return // The next block, or the judgement of the period, will tell.
		}
		demanded = true
		s.closed[period] = demanded
	}
	p.tell(s, head, sales.DutyClosed(p.Terms.Proofs, head, period, demanded, "")) // The sale knows why it was missed.
}

// marksNext reports whether the block after head may mark the miss of a period.
func (p *Scheduler) marksNext(s *scheduled, period uint64, head events.Head) bool {
	next := head.Time.Add(time.Second)
	if duty.LastMarking(p.Terms.Proofs, period).Before(next) || next.After(s.state.HostedUntil()) {
		return false
	}
	owed, _ := duty.MarkedAfter(p.Terms.Proofs, s.Slot, head, period, p.View.At)
	return owed
}

// unclosed is the first period, up to last, that has an open duty and no verdict; last+1 when
// there is none.
func (s *scheduled) unclosed(last uint64) uint64 {
	first := last + 1
	for _, d := range s.state.Duties {
		if _, judged := s.closed[d.Period]; !judged {
			first = min(first, d.Period)
		}
	}
	return first
}

// judgeOpen judges the open duties of a sale, up to a period, whose marking is over: could a
// miss be marked? last: hashes that are missing now cannot be had.
func (p *Scheduler) judgeOpen(
	s *scheduled, past *duty.Past, upTo uint64, challenges duty.Challenges, last bool,
) {
	j := s.judge(past, challenges)
	for _, d := range s.state.Duties {
		if _, judged := s.closed[d.Period]; judged || d.Period > upTo {
			continue
		}
		missed, unknown := j.Missed(d.Period)
		if unknown == "" || last || d.Period < past.From {
			s.closed[d.Period] = missed
		}
	}
}

// tellJudged tells a sale the verdicts on its open duties.
func (p *Scheduler) tellJudged(s *scheduled, head events.Head) {
	for _, d := range s.state.Duties {
		if _, judged := s.closed[d.Period]; judged && head.Time.After(d.Deadline) {
			p.closes(s, d.Period, head)
		}
	}
}

// forgetVerdicts drops verdicts that rest on a branch that is gone.
func (p *Scheduler) forgetVerdicts() {
	if n := p.View.Rewound(); n != p.rewinds {
		p.rewinds = n
		for _, s := range p.order {
			clear(s.closed)
		}
	}
}

// keepVerdicts drops the verdicts on duties that are no longer open.
func (s *scheduled) keepVerdicts() {
	maps.DeleteFunc(s.closed, func(period uint64, _ bool) bool {
		return !slices.ContainsFunc(s.state.Duties, func(d sale.Duty) bool { return d.Period == period })
	})
}
