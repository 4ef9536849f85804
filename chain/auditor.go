package chain

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// Auditor reads what happened on chain to the money of any account. It needs no key and sends
// nothing. Its methods are safe for concurrent use.
type Auditor struct {
	market *Market
}

// DialAuditor connects to a market without an account. It uses the settings about endpoints,
// contract, chain and time. A node of another chain than demanded is an *IdentityError.
func DialAuditor(ctx context.Context, cfg Config) (*Auditor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m, err := dial(ctx, cfg, common.Address{})
	if err != nil {
		return nil, err
	}
	return &Auditor{m}, nil
}

// dial connects to a market that sends nothing.
func dial(ctx context.Context, cfg Config, account common.Address) (*Market, error) {
	m := &Market{cfg: cfg, abis: newABIs(), contract: common.Address(cfg.Marketplace), account: account}
	m.conn = rpc.New(cfg.connection(nil), m.contract)
	if err := m.readConstants(ctx); err != nil {
		m.conn.Close()
		return nil, err
	}
	return m, nil
}

// Close closes the connection.
func (a *Auditor) Close() error {
	a.market.conn.Close()
	return nil
}

// Moves are the transfers of tokens between an account and the contract in the given transactions,
// in their order.
func (a *Auditor) Moves(
	ctx context.Context, account events.Address, txs []events.Hash,
) ([]events.TokenMove, error) {
	moves := make([]events.TokenMove, 0, len(txs))
	for some := range slices.Chunk(txs, rpc.MaxBatch) {
		hashes := make([]common.Hash, len(some))
		for i, tx := range some {
			hashes[i] = common.Hash(tx)
		}
		receipts, err := a.market.conn.Receipts(ctx, hashes)
		if err != nil {
			return nil, fmt.Errorf("read what transactions moved: %w", err)
		}
		for _, r := range receipts {
			move, err := a.moveOf(common.Address(account), r)
			if err != nil {
				return nil, fmt.Errorf("read what transactions moved: %w", err)
			}
			moves = append(moves, move)
		}
	}
	return moves, nil
}

func (a *Auditor) moveOf(account common.Address, r *types.Receipt) (move events.TokenMove, err error) {
	if r == nil {
		return move, nil
	}
	move.Found, move.Succeeded = true, r.Status == types.ReceiptStatusSuccessful
	m := a.market
	if _, move.In, err = m.transfers(r.Logs, m.contract, account); err == nil {
		_, move.Out, err = m.transfers(r.Logs, account, m.contract)
	}
	return move, err
}

// Held is what the contract holds for slots, all at the newest block.
func (a *Auditor) Held(ctx context.Context, slots []events.SlotID) ([]events.SlotHolding, error) {
	head, err := a.market.conn.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the collateral of slots: %w", err)
	}
	held := make([]events.SlotHolding, 0, len(slots))
	for some := range slices.Chunk(slots, rpc.MaxBatch/3) {
		batch, err := a.heldAt(ctx, head.Hash, some)
		if err != nil {
			return nil, fmt.Errorf("read the collateral of slots: %w", err)
		}
		held = append(held, batch...)
	}
	return held, nil
}

func (a *Auditor) heldAt(ctx context.Context, at common.Hash, slots []events.SlotID) ([]events.SlotHolding, error) {
	type facts struct {
		state      uint8
		host       common.Address
		collateral *big.Int
	}
	raw := make([]facts, len(slots))
	var views []*rpc.View
	m, to := a.market.abis.market, a.market.contract
	for i, slot := range slots {
		views = append(views,
			viewOf(to, m.PackSlotState(slot), m.UnpackSlotState, &raw[i].state),
			viewOf(to, m.PackGetHost(slot), m.UnpackGetHost, &raw[i].host),
			viewOf(to, m.PackCurrentCollateral(slot), m.UnpackCurrentCollateral, &raw[i].collateral))
	}
	if err := a.market.read(ctx, at, views...); err != nil {
		return nil, err
	}
	held := make([]events.SlotHolding, len(slots))
	for i, f := range raw {
		collateral, err := events.AmountFromBig(f.collateral)
		if err != nil {
			return nil, err
		}
		held[i] = events.SlotHolding{
			State: events.SlotState(f.state), Host: events.Address(f.host), Collateral: collateral,
		}
	}
	return held, nil
}

// Moved is the sum of all transfers of tokens between an account and the contract in the blocks
// from first to last, both included.
func (a *Auditor) Moved(
	ctx context.Context, account events.Address, first, last uint64,
) (in, out events.Amount, err error) {
	m, who := a.market, common.Address(account)
	event := m.abis.token.GetABI().Events["Transfer"].ID
	for from := first; from <= last; {
		to := last
		if step := m.cfg.LogRange; last-from >= step {
			to = from + step - 1
		}
		for _, way := range []struct {
			from, to common.Address
			total    *events.Amount
		}{{m.contract, who, &in}, {who, m.contract, &out}} {
			topics := [][]common.Hash{
				{event}, {common.BytesToHash(way.from[:])}, {common.BytesToHash(way.to[:])},
			}
			logs, err := a.logsOnceThere(ctx, topics, from, to)
			var moved events.Amount
			if err == nil {
				_, moved, err = m.transfers(pointers(logs), way.from, way.to)
			}
			if err == nil {
				*way.total, err = allMoved(*way.total, moved)
			}
			if err != nil {
				return in, out, fmt.Errorf("add up what moved: %w", err)
			}
		}
		if to == last {
			break
		}
		from = to + 1
	}
	return in, out, nil
}

// A block that the node does not have yet is asked for again, this often and with this pause.
const (
	notThereFor   = 15 * time.Second
	notTherePause = 250 * time.Millisecond
)

// logsOnceThere waits for a node that lags behind the one that told the host of the newest blocks.
func (a *Auditor) logsOnceThere(ctx context.Context, topics [][]common.Hash, from, to uint64) ([]types.Log, error) {
	for until := time.Now().Add(notThereFor); ; rpc.Sleep(ctx, notTherePause) {
		logs, err := a.market.conn.LogsBetween(ctx, a.market.tokenAddress(), topics, from, to)
		if err == nil || ctx.Err() != nil || !rpc.IsBehind(err) || time.Now().After(until) {
			return logs, err
		}
	}
}

func pointers(logs []types.Log) (all []*types.Log) {
	for i := range logs {
		all = append(all, &logs[i])
	}
	return all
}
