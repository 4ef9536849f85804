package selling

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file compares a sale with what the chain says of its slot: once after its record was
// loaded, before any effect, and whenever the slot may have changed.

// onLook looks now or, during an outage, when the event store is back: until then the report
// could not be recorded, and only duties are performed.
func (s *Agent) onLook(a *shell.Turn) {
	if s.StoreWatch.Away() && s.decided {
		s.again = true
		return
	}
	s.look(a)
}

// look asks the chain about the slot and reports what it says.
func (s *Agent) look(a *shell.Turn) {
	if s.looking {
		s.again = true
		return
	}
	if !s.journal.Loaded || s.journal.Durable.Phase == sale.Unknown || s.journal.Durable.Over() {
		return
	}
	s.looking = true
	self, st, ahead := a.Self, s.journal.Durable, s.journal.Ahead
	loaded, tries := !s.looked, s.closingTries
	ask := loaded && !s.takenKnown && st.Hosting()
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, s.slot.String()+"/look")
		m, rung := lookEnded{}, s.Bell.Next()
		cmd, err := s.askChain(ctx, st)
		if err == nil && st.Phase == sale.Filling && s.mayHaveFilled(cmd.(sale.ReportChain).Facts) {
			cmd, err = s.unansweredFill(ctx, st, cmd.(sale.ReportChain))
		}
		switch report, ok := cmd.(sale.ReportChain); {
		case err != nil:
		case ok && s.endsHosting(ahead, report): // Nobody will ask later what was owed.
			m.closing = new(closing)
			*m.closing, err = s.closeAccount(ctx, ahead, report, loaded, tries+1 >= closingTries)
			m.again = ownerAway(err)
			tries++
		case ask:
			m.taken, m.takenKnown = s.takenAtFirst(ctx, st)
		}
		if m.cmd = cmd; err != nil {
			m.cmd = nil
			s.Log.WithField("slot", s.slot.String()).Warnf("compare the sale with the chain, will try again: %v", err)
			_, _ = s.Pause(ctx, s.slot.String()+"/look", max(1, tries), rung)
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// mayHaveFilled reports whether a fill may have been mined that the contract no longer shows,
// because the slot is not ours or is over.
func (s *Agent) mayHaveFilled(facts events.SlotFacts) bool {
	return facts.Host != s.Me || facts.SlotState != events.SlotFilled
}

type lookEnded struct {
	cmd        sale.Command // nil: the chain did not answer
	takenKnown bool         // the market also answered about proofs
	taken      []sales.Command
	// closing is the account up to the end that was found; nil: no end was found.
	closing *closing
	again   bool // nobody could be asked; it does not count as a try
}

func (s *Agent) onLookEnded(a *shell.Turn, m lookEnded) {
	s.looking = false
	if m.cmd == nil || s.again && !s.StoreWatch.Away() {
		s.again = false
		defer s.look(a)
	}
	if m.cmd == nil {
		if m.closing != nil && !m.again && !s.StoreWatch.Away() {
			s.closingTries++
		}
		return
	}
	s.closingTries = 0
	if m.takenKnown {
		s.tellTaken(a, m.taken)
	}
	cause := "look"
	if report, ok := m.cmd.(sale.ReportChain); ok {
		f := report.Facts
		if m.closing != nil {
			report = m.closing.report
			if report.FillOnly = !s.journal.Ahead.Owes(); report.FillOnly {
				s.decide(a, sales.Command{Cmd: report, Cause: fmt.Sprintf("block:%d", f.At.Number)}, nil)
			}
			s.tellTaken(a, m.closing.told)
			s.closeDuties(a, f.At, m.closing)
			report.FillOnly, report.Unjudged = false, m.closing.unjudged
			m.cmd = report
		}
		if s.journal.Durable.Phase == sale.Filling && f.Host == s.Me && f.SlotState == events.SlotFilled {
			s.looked, s.decided = true, true // The fill's own call reports this, with its receipt.
			s.early = f.RequestState == events.RequestStarted
			s.act(a)
			return
		}
		cause = fmt.Sprintf("block:%d", f.At.Number)
	}
	_, filled := m.cmd.(sale.ReportFilled)
	s.decided = true
	s.submit(a, sales.Command{Cmd: m.cmd, Cause: cause}, func(r shell.Result[sale.State, sale.Event]) {
		if errors.Is(r.Err, shell.ErrReloading) {
			return // After the reload there is another look.
		}
		if filled { // The slot is lost, or over: first comes what it has owed since the fill.
			s.decided = false
			s.look(a)
			return
		}
		s.looked = true
		s.act(a)
	})
}
