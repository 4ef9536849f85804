package sectors_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// How the contract of world answers to faults, recoveries and ends.

// DutiesDue notes by when the next proof is due.
func (c chain) DutiesDue(next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, next)
}

func (c chain) DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return c.declare(ctx, "DeclareFaults", key, numbers, func(on *events.SectorOnChain) bool { return !on.Faulty },
		func(on *events.SectorOnChain) {
			if !c.loses {
				on.Faulty, on.FaultyFrom = true, on.NextPeriod
			}
		})
}

func (c chain) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return c.declare(ctx, "DeclareRecoveries", key, numbers, func(on *events.SectorOnChain) bool {
		return on.RecoverAt == 0 || on.RecoverAt < on.NextPeriod
	}, func(on *events.SectorOnChain) { on.RecoverAt = max(on.NextPeriod, c.window().Period+1) })
}

// declare has the effect of a message on each of its sectors for which it is needed, or none if the contract refuses one.
func (c chain) declare(
	ctx context.Context, kind, key string, numbers []uint64, needed func(*events.SectorOnChain) bool,
	does func(*events.SectorOnChain),
) (r events.Receipt, err error) {
	return r, c.ask(ctx, kind, func() error {
		var tell []uint64
		for _, n := range numbers {
			on := c.onchain[n]
			if on == nil || !on.Active || c.refuses[n] {
				return fmt.Errorf("sector %d: %w", n, events.ErrSectorNotLive)
			}
			if needed(on) {
				tell = append(tell, n)
			}
		}
		if known, ok := c.mined[key]; ok || len(tell) == 0 {
			r = known
			return nil
		}
		r = events.Receipt{TxHash: hashOf(key), Block: c.block(c.head)}
		c.mined[key] = r
		for _, n := range tell {
			what := fmt.Sprintf("%s %d", kind, n)
			c.note(what, key)
			c.effects[what]++
			does(c.onchain[n])
		}
		return nil
	})
}

func (c chain) Terminate(ctx context.Context, key string, n uint64) (events.Receipt, error) {
	c.mu.Lock()
	on := c.onchain[n]
	c.mu.Unlock()
	if on == nil {
		return events.Receipt{}, nil
	}
	return c.send(ctx, "Terminate", key, n, func() error {
		on.Active, on.Terminated = c.tellsPast, true
		return nil
	})
}

func (c chain) Settle(ctx context.Context, key string, n uint64) (s events.SectorSettlement, err error) {
	return s, c.ask(ctx, "Settle", func() error {
		switch on := c.onchain[n]; {
		case on == nil, c.settled[n].Receipt.TxHash == hashOf(key):
			s = c.settled[n] // As the logs of the contract say.
			return nil
		case on.Void:
			delete(c.onchain, n)
			s.Lost = events.NewAmount(3)
			s.Returned = on.Deposit.Sub(s.Lost)
		case !on.Terminated:
			return events.ErrTooEarly
		default:
			s.Lost = events.NewAmount(5)
			s.Returned = on.Deposit.Sub(s.Lost)
		}
		s.Receipt = events.Receipt{TxHash: hashOf(key), Block: c.block(c.head)}
		c.owed = c.owed.AddSaturating(s.Returned)
		s.Lost = s.Lost.Add(c.settled[n].Lost) // In all.
		c.settled[n] = s
		return nil
	})
}

func (c chain) Owed(ctx context.Context) (owed events.Amount, err error) {
	return owed, c.ask(ctx, "Owed", func() error { owed = c.owed; return nil })
}

func (c chain) Withdraw(ctx context.Context, key string) (w events.SectorWithdrawal, err error) {
	c.mu.Lock()
	none := c.owed.IsZero() && c.mined[key].TxHash.Zero()
	c.mu.Unlock()
	if none {
		return w, nil
	}
	w.Receipt, err = c.send(ctx, "Withdraw", key, 0, func() error {
		c.payments[key] = c.owed
		c.paid, c.owed = c.paid.AddSaturating(c.owed), events.Amount{}
		return nil
	})
	w.Amount = c.payments[key]
	return w, err
}
