package chain

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file is what the watching of other hosts needs to know of the chain.

// AcceptedProofs are the proofs of all slots that the contract accepted in the blocks from first to last, in their
// order.
func (m *Market) AcceptedProofs(ctx context.Context, first, last uint64) ([]events.AcceptedProof, error) {
	topics := [][]common.Hash{{m.abis.market.GetABI().Events["ProofSubmitted"].ID}}
	var found []events.AcceptedProof
	for from := first; from <= last; from += m.cfg.LogRange {
		logs, err := m.conn.LogsBetween(ctx, m.contract, topics, from, min(last, from+m.cfg.LogRange-1))
		if err != nil {
			return nil, fmt.Errorf("read accepted proofs: %w", err)
		}
		for i := range logs {
			if e, err := m.abis.market.UnpackProofSubmittedEvent(&logs[i]); err == nil {
				found = append(found, events.AcceptedProof{
					Slot: e.Id, Block: logs[i].BlockNumber, BlockHash: events.Hash(logs[i].BlockHash),
				})
			}
		}
	}
	return found, nil
}

// MarkedMisses are the misses that were marked in the blocks from first to last, in their order. The contract says
// nothing about that, but pays the validator, so each transaction is read in which it paid; and nothing is known of
// markings by a contract that calls it.
func (m *Market) MarkedMisses(ctx context.Context, first, last uint64) (found []events.MarkedMiss, err error) {
	marks := m.abis.market.GetABI().Methods["markProofAsMissing"]
	topics := [][]common.Hash{
		{m.abis.token.GetABI().Events["Transfer"].ID}, {common.BytesToHash(m.contract[:])},
	}
	read := map[common.Hash]bool{}
	for from := first; from <= last; from += m.cfg.LogRange {
		logs, err := m.conn.LogsBetween(ctx, m.tokenAddress(), topics, from, min(last, from+m.cfg.LogRange-1))
		if err != nil {
			return nil, fmt.Errorf("read marked misses: %w", err)
		}
		for i := range logs {
			if read[logs[i].TxHash] {
				continue
			}
			read[logs[i].TxHash] = true
			call, err := m.conn.TransactionBy(ctx, logs[i].TxHash)
			if err != nil {
				return nil, fmt.Errorf("read marked misses: %w", err)
			}
			if call == nil || call.To == nil || *call.To != m.contract || !bytes.HasPrefix(call.Input, marks.ID) {
				continue
			}
			arguments, err := marks.Inputs.Unpack(call.Input[len(marks.ID):])
			if err != nil {
				continue // The contract refused it.
			}
			found = append(found, events.MarkedMiss{Slot: arguments[0].([32]byte), Period: arguments[1].(uint64)})
		}
	}
	return found, nil
}

// HostOfFill is who filled a slot with a transaction in a block: its sender, if it called the contract itself. If the
// node still has the state of the block, the contract must say so too. Zero: that is not known.
func (m *Market) HostOfFill(
	ctx context.Context, slot events.SlotID, tx, block events.Hash,
) (host events.Address, err error) {
	call, err := m.conn.TransactionBy(ctx, common.Hash(tx))
	if err != nil || call == nil || call.To == nil || *call.To != m.contract {
		return host, err
	}
	var said common.Address
	v := viewOf(m.contract, m.abis.market.PackGetHost(slot), m.abis.market.UnpackGetHost, &said)
	err = m.read(ctx, common.Hash(block), v)
	if rpc.IsAnswer(err) || rpc.IsBehind(err) { // The state is gone.
		said, err = call.From, nil
	}
	if err == nil && said == call.From {
		host = events.Address(said)
	}
	return host, err
}
