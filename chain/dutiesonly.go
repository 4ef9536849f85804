package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// This file sends proofs of a process that does not own the account's transactions, because the owner
// cannot be asked and the proof is due.

// SubmitProofAnyway is SubmitProof by a process that does not own the account's transactions: while the owner
// does not answer, a proof is not missed for its sake. Both may take the same nonce; then one of the two
// is mined, and the other one is sent again. What is sent is in the outbox of the directory, and follows
// in the account's record when this process owns the account. If it owns it already, this is SubmitProof.
//
// Further errors: ErrConfig without a key or a signer; ErrNotOwner when this process becomes the owner meanwhile,
// and then SubmitProof sends it.
func (m *Market) SubmitProofAnyway(
	ctx context.Context, outboxDir string, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	doing := fmt.Sprintf("submit proof for slot %s, period %d, without the owner", call.Slot.Short(), period)
	return do(ctx, m, m.anyway(outboxDir), doing,
		func(ctx context.Context, m sending) (events.Receipt, error) {
			return m.submitProof(ctx, call, period, proof)
		})
}

// TakenProofsAnyway is TakenProofs of what is in the outbox of a directory, whichever process owns the
// account's transactions: of proofs that this process sent beside the owner, or as the owner while the event store was
// away, another owner does not know. Errors: those of SubmitProofAnyway.
func (m *Market) TakenProofsAnyway(
	ctx context.Context, outboxDir string, slot events.SlotID, from uint64,
) ([]events.TakenProof, error) {
	doing := fmt.Sprintf("look for proofs of slot %s that this process sent", slot.Short())
	return do(ctx, m, m.anyway(outboxDir), doing,
		func(ctx context.Context, m sending) ([]events.TakenProof, error) {
			return m.takenProofs(ctx, slot, from)
		})
}

// anyway is Transactions.WithManager, with a manager of its own if there is no ownership. Calls share it, and the
// last one closes it.
func (m *Market) anyway(outboxDir string) account.WithManager {
	return func(ctx context.Context, call func(context.Context, *tx.Manager) error) error {
		if !m.cfg.sends() {
			return fmt.Errorf("%w: without the account's key or a signer, no transactions can be sent", ErrConfig)
		}
		shared, err := m.txs.acquireShared(ctx, func(ctx context.Context) (*tx.Manager, error) {
			cfg := m.transactions()
			cfg.DutiesOnly, cfg.UsedElsewhere = true, nil
			return tx.Open(ctx, cfg, m.conn, m.blocks, nil, outboxDir)
		})
		switch {
		case err != nil:
			return err
		case shared == nil:
			return m.txs.WithManager(ctx, call)
		}
		return errors.Join(shared.withManager(ctx, call), m.txs.releaseShared(shared))
	}
}

// acquireShared returns what calls without an ownership share; nil: there is an ownership.
func (t *Transactions) acquireShared(
	ctx context.Context, open func(context.Context) (*tx.Manager, error),
) (*ownership, error) {
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	defer t.release()
	t.mu.Lock()
	now, noOwner, shared := t.now, t.noOwner, t.shared
	t.mu.Unlock()
	switch {
	case now != nil:
		return nil, nil
	case !errors.Is(noOwner, events.ErrNotOwner):
		return nil, noOwner
	}
	if shared == nil {
		manager, err := open(ctx)
		if err != nil {
			return nil, err
		}
		shared = newOwnership(manager)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shared = shared
	shared.users++
	return shared, nil
}

// releaseShared ends what was shared, with its last user.
func (t *Transactions) releaseShared(shared *ownership) error {
	t.mu.Lock()
	shared.users--
	unused := func() bool { return shared.users == 0 && t.shared == shared }
	last := unused()
	t.mu.Unlock()
	if !last {
		return nil
	}
	t.lock <- struct{}{}
	defer t.release()
	t.mu.Lock()
	last = unused() // Another call may have acquired it again.
	t.mu.Unlock()
	if !last {
		return nil
	}
	return t.endShared(nil)
}

// endShared ends what was shared; calls under way end with why. The lock must be held.
func (t *Transactions) endShared(why error) error {
	t.mu.Lock()
	shared := t.shared
	t.shared = nil
	t.mu.Unlock()
	if shared == nil {
		return nil
	}
	shared.end(why)
	return shared.manager.Close()
}
