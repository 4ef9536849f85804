package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file ends sectors, and brings back what the contract holds for them. What is sent is decided at the newest block
// (decision): a nil message says that nothing is to be sent, because it is so already, by the message of the receipt.
// A zero receipt: that message is not known, or there was none.

// Terminate ends a sector before its time. One that the contract does not have, or that is over, is
// ended already. ErrTooEarly for a precommit: it ends when it is void.
func (c *Chain) Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return c.act(ctx, fmt.Sprintf("terminate sector %d", number), about(kindTerminate, number, key), c.ofSector(number,
		func(ctx context.Context, _ *rpc.Header, s events.SectorOnChain) (*message, events.Receipt, error) {
			switch {
			case s.PreCommitted:
				return nil, events.Receipt{}, fmt.Errorf("%w: it is precommitted, and void after block %d",
					events.ErrTooEarly, s.PreCommitEpoch+c.config.CommitDue)
			case s.Terminated: // Or its expiration was reached; then there may be no such log.
				_, r, err := c.said(ctx, number, s.Activation, "Terminated")
				return nil, r, err
			case !s.Active: // There is none, or its precommit is void.
				return nil, events.Receipt{}, nil
			}
			return c.terminate(number)
		}))
}

// terminate is the decision to send the message that ends a sector.
func (c *Chain) terminate(number uint64) (*message, events.Receipt, error) {
	return &message{data: c.abi.PackTerminate(number), gas: c.cfg.Gas.Terminate}, events.Receipt{}, nil
}

// Settle lets the contract let go of a sector's deposit, when the sector is over and holds it still, and says what
// became of it. Lost is that of all precommits of the number so far. ErrTooEarly while it is not over.
func (c *Chain) Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error) {
	doing := fmt.Sprintf("settle sector %d", number)
	r, err := c.act(ctx, doing, about(kindSettle, number, key), c.ofSector(number,
		func(ctx context.Context, _ *rpc.Header, s events.SectorOnChain) (*message, events.Receipt, error) {
			return c.letGo(ctx, s, number)
		}))
	if err != nil || r.TxHash.Zero() { // The contract never held a deposit of it.
		return events.SectorSettlement{}, err
	}
	s, err := c.settledBy(ctx, r, number)
	if err != nil {
		return events.SectorSettlement{}, fmt.Errorf("%s: %w", doing, err)
	}
	return s, nil
}

// lettingGo are the events with which the contract lets go of a deposit.
func lettingGo() []string { return []string{"PreCommitExpired", "Terminated", "Expired"} }

// letGo decides on the message that lets the contract let go of a deposit: nil if that was done, or it never had one.
func (c *Chain) letGo(ctx context.Context, s events.SectorOnChain, number uint64) (*message, events.Receipt, error) {
	none := events.Receipt{}
	switch {
	case s.PreCommitted:
		return nil, none, fmt.Errorf("%w: it is precommitted", events.ErrTooEarly)
	case s.Active:
		return nil, none, fmt.Errorf("%w: it is live", events.ErrTooEarly)
	case s.Void:
		data := c.abi.PackExpirePreCommit(c.account, number)
		return &message{data: data, gas: c.cfg.Gas.ExpirePreCommit}, none, nil
	case s.Ended:
		return &message{data: c.abi.PackExpire(number), gas: c.cfg.Gas.Expire}, none, nil
	}
	// It is terminated or expired, or the contract has none, as after a void precommit was let go. Then the epoch is 0,
	// and all logs are searched.
	e, r, err := c.said(ctx, number, s.PreCommitEpoch, lettingGo()...)
	if err != nil || e != nil || s.Size == 0 {
		return nil, r, err
	}
	// Terminated for its missed windows, which the contract derives and has not written down: so there is no log, and
	// the deposit is not let go. Any message about the sector's windows does both; terminate is one.
	return c.terminate(number)
}

