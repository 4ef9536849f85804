package proofs

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// usualPace is the configured block time in these tests.
const usualPace = 12 * time.Second

// A pointer so deep in its downtime that a slow chain never leaves it in time.
const deepPointer = 2

// slowly is a sale's first block of a period, with a pointer deep in the downtime, and the
// pace of a chain with a block each ten seconds, where nobody can mark a miss of it.
func (s *schedule) slowly(period uint64) (block uint64, at func(uint64) time.Time) {
	block = s.blockWithPointer(period, deepPointer)
	return block, func(n uint64) time.Time {
		return duty.Start(s.cfg, period).Add(10 * time.Second * time.Duration(int64(n)-int64(block)))
	}
}

// knows adds the blocks before one to the view; the pacer has not seen them.
func (s *schedule) knows(block uint64, at func(uint64) time.Time) {
	for n := block - 300; n < block; n++ {
		s.view.Advance(events.Head{Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0), Time: at(n)})
	}
}

// Without the blocks before the start a duty is opened that nobody demands; with them none is.
func TestWhatIsKnownOfThePaceAtTheStartOpensNoDutyThatNobodyDemands(t *testing.T) {
	for _, known := range []bool{true, false} {
		shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
			s := newSchedule(t, rt)
			s.cfg.Timeout = 50 * time.Second
			s.deps.Terms.Proofs, s.deps.ProofMargin.BlockTime = s.cfg, usualPace
			const period = 1000
			block, at := s.slowly(period)
			if known {
				for n := block - 256; n < block; n++ {
					s.deps.Recent = append(s.deps.Recent, events.Head{
						Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0),
						Time: at(n),
					})
				}
			}
			s.scheduler = rt.Root("started again", New(s.deps))
			s.publish()
			told := s.head(block, at(block))
			if opened := len(told) > 0; opened == known {
				t.Errorf("with the past known (%t) the sale was told %+v", known, told)
			}
		})
	}
}

// A duty that was opened because the pace was not known is no miss when no block came that
// could mark it.
func TestADutyThatNobodyCouldMarkIsExcusedAndNotMissed(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		s.cfg.Timeout = 50 * time.Second
		s.deps.Terms.Proofs = s.cfg
		const period = 1000
		block, at := s.slowly(period)
		s.knows(block, at)
		s.publish()
		s.record(sale.ReportProofDue{
			At: at(block), Period: period, Challenge: events.Challenge{1}, Deadline: duty.Deadline(s.cfg, period),
		})
		excused := 0
		for n := block; n < block+10; n++ {
			for _, c := range s.head(n, at(n)) {
				switch c := c.(type) {
				case sale.ReportPeriodClosed:
					t.Fatalf("block %d of the period: the duty was closed as missed: %+v", n-block, c)
				case sale.ReportProofExcused:
					if c.Period == period && at(n).After(duty.LastMarking(s.cfg, period)) {
						excused++
					}
				}
			}
		}
		if excused == 0 {
			t.Error("the duty stays open")
		}
	})
}

// A duty that can be marked only in the last block of the marking is a miss.
func TestADutyThatTheLastBlockOfTheMarkingDemandsIsMissed(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		const period = 1000
		end := duty.End(s.cfg, period)
		// A block a second: the last one of the marking has a pointer just out of downtime.
		block := s.blockWithPointer(period, s.cfg.Downtime-8)
		at := func(n uint64) time.Time { return end.Add(time.Duration(int64(n)-int64(block)) * time.Second) }
		s.knows(block, at)
		s.publish()
		s.record(sale.ReportProofDue{At: end, Period: period, Challenge: events.Challenge{1}, Deadline: duty.Deadline(s.cfg, period)})
		missed := uint64(0)
		for i := range uint64(12) {
			for _, c := range s.head(block+i, at(block+i)) {
				switch c := c.(type) {
				case sale.ReportPeriodClosed:
					if c.Period == period && missed == 0 {
						missed = i
					}
				case sale.ReportProofExcused:
					if c.Period == period {
						t.Fatalf("excused %d blocks behind the end", i)
					}
				}
			}
		}
		if missed == 0 {
			t.Error("the duty was not missed")
		}
	})
}
