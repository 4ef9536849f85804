package selling

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
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

// movedAgent is the agent of a slot on that chain.
func movedAgent(rt *shell.Runtime, m fakeMoved) *Agent {
	base := &shell.Base{
		Clock: shelltest.Clock{}, RT: rt, Yield: shelltest.NoYield, Me: events.Address{1}, Log: shelltest.QuietLog(),
	}
	base.StoreWatch = shell.NewStoreWatch(base.Clock, base.Log, shelltest.NoYield)
	return &Agent{
		Deps: &Deps{
			Rules: &admission.Rules{Chain: chainview.New(base, m, duty.Margin{})},
			Reads: shell.NewPool("reads", 1), Transactions: shell.NewPool("transactions", 1),
			Decide: sale.Decide,
		},
	}
}

// A node that has not reached the block of a fill was taken for a reorganisation that undid it.
func TestANodeThatHasNotReachedTheFillSaysNothingOfIt(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		for filled, want := range map[uint64]error{105: nil, 106: chainview.ErrBehind} {
			st := sale.State{Phase: sale.Proving, OnChain: true, FilledBlock: filled, FilledHash: events.Hash{byte(filled)}}
			if cmd, err := movedAgent(rt, fakeMoved{}).askChain(t.Context(), st); !errors.Is(err, want) {
				t.Errorf("the fill is in block %d, and the node at block 105: %+v, %v", filled, cmd, err)
			}
		}
	})
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
				s := movedAgent(rt, fakeMoved{mined: c.mined})
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

// fakeBranch is a chain whose blocks have their number and branch in their hashes. The slot is ours.
type fakeBranch struct {
	port.Market
	branch byte
}

func (m fakeBranch) block(n uint64) events.Head {
	return events.Head{
		Number: n, Hash: events.Hash{byte(n), m.branch}, Parent: events.Hash{byte(n - 1), m.branch},
		Time: events.Unix(1_000 + n),
	}
}

func (m fakeBranch) HeadAt(_ context.Context, n uint64) (events.Head, error) { return m.block(n), nil }

// recorded are the events of the market's stream.
func recorded(t *testing.T, store events.Store, list ...messages.MarketEvent) {
	t.Helper()
	stream := events.MarketStream(0, events.Address{})
	for _, m := range list {
		name, version, data, err := catalog.Codec().Encode(m)
		if err == nil {
			_, err = store.Append(t.Context(), stream, events.Any(), []events.NewEvent{{
				ID: events.NewEventID(stream, t.Name()+name+string(data), 0), Type: name, Data: data,
				Meta: events.Metadata{Version: version},
			}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The chain is asked about a slot in the first block of a new branch, while the record and the view know only the
// old one, which was longer. A host took its blocks for those that the log of the fill may come late, and
// recorded that the slot was filled when the request was made.
func TestTheLogOfAFillThatMovedIsWaitedForAlthoughTheOldBranchWasLonger(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		gone, now := fakeBranch{branch: 1}, fakeBranch{branch: 2}
		store := storetest.NewMemory()
		base := &shell.Base{
			Clock: shelltest.Clock{}, RT: rt, Yield: shelltest.NoYield, Log: shelltest.QuietLog(), Store: store,
			Codec: catalog.Codec(),
		}
		base.StoreWatch = shell.NewStoreWatch(base.Clock, base.Log, shelltest.NoYield)
		s := &Agent{Deps: &Deps{Rules: &admission.Rules{Chain: chainview.New(base, now, duty.Margin{})}}}
		logged := func(b events.Head) *messages.ChainSlotFilled {
			return &messages.ChainSlotFilled{RequestId: s.request.String(), Log: &messages.ChainLog{
				Block: b.Number, BlockHash: b.Hash.String(), TxHash: events.Hash{1}.String(), Time: events.TimeToMessage(b.Time),
			}}
		}
		recorded(t, store, logged(gone.block(100)))
		for n := uint64(98); n <= 103; n++ {
			s.View.Advance(gone.block(n))
		}
		facts := events.SlotFacts{At: now.block(100)}

		s.Recorded.Store(103)
		if _, err := s.fillLog(t.Context(), facts); !errors.Is(err, chainview.ErrOvertaken) {
			t.Fatalf("the log of a block that is gone counts: %v", err)
		}
		s.Recorded.Store(99) // The reorganisation is recorded before the view hears of it.
		recorded(t, store, &messages.ChainReorganized{
			Ancestor: 99, AncestorHash: now.block(99).Hash.String(), Dropped: []string{gone.block(100).Hash.String()},
		})
		var fill events.Head
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			fill, err = s.fillLog(t.Context(), facts)
		}()
		waits := func(when string) {
			t.Helper()
			s.View.Wake()
			synctest.Wait()
			select {
			case <-ended:
				t.Fatalf("the log is not waited for %s: %+v, %v", when, fill, err)
			default:
			}
		}
		waits("before the view knows of the reorganisation")
		s.View.Rewind(now.block(99))
		waits("when the view has forgotten the old branch")
		s.View.Advance(now.block(100))
		waits("in its block")
		recorded(t, store, logged(now.block(100)))
		s.Recorded.Store(100)
		s.View.Wake()
		<-ended
		if err != nil || fill.Hash != now.block(100).Hash {
			t.Fatalf("the fill is in block %+v: %v", fill, err)
		}
	})
}
