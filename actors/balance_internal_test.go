package actors

import (
	"context"
	"slices"
	"testing"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
)

// shrinking is an account that holds less each time it is asked.
type shrinking struct {
	port.Market
	tokens uint64
}

func (m *shrinking) Balance(_ context.Context, paid ...events.Head) (events.Balance, error) {
	m.tokens--
	if len(paid) > 0 && paid[0].Number > 10-m.tokens {
		return events.Balance{}, events.ErrBeforePayment
	}
	return events.Balance{Tokens: events.NewAmount(m.tokens)}, nil
}

// lists answers with what was handed out so far, as each question finds it, and the block of the last payment.
type lists struct {
	handedOut []uint64
	paid      uint64
}

func (l *lists) Receive(a *shell.Turn, msg any) {
	if _, ok := msg.(listOutstanding); ok {
		n := l.handedOut[0]
		l.handedOut = l.handedOut[1:]
		a.Asker()(outstanding{[]slotqueue.Unpaid{{SlotIndex: n}}, []events.Head{{Number: l.paid}}, n}, nil)
	}
}

// partOf is the address of an actor that runs.
func partOf(r shell.Ref) *shell.Part {
	p := shell.NewPart(r.Name)
	p.Began(r)
	return p
}

// A slot that is handed out, sold and paid while the balance is read is missing in the list before it and in the
// promises after it, and the balance may still have its tokens.
func TestTheBalanceIsReadAgainIfASlotWasHandedOutMeanwhile(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := &handout{roster: &roster{Rules: &admission.Rules{Chain: &chainview.Chain{Base: bareBase(storetest.NewMemory())}}}}
		s.Market = &shrinking{tokens: 10}
		answers := &lists{handedOut: []uint64{1, 2, 4, 4}, paid: 1}
		s.root = partOf(rt.Root("supervisor", answers))
		tokens, sales, older, err := s.availableBalance(t.Context())
		if err != nil || older != nil || tokens != events.NewAmount(7) || !slices.Equal(sales, []slotqueue.Unpaid{{SlotIndex: 4}}) {
			t.Fatalf("got %s, %v, %v", tokens, sales, err)
		}
	})
}

// A node that is behind tells what the account held before a slot was paid, which is not counted as unpaid any more.
func TestABalanceFromBeforeTheLastPaymentIsNotBelieved(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := &handout{roster: &roster{Rules: &admission.Rules{Chain: &chainview.Chain{Base: bareBase(storetest.NewMemory())}}}}
		s.View = chainview.NewView(nil)
		s.Market = &shrinking{tokens: 10}
		answers := &lists{handedOut: []uint64{1, 1}, paid: 2}
		s.root = partOf(rt.Root("supervisor", answers))
		_, _, older, err := s.availableBalance(t.Context())
		if err != nil || older == nil || !older.Requeue || older.RetryAt.IsZero() {
			t.Fatalf("got %v, %v", older, err)
		}
	})
}
