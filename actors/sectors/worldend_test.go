package sectors_test

import (
	"context"
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
	if on := c.onchain[numbers[0]]; on != nil && on.Faulty && c.mined[key].TxHash.Zero() {
		return events.Receipt{}, nil
	}
	return c.send(ctx, "DeclareFaults", key, numbers[0], func() error {
		on := c.onchain[numbers[0]]
		if on == nil || !on.Active {
			return events.ErrSectorNotLive
		}
		if c.loses {
			return nil
		}
		on.Faulty, on.FaultyFrom = true, on.NextPeriod
		return nil
	})
}

func (c chain) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return c.send(ctx, "DeclareRecoveries", key, numbers[0], func() error {
		on := c.onchain[numbers[0]]
		if on == nil || !on.Active {
			return events.ErrSectorNotLive
		}
		on.RecoverAt = max(on.NextPeriod, c.window().Period+1)
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
