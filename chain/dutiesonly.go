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
	return perform(ctx, m, m.anyway(outboxDir), doing,
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
	return perform(ctx, m, m.anyway(outboxDir), doing,
		func(ctx context.Context, m sending) ([]events.TakenProof, error) {
			return m.takenProofs(ctx, slot, from)
		})
}

// anyway is Transactions.During, with a manager of its own if there is no ownership. Calls share it, and the
// last one closes it.
func (m *Market) anyway(outboxDir string) account.During {
	return func(ctx context.Context, call func(context.Context, *tx.Manager) error) error {
		if !m.cfg.sends() {
			return fmt.Errorf("%w: without the account's key or a signer, no transactions can be sent", ErrConfig)
		}
		lent, err := m.txs.borrow(ctx, func(ctx context.Context) (*tx.Manager, error) {
			cfg := m.transactions()
			cfg.DutiesOnly, cfg.UsedElsewhere = true, nil
			return tx.Open(ctx, cfg, m.conn, m.blocks, nil, outboxDir)
		})
		switch {
		case err != nil:
			return err
		case lent == nil:
			return m.txs.During(ctx, call)
		}
		return errors.Join(lent.during(ctx, call), m.txs.giveBack(lent))
	}
}

// borrow returns what calls without an ownership share; nil: there is an ownership.
func (t *Transactions) borrow(
	ctx context.Context, open func(context.Context) (*tx.Manager, error),
) (*ownership, error) {
	if err := t.enter(ctx); err != nil {
		return nil, err
	}
	defer t.leave()
	t.mu.Lock()
	now, none, lent := t.now, t.none, t.lent
	t.mu.Unlock()
	switch {
	case now != nil:
		return nil, nil
	case !errors.Is(none, events.ErrNotOwner):
		return nil, none
	}
	if lent == nil {
		manager, err := open(ctx)
		if err != nil {
			return nil, err
		}
		lent = newOwnership(manager)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lent = lent
	lent.borrowers++
	return lent, nil
}

// giveBack ends what was borrowed, with the last borrower.
func (t *Transactions) giveBack(lent *ownership) error {
	t.mu.Lock()
	lent.borrowers--
	unused := func() bool { return lent.borrowers == 0 && t.lent == lent }
	last := unused()
	t.mu.Unlock()
	if !last {
		return nil
	}
	t.turn <- struct{}{}
	defer t.leave()
	t.mu.Lock()
	last = unused() // Another call may have borrowed it again.
	t.mu.Unlock()
	if !last {
		return nil
	}
	return t.endLent(nil)
}

// endLent ends what was borrowed; calls under way end with why. Call it in turn.
func (t *Transactions) endLent(why error) error {
	t.mu.Lock()
	lent := t.lent
	t.lent = nil
	t.mu.Unlock()
	if lent == nil {
		return nil
	}
	lent.end(why)
	return lent.manager.Close()
}
