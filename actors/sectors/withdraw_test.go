package sectors_test

import (
	"context"
	"testing"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// terminated returns a host with a sector that was proven and is over.
func (h *host) terminated() {
	h.t.Helper()
	n := h.create(piece("a"))
	h.until("it is proven", h.in(n, sector.Proving))
	h.do(sectors.Terminate{Number: n, By: "anna", Reason: "enough"})
	h.until("it is over", func() bool { return h.info(n).Over() })
}

// paid checks how much the contract has paid, how much it still owes, and how many messages were sent.
func (h *host) paid(paid, owed uint64, sent int) {
	h.t.Helper()
	w := h.world
	if w.paid != events.NewAmount(paid) || w.owed != events.NewAmount(owed) || w.effects["Withdraw 0"] != sent {
		h.t.Errorf("paid %s, owed %s, in %d messages; want %d, %d, %d", w.paid, w.owed, w.effects["Withdraw 0"],
			paid, owed, sent)
	}
}

// booked waits until the ledger has so much withdrawn.
func (h *host) booked(amount, number uint64) {
	h.t.Helper()
	h.until("it is final", func() bool {
		snap, err := asksLedger[capacity.Snapshot](h, ledger.Show{})
		return err == nil && snap.Deposits.Withdrawals == number
	})
	if snap, _ := asksLedger[capacity.Snapshot](h, ledger.Show{}); snap.Deposits.Withdrawn != events.NewAmount(amount) {
		h.t.Errorf("the ledger says that %s were withdrawn, want %d", snap.Deposits.Withdrawn, amount)
	}
}

func asksLedger[T any](h *host, msg any) (T, error) {
	return shell.Ask[T](h.ledger, msg).Wait(context.Background())
}

func TestADepositThatComesBackIsWithdrawnOnce(t *testing.T) {
	inTime(t, func(h *host) {
		h.terminated()
		h.mine(3)
		h.paid(uint64(size)-5, 0, 1)
		h.booked(uint64(size)-5, 1)
	})
}

func TestRewardsAreWithdrawnNowAndThen(t *testing.T) {
	inTime(t, func(h *host) {
		h.kill()
		h.change = func(d *sectors.Deps) { d.WithdrawEvery, d.WithdrawMin = 20, events.NewAmount(7) }
		h.start()
		h.world.owed = events.NewAmount(6)
		h.mine(50)
		h.paid(0, 6, 0) // Less than is worth a message.
		h.world.owed = events.NewAmount(8)
		h.mine(21)
		h.paid(8, 0, 1)
		h.world.owed = events.NewAmount(9)
		h.mine(5)
		h.paid(8, 9, 1)
		h.mine(5)
		h.paid(17, 0, 2)
		h.booked(17, 2)
	})
}

func TestAWithdrawalIsNotSentTwiceAfterACrash(t *testing.T) {
	for _, point := range []string{
		"before Owed", "after Owed", "before Withdraw", "after Withdraw", "before Final", "after Final",
		"before append to capacity", "after append to capacity",
	} {
		t.Run(point, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.world.owed = events.NewAmount(50)
				h.kill()
				h.crashOnce(point)
				h.start()
				h.mine(3)
				h.paid(50, 0, 1)
				h.booked(50, 1)
			})
		})
	}
}
