package actors

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file decides whether the host can afford another slot besides those that
// it has: in proofs, in tokens and in gas. It is decided in the supervisor's
// turn, one slot after the other, so that no two slots rest on the same token.
// docs/admission.md describes every criterion for operators.

// affordable are the numbers that decide.
type affordable struct {
	// SameRequest is how many slots of the request are in work or hosted here, at
	// most MaxSame.
	SameRequest, MaxSame int
	// ProofLoad is the percentage of the time that proofs would keep the prover
	// busy, at most MaxProofLoad; ProofDetail is where it comes from.
	ProofLoad, MaxProofLoad uint64
	ProofDetail             string
	// Balance is what the account holds and what work costs now.
	Balance events.Balance
	// Collateral is what the slot needs; Unpaid what sales in work have not paid yet.
	Collateral, Unpaid events.Amount
	// InWork is how many sales are in work, without this one.
	InWork uint64
	// Proofs is how many are expected within Days of all slots and this one.
	Days, Proofs uint64
	// MinWei is the least that must be in the account.
	MinWei events.Amount
}

// judge names the first criterion that is not met; nil when the slot is affordable.
func (n affordable) judge() *saleRefused {
	no := func(criterion, format string, args ...any) *saleRefused {
		return &saleRefused{criterion: criterion, reason: fmt.Sprintf(format, args...), requeue: true}
	}
	needed := saturatingAdd(n.Collateral, n.Unpaid)
	gas, detail := n.gas()
	switch {
	case n.SameRequest >= n.MaxSame:
		return no(slotqueue.CriterionRequestCap, "%d slots of the request are in work here, the limit is %d",
			n.SameRequest, n.MaxSame)
	case n.ProofLoad > n.MaxProofLoad:
		return no(slotqueue.CriterionProofs, "%s; the limit is %d %%", n.ProofDetail, n.MaxProofLoad)
	case n.Balance.Tokens.Less(needed):
		return no(slotqueue.CriterionTokens,
			"the account holds %s tokens, the collateral is %s, and sales in work need %s more",
			n.Balance.Tokens, n.Collateral, n.Unpaid)
	case n.Balance.Wei.Less(n.MinWei):
		return no(slotqueue.CriterionGas, "the account holds %s wei for gas, at least %s are needed",
			n.Balance.Wei, n.MinWei)
	case n.Balance.Wei.Less(gas):
		return no(slotqueue.CriterionGas, "the account holds %s wei, %s", n.Balance.Wei, detail)
	}
	return nil
}

// gas is what the account needs for the next days. Where the chain does not say
// what work costs nothing is needed: that is not known, which is no reason to
// refuse.
func (n affordable) gas() (wei events.Amount, detail string) {
	if n.Days == 0 || n.Balance.ProofWei.IsZero() && n.Balance.SaleWei.IsZero() {
		return events.Amount{}, ""
	}
	wei = saturatingAdd(n.Balance.ProofWei.MulSaturating(n.Proofs), n.Balance.SaleWei.MulSaturating(n.InWork+1))
	return wei, fmt.Sprintf("%d proofs in %d days at %s wei and %d sales at %s wei need %s",
		n.Proofs, n.Days, n.Balance.ProofWei, n.InWork+1, n.Balance.SaleWei, wei)
}

func saturatingAdd(a, b events.Amount) events.Amount {
	if events.MaxAmount().Sub(a).Less(b) {
		return events.MaxAmount()
	}
	return a.Add(b)
}

// admit looks at a slot that the chain offers besides all others. It runs in the
// supervisor's turn; the candidate is not counted among the others any more.
func (s *supervisor) admit(m saleReady) *saleRefused {
	r := m.start.Request
	n := affordable{
		MaxSame: s.slotsPerRequest(r), MaxProofLoad: s.ProofLoad, Balance: m.balance,
		Days: s.WalletDays, MinWei: s.MinWei,
	}
	n.Collateral, _ = r.Ask.CollateralPerSlot()
	for _, ag := range s.agents {
		if ag.request == r.ID && (ag.starting || !ag.state.Ended()) { // One that ended gives back what it had.
			n.SameRequest++
		}
		if ag.inWork() {
			n.InWork++
		}
	}
	size := r.Ask.SlotSize + s.Overhead(r.Ask.SlotSize)
	if why := s.room.fits(size, s.promised()); why != "" {
		return &saleRefused{criterion: slotqueue.CriterionDisk, reason: why, requeue: true}
	}
	n.Unpaid = s.unpaid()
	n.ProofLoad, n.ProofDetail = s.proofLoad(r)
	_, expected := s.load.total()
	n.Proofs = s.proofsWithin(n.Days, expected+s.expectedProofs(r))
	return n.judge()
}

// inWork says whether the sale has yet to pay its collateral.
func (ag *agent) inWork() bool {
	if ag.starting {
		return !ag.start.Adopted
	}
	return ag.state.BeforeFill() && !ag.state.Adopted
}

// unpaid is the collateral that sales in work have not paid yet.
func (s *supervisor) unpaid() (sum events.Amount) {
	for _, ag := range s.agents {
		if !ag.inWork() {
			continue
		}
		r := ag.state.Request
		if ag.starting {
			r = ag.start.Request
		}
		collateral, _ := r.Ask.CollateralPerSlot()
		sum = saturatingAdd(sum, collateral)
	}
	return sum
}

// needs are what the account must hold for what is hosted and in work.
func (s *supervisor) needs() health.Funds {
	n := health.Funds{MinWei: s.MinWei, Days: s.WalletDays, Unpaid: s.unpaid()}
	_, expected := s.load.total()
	n.Proofs = s.proofsWithin(n.Days, expected)
	return n
}

// proofsWithin is how many proofs are to be expected in so many days, when so
// many are expected in a period (in parts of perProof); rounded up.
func (e *env) proofsWithin(days, expected uint64) uint64 {
	period := uint64(max(1, e.Terms.Proofs.Period/time.Second))
	hi, lo := bits.Mul64(expected, days*uint64(24*time.Hour/time.Second))
	if divisor := period * perProof; hi < divisor {
		n, rest := bits.Div64(hi, lo, divisor)
		if rest > 0 && n < math.MaxUint64 {
			n++
		}
		return n
	}
	return math.MaxUint64
}

// slotsPerRequest caps how many slots of one request this host fills.
func (s *supervisor) slotsPerRequest(r events.Request) int {
	if s.MaxSlotsPerRequest > 0 {
		return s.MaxSlotsPerRequest
	}
	return int(min(max(r.Ask.MaxSlotLoss, 1), events.MaxSlots))
}

// tellTerms says what a sale that begins pays and what it will cost. Tokens and
// coins are not comparable, so whether that is a profit is for the operator to
// say, by the minimum price of an availability.
func (s *supervisor) tellTerms(start sale.Start, balance events.Balance) {
	ask := start.Request.Ask
	price, _ := ask.PricePerSecond()
	left := max(0, start.EndsAt.Sub(start.At))
	perDay := s.proofsWithin(1, s.expectedProofs(start.Request))
	days := uint64((left + 24*time.Hour - 1) / (24 * time.Hour))
	gas := saturatingAdd(balance.SaleWei, balance.ProofWei.MulSaturating(perDay).MulSaturating(days))
	s.Log.WithField("slot", start.Slot.String()).Infof(
		"a sale begins: it pays at most %s tokens in %s, and needs about %d proofs a day, %s wei of gas in all",
		price.MulSaturating(uint64(left/time.Second)), left, perDay, gas)
}
