package chain

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/events"
)

// Auditor reads what happened on chain to the money of any account. It needs no
// key and writes nothing. Its methods are safe for concurrent use.
type Auditor struct {
	market *Market
}

// DialAuditor connects to a market without an account. Of the configuration it
// uses what is about endpoint, contract, chain and time. A node of another chain
// than demanded is an *IdentityError.
func DialAuditor(ctx context.Context, cfg Config) (*Auditor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m := &Market{cfg: cfg, abis: newABIs(), contract: common.Address(cfg.Marketplace)}
	m.conn = newConn(cfg, m.contract)
	if err := m.meet(ctx); err != nil {
		m.conn.close()
		return nil, err
	}
	return &Auditor{m}, nil
}

// Close closes the connection.
func (a *Auditor) Close() error {
	a.market.conn.close()
	return nil
}

// Moves says what transactions moved of the token between an account and the
// contract, in their order.
func (a *Auditor) Moves(
	ctx context.Context, account events.Address, txs []events.Hash,
) ([]events.TokenMove, error) {
	moves := make([]events.TokenMove, 0, len(txs))
	for some := range slices.Chunk(txs, maxBatch) {
		hashes := make([]common.Hash, len(some))
		for i, tx := range some {
			hashes[i] = common.Hash(tx)
		}
		receipts, err := a.market.conn.receipts(ctx, hashes)
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

func (a *Auditor) moveOf(account common.Address, r *types.Receipt) (events.TokenMove, error) {
	if r == nil {
		return events.TokenMove{}, nil
	}
	move := events.TokenMove{Found: true, Succeeded: r.Status == types.ReceiptStatusSuccessful}
	for _, l := range r.Logs {
		if l.Address != a.market.tokenAddress() {
			continue
		}
		if err := a.add(&move, account, l); err != nil {
			return move, err
		}
	}
	return move, nil
}

// add counts a transfer between an account and the contract. Logs of other
// events are none.
func (a *Auditor) add(move *events.TokenMove, account common.Address, l *types.Log) error {
	e, err := a.market.abis.token.UnpackTransferEvent(l)
	if err != nil {
		return nil //nolint:nilerr // Another event of the token.
	}
	amount, err := events.AmountFromBig(e.Value)
	if err != nil {
		return err
	}
	total := &move.In
	switch {
	case e.From == a.market.contract && e.To == account:
	case e.From == account && e.To == a.market.contract:
		total = &move.Out
	default:
		return nil
	}
	if events.MaxAmount().Sub(*total).Less(amount) {
		return fmt.Errorf("%w: token says it moved more than exists", events.ErrMalformed)
	}
	*total = total.Add(amount)
	return nil
}

// Held says what the contract holds for slots, all at the newest block.
func (a *Auditor) Held(ctx context.Context, slots []events.SlotID) ([]events.SlotHolding, error) {
	head, err := a.market.conn.latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the collateral of slots: %w", err)
	}
	held := make([]events.SlotHolding, 0, len(slots))
	for some := range slices.Chunk(slots, maxBatch/3) {
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
	var views []*view
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

// Moved adds up all that moved of the token between an account and the contract
// in blocks from first to last, both included.
func (a *Auditor) Moved(
	ctx context.Context, account events.Address, first, last uint64,
) (in, out events.Amount, err error) {
	who, contract := common.BytesToHash(account[:]), common.BytesToHash(a.market.contract.Bytes())
	transfer := a.market.abis.token.GetABI().Events["Transfer"].ID
	var total events.TokenMove
	for from := first; from <= last; {
		to := last
		if step := a.market.cfg.LogRange; last-from >= step {
			to = from + step - 1
		}
		for _, ends := range [][2]common.Hash{{contract, who}, {who, contract}} {
			topics := [][]common.Hash{{transfer}, {ends[0]}, {ends[1]}}
			logs, err := a.market.conn.logsBetween(ctx, a.market.tokenAddress(), topics, from, to)
			if err != nil {
				return in, out, fmt.Errorf("add up what moved: %w", err)
			}
			for _, l := range logs {
				if err := a.add(&total, common.Address(account), &l); err != nil {
					return in, out, fmt.Errorf("add up what moved: %w", err)
				}
			}
		}
		if to == last {
			break
		}
		from = to + 1
	}
	return total.In, total.Out, nil
}
