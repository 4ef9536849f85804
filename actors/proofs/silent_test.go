package proofs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// pastChain is a chain of one block a second, which can be read.
type pastChain struct {
	port.Market
	from  time.Time // when block 0 was
	fails bool
	asked atomic.Int64 // how many questions were answered; they are asked at once
}

func (c *pastChain) block(n uint64) events.Head {
	return events.Head{
		Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0), Time: c.from.Add(time.Duration(n) * time.Second),
	}
}

func (c *pastChain) HeadAt(_ context.Context, n uint64) (events.Head, error) {
	if c.fails {
		return events.Head{}, errors.New("the node is away")
	}
	c.asked.Add(1)
	return c.block(n), nil
}

// batches reads many blocks at once.
type batches struct{ *pastChain }

func (c batches) HeadsBetween(_ context.Context, first, last uint64) ([]events.Head, error) {
	if c.fails {
		return nil, errors.New("the node is away")
	}
	var heads []events.Head
	for n := first; n <= last; n++ {
		heads = append(heads, c.block(n))
	}
	c.asked.Add(1)
	return heads, nil
}

// gap is a schedule on a chain that can be read.
type gap struct {
	*schedule
	chain *pastChain
}

const gapPeriod = 1000 // the first period of these tests

func newGap(t *testing.T, rt *shell.Runtime, batched bool) *gap {
	s := newSchedule(t, rt)
	g := &gap{s, &pastChain{from: duty.Start(s.cfg, gapPeriod).Add(-2000 * time.Second)}}
	var m port.Market = g.chain
	if batched {
		m = batches{g.chain}
	}
	terms := s.deps.Terms
	s.deps.Chain = chainview.New(s.deps.Base, m, s.deps.ProofMargin)
	s.deps.Terms, s.view = terms, s.deps.View
	return g
}

// after tells the scheduler of the block so many seconds after the first period began.
func (g *gap) after(seconds uint64) []sale.Command {
	g.t.Helper()
	g.told = nil
	h := g.chain.block(2000 + seconds)
	g.view.Advance(h)
	g.scheduler.Tell(chainview.HeadMoved{Head: h})
	synctest.Wait()
	return g.told
}

// markable are the periods from the first one on that could have been marked, up to the
// last whose marking was over so many seconds after the first one began.
func (g *gap) markable(seconds uint64) (periods []uint64) {
	slot := duty.Slot{ID: g.state.Slot, FilledAt: g.state.FilledAt, Probability: duty.Probability(g.cfg, g.state.Request.Ask.ProofProbability)}
	for p := uint64(gapPeriod); ; p++ {
		end := uint64(duty.End(g.cfg, p).Sub(g.chain.from) / time.Second)
		if end+10 > 2000+seconds {
			return periods
		}
		for n := end + 1; n < end+10; n++ {
			_, required, _ := duty.Required(g.cfg, &slot, p, duty.Window{First: n, Last: n}, duty.ChallengesOf(
				func(n uint64) (events.Hash, bool) { return chainviewtest.BlockHash(n, 0), true }))
			if required {
				periods = append(periods, p)
				break
			}
		}
	}
}

// keep folds the silent periods of what was told into the state of the sale.
func (g *gap) keep(told []sale.Command) {
	for _, c := range told {
		if c, ok := c.(sale.ReportSilentPeriod); ok {
			decided, _ := sale.Decide(g.state, c)
			for _, e := range decided {
				g.state = sale.Evolve(g.state, e)
			}
		}
	}
}

func silentOnes(told []sale.Command) (periods []uint64, reasons string) {
	for _, c := range told {
		if c, ok := c.(sale.ReportSilentPeriod); ok {
			periods = append(periods, c.Period)
			reasons += c.Reason + "\n"
		}
	}
	slices.Sort(periods)
	return slices.Compact(periods), reasons
}

func TestPeriodsThatWereOwedWhileTheHostWasDownAreTold(t *testing.T) {
	for _, batched := range []bool{false, true} {
		shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
			g := newGap(t, rt, batched)
			g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
			g.publish()
			told := g.after(1005)
			want := g.markable(1005)
			got, reasons := silentOnes(told)
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 5 || len(want) > 45 {
				t.Fatalf("silent periods (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(reasons, "the host did not run") {
				t.Errorf("the reasons: %s", reasons)
			}
			if batched && g.chain.asked.Load() > 20 {
				t.Errorf("%d calls for a gap of 1005 blocks", g.chain.asked.Load())
			}
			// They are told until the sale knows them, and no longer.
			g.keep(told)
			if again, _ := silentOnes(g.after(1006)); !slices.Equal(again, want) {
				t.Errorf("not told again before it is known: %d", again)
			}
			g.publish()
			if again, _ := silentOnes(g.after(1007)); len(again) != 0 {
				t.Errorf("told again after it was known: %d", again)
			}
		})
	}
}

