package actors

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// usualPace is what the operator says of blocks in these tests.
const usualPace = 12 * time.Second

// paced is a block of a chain with a block each usualPace; a branch is a reorganisation.
func paced(n uint64, branch byte) events.Head {
	parent := branch
	if n == pacedFork+1 {
		parent = 0
	}
	return events.Head{
		Number: n, Hash: blockHash(n, branch), Parent: blockHash(n-1, parent), Time: events.Unix(12 * n),
	}
}

// pacedFork is the last block that all branches have in common.
const pacedFork = 20

func unknownHash(uint64) (events.Hash, bool) { return events.Hash{}, false }

// Behind a block that is looked at again, because its hashes had to be read, the pace
// would be unknown, and proofs would be owed, too late to be sent, that nobody demands.
func TestABlockThatIsLookedAtAgainLeavesThePaceAsItIs(t *testing.T) {
	var p pacer
	for n := range uint64(5) {
		p.see(paced(n, 0), unknownHash)
		p.see(paced(n, 0), unknownHash)
	}
	if got := p.shortest(usualPace); got != usualPace || len(p.heads) != 5 {
		t.Errorf("%d blocks are %s apart, want %s", len(p.heads), got, usualPace)
	}
}

// A node may say anything of numbers and times.
func TestBlocksThatMakeNoSenseLeaveAPace(t *testing.T) {
	for name, next := range map[string]func(events.Head) events.Head{
		"the same number":          func(h events.Head) events.Head { h.Number--; return h },
		"the same number and time": func(h events.Head) events.Head { h.Number, h.Time = h.Number-1, paced(3, 0).Time; return h },
		"an earlier time":          func(h events.Head) events.Head { h.Time = events.Unix(1); return h },
		"no time":                  func(h events.Head) events.Head { h.Time = time.Time{}; return h },
		"a number below all":       func(h events.Head) events.Head { h.Number = 0; return h },
	} {
		t.Run(name, func(t *testing.T) {
			var p pacer
			for n := range uint64(4) {
				p.see(paced(n, 0), unknownHash)
			}
			p.see(next(paced(4, 0)), unknownHash)
			if got := p.shortest(usualPace); got < time.Millisecond || got > usualPace {
				t.Fatalf("blocks are %s apart", got)
			}
		})
	}
}

func TestAReorganisationLeavesThePaceOfTheBlocksThatAreStillThere(t *testing.T) {
	for name, next := range map[string]uint64{"below": pacedFork + 1, "above": pacedFork + 8} {
		t.Run(name, func(t *testing.T) {
			var p pacer
			for n := uint64(10); n <= pacedFork; n++ {
				p.see(paced(n, 0), unknownHash)
			}
			for n := uint64(pacedFork + 1); n <= pacedFork+5; n++ { // Quick ones, of a branch that goes.
				h := paced(n, 1)
				h.Time = paced(pacedFork, 0).Time.Add(time.Duration(n-pacedFork) * time.Second)
				p.see(h, unknownHash)
			}
			if got := p.shortest(usualPace); got != time.Second {
				t.Fatalf("blocks are %s apart, want a second", got)
			}
			p.see(paced(next, 2), func(n uint64) (events.Hash, bool) {
				if n <= pacedFork {
					return blockHash(n, 0), true
				}
				return blockHash(n, 2), true
			})
			if got := p.shortest(usualPace); got != usualPace || len(p.heads) != pacedFork-10+2 {
				t.Errorf("%d blocks are %s apart, want %s", len(p.heads), got, usualPace)
			}
		})
	}
}

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

// knows puts the blocks before one at hand; the pacer has not seen them.
func (s *schedule) knows(block uint64, at func(uint64) time.Time) {
	for n := block - 300; n < block; n++ {
		s.view.advance(events.Head{Number: n, Hash: blockHash(n, 0), Parent: blockHash(n-1, 0), Time: at(n)})
	}
}

// Without the blocks before the start a duty is opened that nobody demands; with them not.
func TestWhatIsKnownOfThePaceAtTheStartOpensNoDutyThatNobodyDemands(t *testing.T) {
	for _, known := range []bool{true, false} {
		shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
			s := newSchedule(t, rt)
			s.cfg.Timeout = 50 * time.Second
			s.env.terms.Proofs, s.env.proofMargin.BlockTime = s.cfg, usualPace
			const period = 1000
			block, at := s.slowly(period)
			p := newProofScheduler(s.env)
			if known {
				var heads []events.Head
				for n := block - 256; n < block; n++ {
					heads = append(heads, events.Head{
						Number: n, Hash: blockHash(n, 0), Parent: blockHash(n-1, 0),
						Time: at(n),
					})
				}
				p.pace.learn(heads)
			}
			s.scheduler = rt.Root("started again", p)
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
		s.env.terms.Proofs = s.cfg
		const period = 1000
		block, at := s.slowly(period)
		s.knows(block, at)
		s.publish()
		s.record(sale.ReportProofDue{
			At: at(block), Period: period, Challenge: events.Challenge{1}, Deadline: lastOf(s.cfg, period),
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

// One that can be marked in the last block of the marking only is a miss.
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
		s.record(sale.ReportProofDue{At: end, Period: period, Challenge: events.Challenge{1}, Deadline: lastOf(s.cfg, period)})
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
