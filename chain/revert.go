package chain

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/events"
)

// revertData is the data of a revert in a node's answer; false when the answer is
// something else.
func revertData(err error) ([]byte, bool) {
	withData, ok := errors.AsType[rpc.DataError](err)
	if !ok {
		return nil, false
	}
	text, ok := withData.ErrorData().(string)
	if !ok {
		return nil, false
	}
	data, err := hexutil.Decode(text)
	return data, err == nil
}

// revertError turns revert data into the outcome that the port knows, ErrReverted when
// there is none, with the contract's own words.
func revertError(data []byte) error {
	name, _ := contracts.DecodeRevert(data)
	return fmt.Errorf("%w: %s", outcomeOf(name), contracts.DescribeRevert(data))
}

// outcomeOf is the sentinel for one of the contract's errors (marketplace.md §2.2).
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
	case "Marketplace_StartNotBeforeExpiry":
		return events.ErrDeadlinePassed
	case "ERC20InsufficientBalance", "ERC20InsufficientAllowance":
		return events.ErrInsufficientFunds
	default:
		return events.ErrReverted
	}
}
