package selling

import (
	"context"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/internal/housetest"
)

// While the chain was asked about a slot whose record had just been read again, a proof was
// once sent for a duty that had been excused meanwhile.
func TestACallThatNobodyWantsAnyMoreEndsWhileTheChainIsAsked(t *testing.T) {
	st := sale.State{Phase: sale.Proving, Duties: []sale.Duty{{Period: 8}}}
	s := &Agent{
		Deps: &Deps{
			Rules: &admission.Rules{Chain: &chainview.Chain{Base: &shell.Base{StoreWatch: &shell.StoreWatch{}}}},
			Next:  sale.Next, IsDuty: sale.IsDuty,
		},
		journal: &shell.Journal[sale.State, sale.Command, sale.Event]{Loaded: true, Durable: st, Ahead: st},
		looking: true,
	}
	s.effects = &shell.Effects[sale.Command, work]{Act: func(*shell.Turn) {}}
	wanted := sale.Next(st)
	if len(wanted) == 0 {
		t.Fatal("a sale with an open duty wants nothing")
	}
	rt := shell.NewRuntime(t.Context(), logrus.NewEntry(logrus.New()))
	defer rt.Kill()
	began, ended := make(chan context.Context, 1), make(chan struct{})
	rt.Root("agent", begins(func(a *shell.Turn) {
		s.effects.Begin(a, wanted[0].Key(), events.EventID{}, func(ctx context.Context) (sale.Command, error) {
			began <- ctx
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s.effects.Begin(a, "submit-proof:7", events.EventID{}, func(ctx context.Context) (sale.Command, error) {
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})
		s.act(a)
	}))
	<-ended // Else a call for a duty that is closed goes on.
	if still := <-began; still.Err() != nil {
		t.Error("a call for a duty that is open was ended")
	}
}

// begins is an actor that does something when it begins.
type begins func(*shell.Turn)

func (do begins) Receive(a *shell.Turn, msg any) {
	if _, is := msg.(shell.Started); is {
		do(a)
	}
}

// When a panic ends an agent, the scheduler goes on telling it about its duties. The next agent
// once recorded a miss, without a reason, for a proof that the contract had taken: what it was
// told while it read its record was decided without asking the market.
func TestWhatIsToldOfADutyWhileTheRecordIsReadWaitsForTheMarket(t *testing.T) {
	for _, told := range []sale.Command{
		sale.ReportPeriodClosed{Period: 8}, sale.ReportSilentPeriod{Period: 9},
	} {
		s := &Agent{
			Deps: &Deps{
				Rules: &admission.Rules{Chain: &chainview.Chain{Base: &shell.Base{StoreWatch: &shell.StoreWatch{}}}},
				Next:  sale.Next, IsDuty: sale.IsDuty,
			},
			journal: &shell.Journal[sale.State, sale.Command, sale.Event]{
				StoreWatch: &shell.StoreWatch{},
				Machine:    shell.Machine[sale.State, sale.Command, sale.Event]{Decide: sale.Decide, Evolve: sale.Evolve},
			},
			effects: &shell.Effects[sale.Command, work]{}, looking: true,
			hearing: true, // A question is open already, so none is asked here.
		}
		s.onCommand(nil, sales.Command{Cmd: told})
		s.onCommand(nil, sales.Command{Cmd: told}) // The next block.
		st := sale.State{Phase: sale.Proving, Duties: []sale.Duty{{Period: 8}}}
		s.journal.Loaded, s.journal.Durable, s.journal.Ahead = true, st, st
		s.onDurable(nil, nil)
		if len(s.held) != 1 || s.held[0].Cmd != told {
			t.Errorf("%T: held are %v, want what was told, once", told, s.held)
		}
	}
}

// A command about a duty that waits for the market's answer is kept once, however often the
// scheduler sends it.
func TestACommandAboutADutyIsTheSameWhenItIsRepeated(t *testing.T) {
	of := map[commandKind][]sale.Command{
		startCommand:  {sale.Start{}},
		dutyCommand:   {sale.ReportProofDue{}, sale.ReportProofExcused{}},
		missCommand:   {sale.ReportPeriodClosed{}, sale.ReportSilentPeriod{}},
		damageCommand: {sale.ReportDamaged{}},
		repairCommand: {sale.ReportRepaired{}},
		plainCommand: {
			sale.ReportCapacity{},
			sale.ReportNoCapacity{},
			sale.ReportSlotReserved{},
			sale.ReportNotReservable{},
			sale.ReportStored{},
			sale.ReportInitialProof{},
			sale.ReportProofOutdated{},
			sale.ReportFilled{},
			sale.ReportNotFree{},
			sale.GiveUp{},
			sale.ReportExtended{},
			sale.ReportProofSubmitted{},
			sale.ReportCollateral{},
			sale.ReportFreed{},
			sale.ReportDeleted{},
			sale.ReportSettled{},
			sale.ReportChain{},
			sale.Refill{},
		},
	}
	var all []sale.Command
	for kind, commands := range of {
		for _, c := range commands {
			if got := kindOf(c); got != kind {
				t.Errorf("%T is of kind %d, want %d", c, got, kind)
			}
			if held := kind == dutyCommand || kind == missCommand; sameDuty(c, c) != held {
				t.Errorf("%T is told of the same duty twice: %t, want %t", c, !held, held)
			}
		}
		all = append(all, commands...)
	}
	housetest.Complete(t, "../../events/sale", "given", all, "commands of which it is said what kind they are")
}
