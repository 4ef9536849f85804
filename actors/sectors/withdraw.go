package sectors

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// Returned deposits and rewards, which the contract owes the account, are withdrawn now and then, and when a sector
// is over. Withdrawals have numbers, and the ledger records each when it is final; until then no other one begins. Its
// key has the number, so after a crash the same one is asked for again, which pays nothing twice and says what it paid.

// withdrawals says when the contract is asked next what it owes.
type withdrawals struct {
	asking  bool
	pending bool   // one is not final yet: each block it is asked for
	next    uint64 // the block of the next one; 0: now
}

// withdrawn is the outcome of one.
type withdrawn struct {
	events.SectorWithdrawal
	final bool // and recorded
	err   error
}

// withdraw asks the contract what it owes, if it is time, and collects that if it is enough.
func (s *Sectors) withdraw(a *shell.Turn) {
	w := &s.withdrawals
	if w.asking || !s.booted || s.head.Number < w.next && !w.pending {
		return
	}
	if w.asking = true; !w.pending {
		w.next = s.head.Number + s.WithdrawEvery
	}
	name := fmt.Sprintf("withdraw at block %d", s.head.Number)
	s.Later(a, name, func(ctx context.Context) any {
		var m withdrawn
		m.err = s.RT.Guarded(name, func() (err error) {
			m, err = s.collect(ctx, name)
			return err
		})
		return m
	})
}

// collect makes the next withdrawal, or finds the one that was begun, and records it.
func (r *room) collect(ctx context.Context, name string) (m withdrawn, err error) {
	owed, err := r.Chain.Owed(ctx)
	// When nothing is owed, one may have been paid that is not recorded. If there is none, nothing is sent.
	if err != nil || !owed.IsZero() && owed.Less(r.WithdrawMin) {
		return m, err
	}
	if err := r.StoreWatch.Wait(ctx, name); err != nil {
		return m, err
	}
	book, err := shell.Ask[capacity.Snapshot](r.Ledger, ledger.Show{}).Wait(ctx)
	if err != nil {
		return m, err
	}
	number := book.Deposits.Withdrawals + 1
	key := fmt.Sprintf("Withdrawal:%d", number)
	m.SectorWithdrawal, err = shell.In(ctx, r.transactions, time.Time{}, func() (events.SectorWithdrawal, error) {
		return r.Chain.Withdraw(ctx, key)
	})
	if err != nil || m.Receipt.TxHash.Zero() {
		return m, err
	}
	if m.final, err = r.Chain.Final(ctx, m.Receipt.Block.Number); err != nil || !m.final {
		return m, err
	}
	return m, ledger.Do(ctx, r.Ledger, ledger.Command{Cause: "withdrawn", Cmd: capacity.Withdraw{
		At: r.Clock.Now(), Number: number, Amount: m.Amount, Message: m.Receipt.TxHash,
	}})
}

func (s *Sectors) onWithdrawn(m withdrawn) {
	s.withdrawals.asking = false
	s.withdrawals.pending = m.err == nil && !m.Receipt.TxHash.Zero() && !m.final
	switch {
	case m.err != nil:
		s.Log.Warnf("what the contract of sectors owes was not withdrawn; it is asked again in %d blocks: %v",
			s.WithdrawEvery, m.err)
	case m.final:
		s.Log.WithField("tx", m.Receipt.TxHash.String()).Infof(
			"withdrew %s base units that the contract of sectors owed", m.Amount)
	}
}
