package chain

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// ErrNothingLeft: of the payment for a request that is over nothing is left for the client.
var ErrNothingLeft = errors.New("nothing is left to withdraw")

// outcomes are the sentinels for the contract's errors (spec/marketplace.md §2.2).
var outcomes = contracts.Outcomes{
	"Marketplace_UnknownRequest":             events.ErrUnknownRequest,
	"SlotReservations_ReservationNotAllowed": events.ErrReservationNotAllowed,
	"Marketplace_ReservationRequired":        events.ErrReservationNotAllowed,
	"Marketplace_SlotNotFree":                events.ErrSlotNotFree,
	"Marketplace_SlotIsFree":                 events.ErrSlotIsFree,
	"Marketplace_InvalidSlotHost":            events.ErrNotOurSlot,
	"Marketplace_ProofNotSubmittedByHost":    events.ErrNotOurSlot,
	"Proofs_InvalidProof":                    events.ErrInvalidProof,
	"Proofs_ProofAlreadySubmitted":           events.ErrProofAlreadySubmitted,
	"Proofs_ProofNotMissing":                 events.ErrNotMissing,
	"Proofs_ProofNotRequired":                events.ErrTooEarly,
	"Proofs_ProofAlreadyMarkedMissing":       events.ErrNotMissing,
	"Proofs_ValidationTimedOut":              events.ErrNotMissing,
	"Marketplace_SlotNotAcceptingProofs":     events.ErrNotMissing,
	"Proofs_PeriodNotEnded":                  events.ErrTooEarly,
	"Marketplace_StartNotBeforeExpiry":       events.ErrDeadlinePassed,
	"Marketplace_NothingToWithdraw":          ErrNothingLeft,
	"ERC20InsufficientBalance":               events.ErrInsufficientFunds,
	"ERC20InsufficientAllowance":             events.ErrInsufficientFunds,
}

// viewOf is a read of one of our contracts, decoded into target.
func viewOf[T any](to common.Address, data []byte, unpack func([]byte) (T, error), target *T) *rpc.View {
	return rpc.NewView(to, data, outcomes.Of, unpack, target)
}

// refusals are outcomes.OfTrial for calls of the marketplace and of its token; other contracts of the account
// say for themselves what theirs mean.
func (m *Market) refusals(to common.Address, data []byte) (known bool, refusal error) {
	if to != m.contract && to != m.tokenAddress() {
		return false, nil
	}
	return outcomes.OfTrial(to, data)
}

// panicked says that a call ended in one of the language's own checks.
func panicked(data []byte) bool {
	name, _ := contracts.DecodeRevert(data)
	return strings.HasPrefix(name, contracts.PanicPrefix)
}
