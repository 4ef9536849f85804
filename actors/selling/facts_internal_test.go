package selling

import (
	"context"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// fakeMoved is a chain on which the recorded block of a fill is no more. The slot is in repair at block 105; a fill
// of ours is mined in another block.
type fakeMoved struct {
	port.Market
	mined uint64
}

func (fakeMoved) Slot(context.Context, events.RequestID, uint64) (events.SlotFacts, error) {
	return events.SlotFacts{
		RequestKnown: true, RequestState: events.RequestStarted, SlotState: events.SlotRepair,
		At: events.Head{Number: 105, Hash: events.Hash{105}, Time: events.Unix(1_000)},
	}, nil
}

func (fakeMoved) HeadAt(_ context.Context, n uint64) (events.Head, error) {
	return events.Head{Number: n, Hash: events.Hash{byte(n)}, Time: events.Unix(1_000)}, nil
}

func (m fakeMoved) FillSlot(context.Context, events.SlotCall, events.Proof) (events.Fill, error) {
	return events.Fill{Block: m.mined}, nil
}

// A slot was once recorded as lost because the fill that was found had been mined after the contract was asked.
func TestAFillThatWasMinedSinceTheSlotWasReadSaysNothingOfItsLoss(t *testing.T) {
	for name, c := range map[string]struct {
		mined uint64
		err   error
		fill  sale.FillStatus
	}{
		"it moved to another block, and was lost": {mined: 103, fill: sale.FillStands},
		"it was filled again since":               {mined: 107, err: chainview.ErrOvertaken},
	} {
		t.Run(name, func(t *testing.T) {
			shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
				base := &shell.Base{
					Clock: shelltest.Clock{}, RT: rt, Yield: shelltest.NoYield, Me: events.Address{1}, Log: shelltest.QuietLog(),
				}
				base.StoreWatch = shell.NewStoreWatch(base.Clock, base.Log, shelltest.NoYield)
				s := &Agent{
					Deps: &Deps{
						Rules: &admission.Rules{Chain: chainview.New(base, fakeMoved{mined: c.mined}, duty.Margin{})},
						Reads: shell.NewPool("reads", 1), Transactions: shell.NewPool("transactions", 1),
						Decide: sale.Decide,
					},
				}
				st := sale.State{Phase: sale.Proving, OnChain: true, FilledBlock: 100, FilledHash: events.Hash{1}}
				cmd, err := s.askChain(t.Context(), st)
				if !errors.Is(err, c.err) {
					t.Fatalf("%v, want %v", err, c.err)
				}
				if report, ok := cmd.(sale.ReportChain); c.err == nil && (!ok || report.Fill != c.fill) {
					t.Errorf("%+v, want that the fill %s", cmd, c.fill)
				}
			})
		})
	}
}
