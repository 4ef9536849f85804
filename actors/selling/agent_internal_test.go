package selling

import (
	"context"
	"testing"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events/sale"
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
		running: map[string]*work{}, looking: true,
	}
	wanted := sale.Next(st)
	if len(wanted) == 0 {
		t.Fatal("a sale with an open duty wants nothing")
	}
	still, cancelStill := context.WithCancel(t.Context())
	past, cancelPast := context.WithCancel(t.Context())
	s.running[wanted[0].Key()] = &work{cancel: cancelStill}
	s.running["submit-proof:7"] = &work{cancel: cancelPast}
	s.act(nil)
	if past.Err() == nil || !s.running["submit-proof:7"].unwanted {
		t.Error("a call for a duty that is closed goes on")
	}
	if still.Err() != nil {
		t.Error("a call for a duty that is open was ended")
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
			running: map[string]*work{}, looking: true,
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
