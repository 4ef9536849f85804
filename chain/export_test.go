package chain

import (
	"context"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Processed says whether everything was done that follows from a block for the transactions under way;
// also true when there are none, or this process neither owns them nor sends beside the owner.
func (m *Market) Processed(_ context.Context, block events.Hash) bool {
	manager := m.txs.manager()
	m.txs.mu.Lock()
	if manager == nil && m.txs.shared != nil {
		manager = m.txs.shared.manager
	}
	m.txs.mu.Unlock()
	return manager == nil || manager.Processed(block)
}

// Submit submits a call of a test's own to the account's transactions.
func (m *Market) Submit(ctx context.Context, c tx.Call) (receipt *types.Receipt, err error) {
	err = m.txs.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) (err error) {
		receipt, err = manager.Submit(ctx, c)
		return err
	})
	return receipt, err
}

// Idle waits until no transaction whose key begins with a prefix is under way.
func (m *Market) Idle(ctx context.Context, prefix string) error {
	return m.txs.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) error { return manager.Idle(ctx, prefix) })
}

// Compact rewrites the outbox, as happens by itself when it has grown large.
func (m *Market) Compact(ctx context.Context) error {
	return m.txs.WithManager(ctx, func(_ context.Context, manager *tx.Manager) error { return manager.Compact() })
}

// RequestIDOf is the id that the contract gives a request (spec/marketplace.md §1.3).
func RequestIDOf(r events.Request) (events.RequestID, error) {
	return requestID(newABIs(), requestTo(r)), nil
}

// SubmitProofData is the data of a call that submits a proof.
func SubmitProofData(slot events.SlotID, proof events.Proof) []byte {
	return newABIs().market.PackSubmitProof(slot, proofTo(proof))
}
