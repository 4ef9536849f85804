package proofs

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
)

// schedule is a scheduler with one hosted slot, and what it told its sale.
type schedule struct {
	t         *testing.T
	scheduler shell.Ref
	agent     shell.Ref
	view      *chainview.View
	deps      Deps
	state     sale.State
	told      []sale.Command
	cfg       events.ProofConfig
}

func newSchedule(t *testing.T, rt *shell.Runtime) *schedule {
	s := &schedule{t: t, cfg: events.ProofConfig{
		Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67,
	}}
	s.deps = depsOf(&shell.Base{
		RT: rt, Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Store: storetest.NewMemory(), Codec: catalog.Codec(),
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield), Yield: shelltest.NoYield,
	})
	s.deps.Terms = events.MarketConfig{Proofs: s.cfg}
	s.deps.Quarantined = quarantine.New(s.deps.Base, func(quarantine.Event, func()) {})
	s.view = s.deps.View
	s.agent = rt.Root("sale", shelltest.BehaviorFunc(func(_ *shell.Turn, msg any) {
		if m, ok := msg.(sales.Command); ok {
			s.told = append(s.told, m.Cmd)
		}
	}))
	s.scheduler = rt.Root("scheduler", New(s.deps))
	s.state = sale.State{
		Phase: sale.Proving, Slot: events.SlotID{31: 7}, Started: true,
		FilledAt: events.Unix(998 * 20), EndsAt: events.Unix(1 << 30),
		Request: events.Request{Ask: events.Ask{ProofProbability: events.NewAmount(1)}},
	}
	return s
}

// depsOf are what a scheduler needs, on a chain with a block each second.
func depsOf(b *shell.Base) Deps {
	chain := chainview.New(b, &chainviewtest.ChainOf{}, duty.Margin{Blocks: 6, BlockTime: time.Second})
	rules := admission.New(chain, admission.Limits{Proofs: 1}, 0)
	return Deps{
		Rules: rules, Alerts: health.NewAlerts(b, nil), Provers: NewProvers(rules), Verdict: (*duty.Pass).Verdict,
	}
}

// pointerAt is the slot's pointer in the block after this one.
func (s *schedule) pointerAt(block, period uint64) uint8 {
	return duty.Pointer(s.cfg, s.state.Slot, block+1, period)
}

// head tells the scheduler of a block and returns what it told the sale.
func (s *schedule) head(number uint64, at time.Time) []sale.Command {
	s.t.Helper()
	s.told = nil
	h := events.Head{Number: number, Hash: chainviewtest.BlockHash(number, 0), Parent: chainviewtest.BlockHash(number-1, 0), Time: at}
	s.view.Advance(h)
	s.scheduler.Tell(chainview.HeadMoved{Head: h})
	synctest.Wait()
	return s.told
}

// record folds a command into the state of the sale and tells the scheduler.
func (s *schedule) record(cmd sale.Command) {
	s.t.Helper()
	decided, err := sale.Decide(s.state, cmd)
	if err != nil || len(decided) != 1 {
		s.t.Fatalf("%T brought %d events, %v", cmd, len(decided), err)
	}
	s.state = sale.Evolve(s.state, decided[0])
	s.publish()
}

func (s *schedule) publish() {
	s.scheduler.Tell(sales.Changed{Agent: s.agent.Address(), Slot: s.state.Slot, State: s.state, Ahead: s.state})
	synctest.Wait()
}

// blockWithPointer is a block of the period at which the next one's pointer is wanted.
func (s *schedule) blockWithPointer(period uint64, wanted uint8) uint64 {
	for n := uint64(1000); ; n++ {
		if s.pointerAt(n, period) == wanted {
			return n
		}
	}
}

func TestADutyIsToldUntilItIsRecorded(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		const period = 1000
		block, at := s.blockWithPointer(period, 100), duty.Start(s.cfg, period)
		s.publish()
		var due sale.ReportProofDue
		for i := range uint64(3) {
			told := s.head(block+i, at.Add(time.Duration(i)*time.Second))
			var ok bool
			if len(told) == 0 {
				t.Fatalf("block %d: nothing was told", i)
			}
			if due, ok = told[0].(sale.ReportProofDue); !ok || due.Period != period {
				t.Fatalf("block %d: told %+v", i, told)
			}
			if want := duty.End(s.cfg, period).Add(-time.Second); !due.Deadline.Equal(want) {
				t.Fatalf("the deadline is %s, want %s", due.Deadline, want)
			}
		}
		s.record(due)
		if told := s.head(block+3, at.Add(3*time.Second)); len(told) != 0 {
			t.Fatalf("told again after it was recorded: %+v", told)
		}
		s.record(sale.ReportProofSubmitted{At: at, Period: period})
		if told := s.head(block+4, at.Add(4*time.Second)); len(told) != 0 {
			t.Fatalf("told again after the proof: %+v", told)
		}
	})
}

func TestAnOpenDutyIsClosedAfterItsDeadline(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		const period = 1000
		block, at := s.blockWithPointer(period, 100), duty.Start(s.cfg, period)
		s.publish()
		s.record(s.head(block, at)[0])
		last := duty.End(s.cfg, period).Add(-time.Second)
		for _, c := range s.head(block+1, last) {
			if c, ok := c.(sale.ReportPeriodClosed); ok {
				t.Fatalf("closed in the last second of the period: %+v", c)
			}
		}
		told := s.head(block+2, last.Add(time.Second))
		closed, ok := told[0].(sale.ReportPeriodClosed)
		if !ok || closed.Period != period {
			t.Fatalf("after the deadline told %+v", told)
		}
	})
}

func TestADutyIsExcusedWhenThePointerWrapsToWhereNoneIsDemanded(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		const period = 1000
		block, at := s.blockWithPointer(period, 255), duty.Start(s.cfg, period)
		s.publish()
		s.record(s.head(block, at)[0])
		told := s.head(block+1, at.Add(time.Second))
		if len(told) != 1 {
			t.Fatalf("after the wrap told %+v", told)
		}
		if excused, ok := told[0].(sale.ReportProofExcused); !ok || excused.Period != period {
			t.Fatalf("after the wrap told %+v", told)
		}
	})
}

func TestASlotThatBeginsToProveIsToldWithoutWaitingForABlock(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		const period = 1000
		s.state.Phase = sale.Filling
		s.publish()
		if told := s.head(s.blockWithPointer(period, 100), duty.Start(s.cfg, period)); len(told) != 0 {
			t.Fatalf("a slot that is not ours yet was told %+v", told)
		}
		s.state.Phase = sale.Filled
		s.publish()
		if len(s.told) != 1 || fmt.Sprintf("%T", s.told[0]) != "sale.ReportProofDue" {
			t.Fatalf("told %+v", s.told)
		}
	})
}
