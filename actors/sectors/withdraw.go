package sectors

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Returned deposits and rewards, which the contract owes the account, are withdrawn now and then, and when a sector
// is over. The account's stream has the transaction, and the contract says what is still owed, so after a crash
// nothing is paid, or sent, twice.

// withdrawals says when the contract is asked next what it owes.
type withdrawals struct {
	asking bool
	next   uint64 // the block; 0: now
}

// withdrawn is the outcome of one.
type withdrawn struct {
	owed    events.Amount // when it was asked
	receipt events.Receipt
	err     error
}

// withdraw asks the contract what it owes, if it is time, and collects that if it is enough.
func (s *Sectors) withdraw(a *shell.Turn) {
	w := &s.withdrawals
	if w.asking || !s.booted || s.head.Number < w.next {
		return
	}
	w.asking, w.next = true, s.head.Number+s.WithdrawEvery
	key := fmt.Sprintf("Withdraw:%d", s.head.Number)
	self := a.Self
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, key)
		var m withdrawn
		m.err = s.RT.Guarded(key, func() (err error) {
			if m.owed, err = s.Chain.Owed(ctx); err != nil || m.owed.IsZero() || m.owed.Less(s.WithdrawMin) {
				return err
			}
			if err := s.StoreWatch.Wait(ctx, key); err != nil {
				return err
			}
			m.receipt, err = shell.In(ctx, s.transactions, time.Time{}, func() (events.Receipt, error) {
				return s.Chain.Withdraw(ctx, key)
			})
			return err
		})
		self.Tell(m)
	})
}

func (s *Sectors) onWithdrawn(m withdrawn) {
	s.withdrawals.asking = false
	switch {
	case m.err != nil:
		s.Log.Warnf("what the contract of sectors owes was not withdrawn; it is asked again in %d blocks: %v",
			s.WithdrawEvery, m.err)
	case !m.receipt.TxHash.Zero():
		s.Log.WithField("tx", m.receipt.TxHash.String()).Infof(
			"withdrew %s base units that the contract of sectors owed", m.owed)
	}
}
