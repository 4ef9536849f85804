package actors_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// purse is a market whose account holds what the test sets.
type purse struct {
	port.Market
	mu      sync.Mutex
	balance func(events.Balance) events.Balance
	lacks   bool // the node's chain lacks all payments
}

func (p *purse) Balance(ctx context.Context, paid ...events.Head) (events.Balance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lacks && len(paid) > 0 {
		return events.Balance{}, events.ErrBeforePayment
	}
	b, err := p.Market.Balance(ctx, paid...)
	return p.balance(b), err
}

func (p *purse) set(change func(events.Balance) events.Balance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.balance = change
}

func (p *purse) lack(lacks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lacks = lacks
}

func (r *rig) purse(change func(events.Balance) events.Balance) *purse {
	p := &purse{Market: r.ports.Market, balance: change}
	r.ports.Market = p
	return p
}

func TestMoneyThatComesWakesWhatWaitedForIt(t *testing.T) {
	poor := map[string]func(events.Balance) events.Balance{
		slotqueue.CriterionTokens: func(b events.Balance) events.Balance {
			b.Tokens = events.NewAmount(1)
			return b
		},
		slotqueue.CriterionGas: func(b events.Balance) events.Balance {
			b.Wei, b.ProofWei, b.SaleWei = events.NewAmount(1), events.NewAmount(10), events.NewAmount(10)
			return b
		},
	}
	for criterion, change := range poor {
		t.Run(criterion, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				p := r.purse(change)
				r.cfg.WalletDays = 2
				r.start()
				r.offer(64 * events.BlockSize)
				q := long(1, 1)
				r.world.Post(q)
				r.mineUntil("it is refused", r.releasedFor(q.ID, criterion))
				r.mine(150) // Several looks at the account, without a change.
				if r.count("SaleStarted") != 0 || r.count("SlotTaken") > 3 {
					r.Fatalf("without a change: %v", r.names())
				}
				p.set(func(b events.Balance) events.Balance { return b })
				r.mineUntil("it is filled", r.has("SlotFilled"))
			})
		})
	}
}

func TestASlotWaitsWhileTheNodesChainLacksAPayment(t *testing.T) {
	inWorld(t, func(r *rig) {
		p := r.purse(func(b events.Balance) events.Balance { return b })
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("the first is filled", r.has("SlotFilled"))
		p.lack(true)
		next := long(2, 1)
		r.world.Post(next)
		r.mineUntil("the second waits", r.releasedFor(next.ID, slotqueue.CriterionTokens))
		p.lack(false)
		r.mineUntil("the second is filled", func() bool { return r.count("SlotFilled") == 2 })
	})
}

func TestAnAccountThatRunsDryIsToldOnceUntilItIsBetter(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.WalletDays = 2
		alerts := r.listen()
		rich := func(b events.Balance) events.Balance {
			b.ProofWei = events.NewAmount(1)
			return b
		}
		dry := func(b events.Balance) events.Balance {
			b.ProofWei, b.Wei = events.NewAmount(1), events.NewAmount(100)
			return b
		}
		p := r.purse(rich)
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("it is filled", r.has("SlotFilled"))
		for i, step := range []struct {
			balance func(events.Balance) events.Balance
			want    int
		}{{rich, 0}, {dry, 1}, {dry, 1}, {rich, 1}, {dry, 2}} {
			p.set(step.balance)
			r.mine(65)
			if told := alerts.of(health.AlertFunds); len(told) != step.want {
				r.Fatalf("step %d: told %d times, want %d: %+v", i, len(told), step.want, told)
			}
		}
	})
}

func TestCollateralThatComesBackMayBePutAtRiskAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		most := events.NewAmount(uint64(4 * events.BlockSize)) // Of one slot.
		r.cfg.MaxCollateralAtRisk = &most
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the first is filled", r.has("SlotFilled"))
		r.world.Post(long(2, 1))
		r.mine(3)
		refused := all[*messages.SlotsRefused](r)
		if len(refused) != 1 || refused[0].GetCriterion() != "collateral-at-risk" ||
			!strings.Contains(refused[0].GetReason(), "262144 base units at stake, the most is 262144 base units") {
			r.Fatalf("refused: %v", refused)
		}
		r.mineUntil("the second is filled", func() bool { return r.count("SlotFilled") == 2 })
		if r.count("SaleSettled") != 1 {
			r.Fatalf("more was at stake than may be: %v", r.names())
		}
	})
}
