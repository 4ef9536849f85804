package chain

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
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
		receipts, err := a.market.conn.MinedReceipts(ctx, hashes)
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
			logs, err := a.logsOnceThere(ctx, m.tokenAddress(), topics, from, to)
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

// Proven says of each of these proofs, of which Slot and Period are set, whether the contract's log has one of that
// slot in that period. What a fill proves is not meant: another host may have filled the slot.
func (a *Auditor) Proven(ctx context.Context, missed []events.MissingProof) ([]bool, error) {
	proven := make([]bool, len(missed))
	if len(missed) == 0 {
		return proven, nil
	}
	config, err := a.market.Config(ctx)
	if err != nil {
		return nil, err
	}
	head, err := a.market.conn.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for proofs: %w", err)
	}
	byPeriod := map[uint64][]int{}
	for i, p := range missed {
		byPeriod[p.Period] = append(byPeriod[p.Period], i)
	}
	seconds := uint64(config.Proofs.Period / time.Second)
	first := min(a.market.cfg.DeployedAt, uint64(head.Number))
	for _, period := range slices.Sorted(maps.Keys(byPeriod)) {
		if first, err = a.firstFrom(ctx, first, head, events.Unix(period*seconds)); err != nil {
			return nil, fmt.Errorf("look for proofs of period %d: %w", period, err)
		}
		end, err := a.firstFrom(ctx, first, head, events.Unix((period+1)*seconds))
		if err != nil {
			return nil, fmt.Errorf("look for proofs of period %d: %w", period, err)
		}
		slots, err := a.provenBetween(ctx, first, end)
		if err != nil {
			return nil, fmt.Errorf("look for proofs of period %d: %w", period, err)
		}
		for _, i := range byPeriod[period] {
			proven[i] = slots[missed[i].Slot]
		}
	}
	return proven, nil
}

// firstFrom is the first block, from block low on, that is not before a time; the one after head: there is none.
func (a *Auditor) firstFrom(ctx context.Context, low uint64, head *rpc.Header, at time.Time) (uint64, error) {
	if head.Head().Time.Before(at) {
		return uint64(head.Number) + 1, nil
	}
	before := func(n uint64) (bool, error) {
		block, err := a.market.conn.ByNumber(ctx, n)
		return err == nil && block.Head().Time.Before(at), err
	}
	high := uint64(head.Number)
	for step := uint64(16); low+step < high; step *= 2 { // As a rule it is near.
		early, err := before(low + step)
		if err != nil {
			return 0, err
		}
		if !early {
			high = low + step
			break
		}
		low += step
	}
	for low < high {
		middle := low + (high-low)/2
		early, err := before(middle)
		switch {
		case err != nil:
			return 0, err
		case early:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, nil
}

// provenBetween are the slots of which a proof was submitted from one block to the one before another.
func (a *Auditor) provenBetween(ctx context.Context, first, end uint64) (map[events.SlotID]bool, error) {
	slots, fills := map[events.SlotID]bool{}, map[common.Hash]bool{}
	if first >= end {
		return slots, nil
	}
	m := a.market
	known := m.abis.market.GetABI().Events
	topics := [][]common.Hash{{known["ProofSubmitted"].ID, known["SlotFilled"].ID}}
	logs, err := a.logsOnceThere(ctx, m.contract, topics, first, end-1)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		if l.Topics[0] == known["SlotFilled"].ID {
			fills[l.TxHash] = true
		}
	}
	for i := range logs {
		if e, err := m.abis.market.UnpackProofSubmittedEvent(&logs[i]); err == nil && !fills[logs[i].TxHash] {
			slots[e.Id] = true
		}
	}
	return slots, nil
}

// A block that the node does not have yet is asked for again, this often and with this pause.
const (
	notThereFor   = 15 * time.Second
	notTherePause = 250 * time.Millisecond
)

// logsOnceThere waits for a node that lags behind the one that told the host of the newest blocks.
func (a *Auditor) logsOnceThere(
	ctx context.Context, contract common.Address, topics [][]common.Hash, from, to uint64,
) ([]types.Log, error) {
	for until := time.Now().Add(notThereFor); ; _ = retry.Sleep(ctx, notTherePause) {
		logs, err := a.market.conn.LogsBetween(ctx, contract, topics, from, to)
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