// settledBy reads what became of a deposit from the message that let it go.
func (c *Chain) settledBy(ctx context.Context, r events.Receipt, number uint64) (events.SectorSettlement, error) {
	settlement := events.SectorSettlement{Receipt: r}
	logs, err := c.conn.LogsBetween(ctx, c.contract, c.topics(number, lettingGo()), r.Block.Number, r.Block.Number)
	if err != nil {
		return settlement, err
	}
	var e contracts.SectorEvent
	for i := range logs {
		if said, err := contracts.UnpackSectorEvent(&logs[i]); err == nil && events.Hash(logs[i].TxHash) == r.TxHash {
			e = said
		}
	}
	var returned, deposit *big.Int
	switch e := e.(type) {
	case *bindings.SectorProviderPreCommitExpired:
		returned = e.Returned
		deposit = new(big.Int).Add(e.Returned, e.Fee) // No window cost anything; the contract has forgotten the size.
	case *bindings.SectorProviderTerminated:
		returned = e.Returned
	case *bindings.SectorProviderExpired:
		returned = e.Returned
	default:
		return settlement, fmt.Errorf("%w: the log of its end is not there yet", rpc.ErrUnavailable)
	}
	if settlement.Returned, err = events.AmountFromBig(returned); err != nil {
		return settlement, err
	}
	whole, err := c.wholeDeposit(ctx, number, deposit)
	if err != nil {
		return settlement, err
	}
	if whole.Less(settlement.Returned) {
		return settlement, c.conn.Disbelieve(ctx, fmt.Sprintf("for the end of sector %d", number),
			fmt.Errorf("of a deposit of %s it returned %s", whole, settlement.Returned))
	}
	// Lost is of all precommits of the number (Settle).
	before, err := c.voidBefore(ctx, number, r.Block.Number)
	settlement.Lost = whole.Sub(settlement.Returned).AddSaturating(before)
	return settlement, err
}

// voidBefore is what precommits of a number have cost that were void, and let go before a block.
func (c *Chain) voidBefore(ctx context.Context, number, block uint64) (lost events.Amount, err error) {
	err = c.search(ctx, number, 0, func(e contracts.SectorEvent, l *types.Log) bool {
		expired, ok := e.(*bindings.SectorProviderPreCommitExpired)
		if ok && l.BlockNumber < block {
			fee, _ := events.AmountFromBig(expired.Fee) // A uint256 always fits.
			lost = lost.AddSaturating(fee)
		}
		return false
	}, "PreCommitExpired")
	return lost, err
}

// wholeDeposit is what was put down for a sector: as known, or if that is nil, by the size that the contract has of it.
func (c *Chain) wholeDeposit(ctx context.Context, number uint64, known *big.Int) (events.Amount, error) {
	if known != nil {
		return events.AmountFromBig(known)
	}
	s, err := c.Sector(ctx, number)
	if err != nil {
		return events.Amount{}, err
	}
	return c.config.Deposit(s.Size), nil
}

// Owed is what the contract owes the account at the newest block.
func (c *Chain) Owed(ctx context.Context) (events.Amount, error) {
	var owed *big.Int
	if _, err := c.conn.ReadNewest(ctx, c.account, rpc.Reads(c.owedView(&owed))); err != nil {
		return events.Amount{}, fmt.Errorf("read what is owed: %w", err)
	}
	return events.AmountFromBig(owed)
}

func (c *Chain) owedView(owed **big.Int) *rpc.View {
	return viewOf(c.contract, c.abi.PackOwed(c.account), c.abi.UnpackOwed, owed)
}

// Withdraw pays the account what the contract owes it; nothing owed is success. Under a key that was mined nothing
// is sent, and it says what was paid then.
func (c *Chain) Withdraw(ctx context.Context, key string) (w events.SectorWithdrawal, err error) {
	p := purpose{kind: kindWithdraw, subject: "owed", key: key}
	w.Receipt, err = c.act(ctx, "withdraw", p, func(*rpc.Header) ([]*rpc.View, decision) {
		var owed *big.Int
		return []*rpc.View{c.owedView(&owed)}, func(context.Context) (*message, events.Receipt, error) {
			if owed.Sign() == 0 {
				return nil, events.Receipt{}, nil
			}
			return &message{data: c.abi.PackWithdraw(), gas: c.cfg.Gas.Withdraw}, events.Receipt{}, nil
		}
	})
	if err != nil || w.Receipt.TxHash.Zero() {
		return w, err
	}
	if w.Amount, err = c.withdrawnBy(ctx, w.Receipt); err != nil {
		return events.SectorWithdrawal{}, fmt.Errorf("withdraw: %w", err)
	}
	return w, nil
}

// withdrawnBy reads how much a message has paid the account.
func (c *Chain) withdrawnBy(ctx context.Context, r events.Receipt) (events.Amount, error) {
	topics := [][]common.Hash{{c.abi.GetABI().Events["Withdrawn"].ID}, {common.BytesToHash(c.account[:])}}
	logs, err := c.conn.LogsBetween(ctx, c.contract, topics, r.Block.Number, r.Block.Number)
	if err != nil {
		return events.Amount{}, err
	}
	for i := range logs {
		said, err := contracts.UnpackSectorEvent(&logs[i])
		paid, ok := said.(*bindings.SectorProviderWithdrawn)
		if err == nil && ok && events.Hash(logs[i].TxHash) == r.TxHash {
			return events.AmountFromBig(paid.Amount)
		}
	}
	return events.Amount{}, fmt.Errorf("%w: the log of the payment is not there yet", rpc.ErrUnavailable)
}
