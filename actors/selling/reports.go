package selling

import (
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events/sale"
)

// This file says what an agent does with a command besides having the core decide it, and what
// follows from the report of a call: it advanced the sale, or the call is tried again.

// news is what a command means to the agent. The core decides every command.
type news uint8

const (
	plainNews  news = iota // nothing besides what the core decides
	startNews              // the supervisor has just compared the sale with the chain
	dutyNews               // about a duty: the market may know more
	missNews               // closes a duty as missed
	damageNews             // data is damaged
	repairNews             // data is sound again
)

func newsOf(c sale.Command) news {
	switch c.(type) {
	case sale.Start:
		return startNews
	case sale.ReportProofDue, sale.ReportProofExcused:
		return dutyNews
	case sale.ReportPeriodClosed, sale.ReportSilentPeriod:
		return missNews
	case sale.ReportDamaged:
		return damageNews
	case sale.ReportRepaired:
		return repairNews
	case sale.ReportCapacity, sale.ReportNoCapacity, sale.ReportSlotReserved, sale.ReportNotReservable,
		sale.ReportStored, sale.ReportInitialProof, sale.ReportProofOutdated, sale.ReportFilled, sale.ReportNotFree,
		sale.GiveUp, sale.ReportExtended, sale.ReportProofSubmitted, sale.ReportCollateral, sale.ReportFreed,
		sale.ReportDeleted, sale.ReportSettled, sale.ReportChain, sale.Refill:
		return plainNews
	}
	panic(fmt.Sprintf("a sales agent does not know %T", c))
}

// onReported handles the result of a report. A report that changed nothing, or was refused
// because the record moved, leads to another try after a pause.
func (s *Agent) onReported(a *shell.Turn, key string, r shell.Result[sale.State, sale.Event]) {
	if len(r.Events) > 0 {
		delete(s.running, key) // If the state wants the effect again, it is new work.
		return
	}
	if r.Err != nil && !errors.Is(r.Err, shell.ErrReloading) {
		s.fields().WithField("effect", key).Warnf("a report was refused: %v", r.Err)
	}
	w := s.running[key]
	if w == nil {
		return
	}
	w.reporting = false
	s.tryAgain(a, key, w)
}

// tryAgain begins an effect again after a pause, if the state still wants it.
func (s *Agent) tryAgain(a *shell.Turn, key string, w *work) {
	w.tries++
	self := a.Self
	s.Clock.After(s.Backoff(s.slot.String()+"/again/"+key, w.tries), func() {
		self.Tell(effectRetry{key, w})
	})
}
