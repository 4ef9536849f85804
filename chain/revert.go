package chain

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// revertError converts revert data into the port's outcome, or ErrReverted if there is none, with
// the contract's own error in the text.
func revertError(data []byte) error {
	name, _ := contracts.DecodeRevert(data)
	return fmt.Errorf("%w: %s", outcomeOf(name), contracts.DescribeRevert(data))
}

// outcomeOf is the sentinel for one of the contract's errors (spec/marketplace.md §2.2).
func outcomeOf(name string) error {
	switch name {
	case "Marketplace_UnknownRequest":
		return events.ErrUnknownRequest
	case "SlotReservations_ReservationNotAllowed", "Marketplace_ReservationRequired":
		return events.ErrReservationNotAllowed
	case "Marketplace_SlotNotFree":
		return events.ErrSlotNotFree
	case "Marketplace_SlotIsFree":
		return events.ErrSlotIsFree
	case "Marketplace_InvalidSlotHost", "Marketplace_ProofNotSubmittedByHost":
		return events.ErrNotOurSlot
	case "Proofs_InvalidProof":
		return events.ErrInvalidProof
	case "Proofs_ProofAlreadySubmitted":
		return events.ErrProofAlreadySubmitted
	case "Proofs_ProofNotMissing", "Proofs_ProofNotRequired", "Proofs_ProofAlreadyMarkedMissing",
		"Proofs_ValidationTimedOut", "Marketplace_SlotNotAcceptingProofs":
		return events.ErrNotMissing
	case "Proofs_PeriodNotEnded":
		return events.ErrTooEarly
	case "Marketplace_StartNotBeforeExpiry":
		return events.ErrDeadlinePassed
	case "ERC20InsufficientBalance", "ERC20InsufficientAllowance":
		return events.ErrInsufficientFunds
	default:
		return events.ErrReverted
	}
}

// viewOf is a read of one of our contracts, decoded into target.
func viewOf[T any](to common.Address, data []byte, unpack func([]byte) (T, error), target *T) *rpc.View {
	return rpc.NewView(to, data, revertError, unpack, target)
}

// refusalOf says what the revert of a trial means. A failed check of the language itself says
// nothing: in a trial the hash of the newest block is zero, on which the contract panics, and in a
// transaction it is not.
func refusalOf(_ common.Address, data []byte) (known bool, refusal error) {
	name, ok := contracts.DecodeRevert(data)
	if !ok || strings.HasPrefix(name, contracts.PanicPrefix) {
		return false, nil
	}
	return true, revertError(data)
}

// refusals is refusalOf for calls of the marketplace and of its token; other contracts of the account
// say for themselves what theirs mean.
func (m *Market) refusals(to common.Address, data []byte) (known bool, refusal error) {
	if to != m.contract && to != m.tokenAddress() {
		return false, nil
	}
	return refusalOf(to, data)
}

// panicked says that a call ended in one of the language's own checks.
func panicked(data []byte) bool {
	name, _ := contracts.DecodeRevert(data)
	return strings.HasPrefix(name, contracts.PanicPrefix)
}
