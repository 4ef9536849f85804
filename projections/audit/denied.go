package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file compares with the chain what the record says did not happen there, and whether what it has no
// transaction of was mined.

// emptyGas is the gas of a transaction that does nothing: one that takes the place of another is mined although that
// one is abandoned.
const emptyGas = 21_000

// denial is a proof that is recorded as missed, or an attempt at a transaction that is recorded as abandoned.
type denial struct {
	At     place
	Tx     events.Hash // zero: a proof
	Slot   events.SlotID
	Period uint64
}

// deny notes what the record says did not happen.
func (a *auditor) deny(h *host, d denial) {
	if a.options.Chain != nil {
		h.Denials = append(h.Denials, d)
		a.claims++
	}
}

// abandoned notes the attempts of an intent that was given up.
func (a *auditor) abandoned(h *host, p place, in intent) {
	for _, tx := range in.Attempts {
		a.deny(h, denial{At: p, Tx: events.Must(events.ParseHash(tx))})
	}
}

// attempted notes an attempt at an intent.
func (in *intent) attempted(e *messages.TxSent) {
	in.Nonce, in.Sent = e.GetNonce(), true
	if e.GetGasLimit() != emptyGas {
		in.Attempts = append(in.Attempts, e.GetTxHash())
	}
}

// compareDenied asks the chain about the collected denials of a host.
func (a *auditor) compareDenied(ctx context.Context, h *host) error {
	denials := h.Denials
	h.Denials = nil
	for some := range slices.Chunk(denials, chainBatch) {
		chain, address, err := a.chainOf(ctx, h)
		if chain == nil || err != nil {
			return err
		}
		var abandoned, missed []denial
		var txs []events.Hash
		var proofs []events.MissingProof
		for _, d := range some {
			if d.Tx.Zero() {
				missed = append(missed, d)
				proofs = append(proofs, events.MissingProof{SlotRef: events.SlotRef{Slot: d.Slot}, Period: d.Period})
			} else {
				abandoned, txs = append(abandoned, d), append(txs, d.Tx)
			}
		}
		moves, err := moved(ctx, chain, address, txs)
		if err != nil {
			return err
		}
		for i, d := range abandoned {
			if moves[i].Succeeded {
				a.find(AbandonedMined, d.At, "the transaction %s of it was mined, and succeeded", d.Tx)
			}
		}
		proven, err := chain.Proven(ctx, proofs)
		if err != nil || len(proven) != len(proofs) {
			return fmt.Errorf("ask the contract's log about %d proofs: %w", len(proofs), cmp.Or(err, errShort))
		}
		for i, d := range missed {
			if proven[i] {
				a.find(MissedProven, d.At, "the contract's log has a proof of period %d", d.Period)
			}
		}
	}
	return nil
}

// minedOf says which transactions of an account, that the record does not have, the chain has mined; nil: there is no
// chain to ask.
func (a *auditor) minedOf(ctx context.Context, account string, txs []string) (map[string]bool, error) {
	h := a.hosts[account]
	if a.options.Chain == nil || h == nil {
		return nil, nil //nolint:nilnil // Nobody was asked.
	}
	chain, address, err := a.chainOf(ctx, h)
	if chain == nil || err != nil {
		return nil, err
	}
	mined := map[string]bool{}
	for some := range slices.Chunk(txs, chainBatch) {
		hashes := make([]events.Hash, len(some))
		for i, tx := range some {
			hashes[i], _ = events.ParseHash(tx) // One that is none was not mined.
		}
		moves, err := moved(ctx, chain, address, hashes)
		if err != nil {
			return nil, err
		}
		for i, tx := range some {
			mined[tx] = moves[i].Succeeded
		}
	}
	return mined, nil
}

// awaitedOf are the transactions that receipts wait for, by account.
func (t *receipts) awaitedOf() map[string][]string {
	all := map[string][]string{}
	for k := range t.Awaited {
		all[k.Account] = append(all[k.Account], k.Hash)
	}
	for _, txs := range all {
		slices.SortFunc(txs, strings.Compare)
	}
	return all
}