func TestPeriodsWhoseBlocksCouldNotBeReadAreToldWhenTheyCan(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		g := newGap(t, rt, true)
		g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
		g.chain.fails = true
		g.publish()
		for i := range uint64(5) { // The scheduler sees one block in a hundred, and no hashes.
			if silent, _ := silentOnes(g.after(100 * i)); len(silent) > 0 {
				t.Fatalf("told without knowing: %d", silent)
			}
		}
		g.chain.fails = false
		silent, reasons := silentOnes(g.after(500))
		if diff := cmp.Diff(g.markable(500), silent); diff != "" || len(silent) < 3 {
			t.Fatalf("silent periods (-want +got):\n%s", diff)
		}
		if !strings.Contains(reasons, "could not be read while the period ran") {
			t.Errorf("the reasons: %s", reasons)
		}
	})
}

// The event store is away at the start: blocks come, and the sale's record cannot be read.
func TestAMissWhileTheSalesRecordWasNotReadIsNotBlamedOnTheChain(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		g := newGap(t, rt, true)
		g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
		for second := range uint64(200) {
			g.after(second)
		}
		g.publish()
		silent, reasons := silentOnes(g.after(300))
		if len(silent) < 3 || strings.Count(reasons, "not ready to prove before the period was over") < 3 {
			t.Errorf("%d: the reasons: %s", silent, reasons)
		}
	})
}

func TestWhileTheHostRunsNothingIsReadAndNothingIsSilent(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		g := newGap(t, rt, true)
		for n := uint64(1000); n < 2000; n++ {
			g.view.Advance(g.chain.block(n))
		}
		g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
		g.publish()
		owed := map[uint64]bool{}
		for i := range uint64(700) {
			for _, c := range g.after(i) {
				switch c := c.(type) {
				case sale.ReportProofDue:
					owed[c.Period] = true
					g.record(c)
					g.record(sale.ReportProofSubmitted{At: c.At, Period: c.Period})
				case sale.ReportSilentPeriod:
					t.Fatalf("second %d: silent: %+v", i, c)
				}
			}
		}
		for _, p := range g.markable(700) {
			if !owed[p] {
				t.Errorf("period %d could be marked and was not told", p)
			}
		}
		if g.chain.asked.Load() > 0 || len(owed) < 10 {
			t.Errorf("%d blocks were read; %d periods were owed", g.chain.asked.Load(), len(owed))
		}
	})
}

func TestTheWayBackIsBounded(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		g := newGap(t, rt, true)
		g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
		g.publish()
		silent, _ := silentOnes(g.after(3 * duty.MostPastBlocks))
		if len(silent) == 0 || silent[0] < gapPeriod+(2*duty.MostPastBlocks-chainview.BlocksPerRead)/20 {
			t.Fatalf("%d periods are told, the first is %d", len(silent), silent[0])
		}
		if most := int64(duty.MostPastBlocks/chainview.BlocksPerRead + 5); g.chain.asked.Load() > most+duty.MostPastBlocks/100 {
			t.Fatalf("%d calls, want about %d", g.chain.asked.Load(), most)
		}
	})
}

// The host died right after the first duty after the gap, before it had read the chain; and
// while it read the chain at the next start, it told of duties as usual.
func TestAStartJudgesTheGapInFrontOfWhatWasToldFirst(t *testing.T) {
	const gone = 100 * 20 // More periods than a sale remembers.
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		g := newGap(t, rt, true)
		g.state.FilledAt = duty.Start(g.cfg, gapPeriod-1)
		due := []uint64{gapPeriod + 100, gapPeriod + 101, gapPeriod + 130}
		for _, p := range due {
			g.record(sale.ReportProofDue{At: duty.Start(g.cfg, p), Period: p, Deadline: duty.End(g.cfg, p).Add(-time.Second)})
		}
		g.scheduler = rt.Root("the next start", New(g.deps))
		g.publish()
		told := g.after(gone + 31*20)
		silent, _ := silentOnes(told)
		want := slices.DeleteFunc(g.markable(gone+31*20), func(p uint64) bool { return slices.Contains(due, p) })
		if diff := cmp.Diff(want, silent); diff != "" || len(want) < 10 {
			t.Fatalf("silent periods (-want +got):\n%s", diff)
		}
		g.keep(told)
		g.publish()
		if again, _ := silentOnes(g.after(gone + 31*20 + 1)); len(again) > 0 {
			t.Errorf("told again after it was known: %d", again)
		}
	})
}
