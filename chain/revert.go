package chain

import (
	"errors"
	"fmt"
	"strings"

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
	return hexData(withData.ErrorData())
}

// hexData reads the forms in which nodes give the data of a revert: as it is, behind a
// word ("Reverted 0x…", as Nethermind and Parity did), or in an object's field of this
// name, which proxies and development nodes add.
func hexData(given any) ([]byte, bool) {
	switch v := given.(type) {
	case string:
		text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(v), "Reverted"), " ")
		data, err := hexutil.Decode(text)
		return data, err == nil
	case map[string]any:
		inner, found := v["data"]
		if _, nested := inner.(string); !found || !nested {
			return nil, false
		}
		return hexData(inner)
	default:
		return nil, false
	}
}

// revertError turns revert data into the outcome that the port knows, ErrReverted when
// there is none, with the contract's own words.
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
