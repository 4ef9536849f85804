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

// This file closes duties whose periods ended without a proof. What is owed is said
// before anybody knows which blocks will come, and where the pace of blocks is not known,
// more is said than the contract demands in the end. So such a duty is missed as soon as
// the next block may mark it, and excused when the marking is over and none could. The
// same goes for a duty that is open when the hosting ends (actors/selling/closing.go): then the marking
// is over with the end.

// closes tells a sale of an open duty that is past its deadline what became of it, when
// that is certain.
func (p *Scheduler) closes(s *scheduled, period uint64, head events.Head) {
	demanded, judged := s.closed[period]
	if !judged {
		if !p.marksNext(s, period, head) {
			return // The next block, or the judgement of the period says more.
		}
		demanded = true
		s.verdict(period, demanded)
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

func (s *scheduled) verdict(period uint64, demanded bool) {
	if s.closed == nil {
		s.closed = map[uint64]bool{}
	}
	s.closed[period] = demanded
}

// unclosed is the first period up to a last one that has an open duty and no verdict; the
// one after it when there is none.
func (s *scheduled) unclosed(last uint64) uint64 {
	first := last + 1
	for _, d := range s.state.Duties {
		if _, judged := s.closed[d.Period]; !judged {
			first = min(first, d.Period)
		}
	}
	return first
}

// judgeOpen says of the open duties of a sale whose marking is over whether a miss could
// be marked, up to a period. last: what is not at hand now is not to be had.
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
			s.verdict(d.Period, missed)
		}
	}
}

// tellJudged tells a sale what was found out about its open duties.
func (p *Scheduler) tellJudged(s *scheduled, head events.Head) {
	for _, d := range s.state.Duties {
		if _, judged := s.closed[d.Period]; judged && head.Time.After(d.Deadline) {
			p.closes(s, d.Period, head)
		}
	}
}

// forgetVerdicts drops what was found out on a branch that is gone.
func (p *Scheduler) forgetVerdicts() {
	if n := p.View.Rewound(); n != p.rewinds {
		p.rewinds = n
		for _, s := range p.order {
			s.closed = nil
		}
	}
}

// keepVerdicts drops the verdicts on duties that are not open any more.
func (s *scheduled) keepVerdicts() {
	maps.DeleteFunc(s.closed, func(period uint64, _ bool) bool {
		return !slices.ContainsFunc(s.state.Duties, func(d sale.Duty) bool { return d.Period == period })
	})
}
