package sales

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file turns a judge's verdicts on periods that are over into commands for the sale: for
// the proof scheduler while the slot is hosted, and for the sale itself when the hosting ends.

// FirstUnjudged is the first period of a sale that may not be judged yet.
func FirstUnjudged(cfg events.ProofConfig, st *sale.State) uint64 {
	return max(duty.Period(cfg, st.FilledAt)+1, st.Unjudged()) // The fill is the proof of its own period.
}

// SilentPeriods returns a report of each period from the first to the last given that owed a
// proof and that the sale knows nothing of; why says why the sale was not told of a period.
func SilentPeriods(j *duty.Judge, cfg events.ProofConfig, st *sale.State, from, upTo uint64, at events.Head,
	why func(uint64) string,
) (silent []sale.ReportSilentPeriod) {
	for period := from; period <= upTo; period++ {
		if knows(st, period) {
			continue
		}
		if challenge, owed := j.Owed(period); owed {
			silent = append(silent, sale.ReportSilentPeriod{
				At: at.Time, Period: period, Challenge: challenge, Deadline: duty.Deadline(cfg, period),
				Reason: why(period),
			})
		}
	}
	return silent
}

func knows(st *sale.State, period uint64) bool {
	if st.Settles(period) {
		return true
	}
	_, open := st.OpenDuty(period)
	return open
}

// DutyClosed reports what became of an open duty that is past its deadline without a proof; why
// is the reason if it was missed.
func DutyClosed(cfg events.ProofConfig, at events.Head, period uint64, missed bool, why string) sale.Command {
	if missed {
		return sale.ReportPeriodClosed{At: at.Time, Period: period, Reason: why}
	}
	return sale.ReportProofExcused{
		At: at.Time, Period: period,
		Reason: fmt.Sprintf("no block came that could mark it: the pointer did not leave its %d blocks of downtime, "+
			"or none was drawn", cfg.Downtime),
	}
}
