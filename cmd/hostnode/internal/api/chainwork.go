package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/projections"
)

// What the host did on chain: its transactions, and its proofs of slots.

// TransactionsQuestion selects a page of the transactions with an outcome, or of all.
type TransactionsQuestion struct {
	Then
	Paging
	Outcome projections.Outcome `query:"outcome"`
}

// Transactions are those of the host's account, that which was intended last first.
type Transactions struct {
	AsOf         AsOf                      `json:"asOf"`
	Transactions []projections.Transaction `json:"transactions"`
	Paged
}

// Transactions is what the host asked of the chain, and what came of it. One that a reorganisation took out of the
// chain counts as new.
func (r *reader) Transactions(_ context.Context, q TransactionsQuestion) (out Transactions, err error) {
	if err := oneOf("outcome", q.Outcome, projections.OutcomeOpen, projections.OutcomeSucceeded,
		projections.OutcomeFailed, projections.OutcomeAbandoned); err != nil {
		return out, err
	}
	out.Transactions = []projections.Transaction{}
	r.views.Read(func(v *projections.Views) {
		out.AsOf = r.asOfPosition(v.AsOf())
		var rows []*projections.Transaction
		rows, out.Next, err = pick(func(yield func(*projections.Transaction) bool) {
			for t := range v.TransactionsOf(r.Account) {
				if (q.Outcome == "" || t.Outcome == q.Outcome) && !yield(t) {
					return
				}
			}
		}, func(t *projections.Transaction) uint64 { return ^t.Order },
			func(key []byte, _ *projections.Transaction) []byte { return key }, q.Paging)
		for _, t := range rows {
			out.Transactions = append(out.Transactions, *t)
		}
	})
	return out, err
}

// ProofsQuestion selects a page of the proofs of a slot, with an outcome, or of all.
type ProofsQuestion struct {
	Then
	Paging
	// Slot is the beginning of its id.
	Slot    string                   `query:"slot"`
	Outcome projections.ProofOutcome `query:"outcome"`
}

// Proofs are the proofs that were owed for slots, those of the newest period first, as far as the views have them.
type Proofs struct {
	AsOf   AsOf        `json:"asOf"`
	Proofs []SlotProof `json:"proofs"`
	Paged
}

// SlotProof is one proof.
type SlotProof struct {
	Slot    string `json:"slotId"`
	Attempt uint32 `json:"attempt"`
	projections.ProofPeriod
}

// Proofs is which proofs were owed for slots, and what became of each.
func (r *reader) Proofs(_ context.Context, q ProofsQuestion) (out Proofs, err error) {
	if err := oneOf("outcome", q.Outcome, projections.ProofOpen, projections.ProofSubmitted, projections.ProofMissed,
		projections.ProofExcused, projections.ProofLapsed); err != nil {
		return out, err
	}
	out.Proofs = []SlotProof{}
	r.views.Read(func(v *projections.Views) {
		out.AsOf = r.asOfPosition(v.AsOf())
		var rows []projections.Proof
		rows, out.Next, err = pickFrom(func(wanted func(uint64) bool) iter.Seq[projections.Proof] {
			all := v.ProofsOf(r.Account, func(period uint64) bool { return wanted(^period) })
			return func(yield func(projections.Proof) bool) {
				for p := range all {
					if (q.Outcome == "" || p.Outcome == q.Outcome) && beginsWith(p.Slot[:], q.Slot) && !yield(p) {
						return
					}
				}
			}
		}, func(p projections.Proof) uint64 { return ^p.Period }, func(key []byte, p projections.Proof) []byte {
			// A fill that was taken back may have had the same period.
			key = binary.BigEndian.AppendUint32(append(key, p.Slot[:]...), ^p.Attempt)
			return binary.BigEndian.AppendUint64(key, ^uint64(p.DueAt.Unix())) //nolint:gosec // It is only an order.
		}, q.Paging)
		for _, p := range rows {
			out.Proofs = append(out.Proofs, SlotProof{p.Slot.String(), p.Attempt, p.Row()})
		}
	})
	return out, err
}

// oneOf refuses what is none of the values that there are; the empty one stands for all.
func oneOf[T ~string](what string, is T, all ...T) error {
	if is == "" || slices.Contains(all, is) {
		return nil
	}
	return fmt.Errorf("%w: %s = %.40q, allowed: %q", problem.ErrBadRequest, what, string(is), all)
}
