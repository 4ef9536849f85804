// Package admission decides which slots a host takes, by its settings, by the chain, and by the
// work that it has already. It judges values and starts nothing.
//
// Rules say whether a slot can be filled and proven in time, and what it asks of the ledger.
// Affordable says whether the host can pay for the slot and prove it in addition to all others. A Load
// holds how many proofs to expect and how long one takes, DiskRoom how much room the disk has,
// and a dispersal policy says when this host may reserve. docs/admission.md describes every
// criterion for operators.
package admission

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file decides whether the host can afford another slot: in proofs, in tokens and in gas.
// The supervisor asks for one slot at a time, so that no two slots count on the same token.

// Affordable holds the numbers that decide.
type Affordable struct {
	// SameRequest is how many slots of the request are in work or hosted here; MaxSame is its
	// limit.
	SameRequest, MaxSame int
	// ProofLoad is the percentage of the time for which proofs would keep the prover busy, and
	// MaxProofLoad its limit; ProofDetail explains it.
	ProofLoad, MaxProofLoad uint64
	ProofDetail             string
	// Balance is what the account holds, and what work costs now.
	Balance events.Balance
	// Collateral is what the slot needs; Unpaid is what sales in work have not paid yet.
	Collateral, Unpaid events.Amount
	// InWork is how many other sales are in work.
	InWork uint64
	// Proofs is how many proofs are expected within Days, of all slots and this one.
	Days, Proofs uint64
	// MinWei is the least that the account must hold.
	MinWei events.Amount
}

// Judge names the first criterion that is not met; nil when the slot is affordable.
func (n Affordable) Judge() *Refusal {
	no := func(criterion, format string, args ...any) *Refusal {
		return &Refusal{Criterion: criterion, Reason: fmt.Sprintf(format, args...), Requeue: true}
	}
	needed := n.Collateral.AddSaturating(n.Unpaid)
	gas, detail := n.gas()
	switch {
	case n.SameRequest >= n.MaxSame:
		return no(slotqueue.CriterionRequestCap, "%d slots of the request are in work here, the limit is %d",
			n.SameRequest, n.MaxSame)
	case n.ProofLoad > n.MaxProofLoad:
		return no(slotqueue.CriterionProofs, "%s; the limit is %d %%", n.ProofDetail, n.MaxProofLoad)
	case n.Balance.Tokens.Less(needed):
		return no(slotqueue.CriterionTokens,
			"the account holds %s base units, the collateral is %s base units, and sales in work "+
				"need %s base units more",
			n.Balance.Tokens, n.Collateral, n.Unpaid)
	case n.Balance.Wei.Less(n.MinWei):
		return no(slotqueue.CriterionGas, "the account holds %s wei for gas, at least %s wei are needed",
			n.Balance.Wei, n.MinWei)
	case n.Balance.Wei.Less(gas):
		return no(slotqueue.CriterionGas, "the account holds %s wei, %s", n.Balance.Wei, detail)
	}
	return nil
}

// gas is what the account needs for the next days. If the chain does not say what work costs,
// nothing is needed: not to know the cost is no reason to refuse.
func (n Affordable) gas() (wei events.Amount, detail string) {
	if n.Days == 0 || n.Balance.ProofWei.IsZero() && n.Balance.SaleWei.IsZero() {
		return events.Amount{}, ""
	}
	wei = n.Balance.ProofWei.MulSaturating(n.Proofs).AddSaturating(n.Balance.SaleWei.MulSaturating(n.InWork + 1))
	return wei, fmt.Sprintf("%d proofs in %d days at %s wei and %d sales at %s wei need %s wei",
		n.Proofs, n.Days, n.Balance.ProofWei, n.InWork+1, n.Balance.SaleWei, wei)
}
