package selling

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file judges the periods of an adopted slot that pass before its data is here. Nothing
// can be proven then, but each proof that was owed is recorded as missed, and alerted, in time.

// adoptedJudged says what became of periods that are over; empty: nothing new.
type adoptedJudged struct {
	told []sales.Command
	look bool // the slot is lost, or its request is over
	next uint64
}

// judgeAdopted judges the periods up to now, and continues when the next one is over.
func (s *Agent) judgeAdopted(a *shell.Turn, next uint64) {
	st := s.journal.Durable
	if s.judgingAdopted || !st.Owes() || !st.BeforeFill() || s.StoreWatch.Away() {
		return
	}
	s.judgingAdopted = true
	self := a.Self
	a.Do(func(ctx context.Context) {
		m := adoptedJudged{next: next}
		_, err := s.View.Wait(ctx, func(h events.Head) bool { return s.ClosedPeriod(h) >= next })
		if err == nil {
			s.Yield(ctx, s.slot.String()+"/periods of an adopted slot")
			m, err = chainview.Patiently(ctx, s.Base, s.Patience(), func(ctx context.Context) (adoptedJudged, error) {
				return s.owedByAdopted(ctx, st)
			})
		}
		if err != nil && ctx.Err() == nil { // It is asked again after the next period, and at the end.
			s.Log.WithField("slot", s.slot.String()).
				Warnf("find out what the adopted slot owes, will try again: %v", err)
			m.next = s.ClosedPeriod(s.View.Now()) + 1
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// owedByAdopted finds out what became of the periods that were over at the newest block.
func (s *Agent) owedByAdopted(ctx context.Context, st sale.State) (m adoptedJudged, err error) {
	cmd, err := s.askChain(ctx, st)
	if err != nil {
		return m, err
	}
	report := cmd.(sale.ReportChain)
	closed := s.ClosedPeriod(report.Facts.At)
	m.next = closed + 1
	if report.Facts.Host != s.Me || s.endsHosting(st, report) {
		m.look = true
		return m, nil
	}
	filled, report, err := s.asFilled(ctx, st, report)
	if err != nil {
		return m, err
	}
	if m.told, err = s.takenProofs(ctx, filled); err != nil {
		return m, err
	}
	known := filled
	for _, t := range m.told {
		known = s.after(known, t.Cmd)
	}
	until := report.Facts.RequestEnd
	if report.Facts.RequestState == events.RequestNew {
		until = report.Facts.RequestExpiry
	}
	owed, err := s.owedUntil(ctx, known, report.Facts.At, ending{until: until, last: closed},
		"the slot was adopted, and its data was not here before the period was over")
	m.told = slices.Concat(m.told, owed.silent)
	return m, err
}

// after returns a state after the events that follow from a command.
func (s *Agent) after(st sale.State, cmd sale.Command) sale.State {
	found, err := s.Decide(st, cmd)
	if err != nil {
		return st
	}
	for _, e := range found {
		st = sale.Evolve(st, e)
	}
	return st
}

func (s *Agent) onAdoptedJudged(a *shell.Turn, m adoptedJudged) {
	s.judgingAdopted = false
	if st := s.journal.Ahead; !st.Owes() || !st.BeforeFill() {
		return
	}
	s.decideAll(a, m.told)
	if m.look {
		s.onLook(a)
	}
	s.judgeAdopted(a, m.next)
}
