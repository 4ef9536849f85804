package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Kinds of messages, as their keys begin.
const (
	kindPreCommit  = "precommit"
	kindPinSeed    = "pinseed"
	kindCommit     = "commit"
	kindPossession = "possession"
	kindFaults     = "faults"
	kindRecoveries = "recoveries"
	kindTerminate  = "terminate"
	kindSettle     = "settle"
	kindWithdraw   = "withdraw"
)

// Contract is what the account's transaction manager must know of the contract at an address. A proof
// of possession is a duty; it has a last block but no deadline, so the market's proofs go first.
func Contract(at events.Address) tx.Contract {
	kinds := map[string]tx.Kind{kindPossession: {Duty: true, Hopeless: hopeless}}
	for _, kind := range []string{
		kindPreCommit, kindPinSeed, kindCommit, kindFaults, kindRecoveries, kindTerminate, kindSettle, kindWithdraw,
	} {
		kinds[kind] = tx.Kind{Hopeless: hopeless}
	}
	calls := providerCalls()
	return tx.Contract{
		Kinds: kinds,
		Refusals: func(to common.Address, data []byte) (bool, error) {
			if to != common.Address(at) {
				return false, nil
			}
			return refusalOf(to, data)
		},
		IsHostCall: func(to common.Address, input []byte) bool {
			return to == common.Address(at) && len(input) >= selectorBytes && calls[string(input[:selectorBytes])]
		},
		InUse: func(ctx context.Context, c *rpc.Conn, account common.Address) (string, error) {
			return sectorsOf(ctx, c, common.Address(at), account)
		},
	}
}

// firstSectors is how many numbers are asked for: a host counts its sectors from 1.
const firstSectors = 16

// sectorsOf says which sectors an account has in the contract at an address. New finds out whether there is a
// contract at all.
func sectorsOf(ctx context.Context, c *rpc.Conn, at, account common.Address) (string, error) {
	head, err := c.Latest(ctx)
	if err != nil {
		return "", fmt.Errorf("read the sectors of %s: %w", account, err)
	}
	known := bindings.NewSectorProvider()
	raw := make([]bindings.SectorInfo, firstSectors)
	views := make([]*rpc.View, firstSectors)
	for i := range views {
		views[i] = viewOf(at, known.PackSector(account, uint64(i+1)), known.UnpackSector, &raw[i])
	}
	var perByte *big.Int // Other contracts do not have this function.
	err = c.Read(ctx, account, head.Hash, viewOf(at, known.PackDepositFor(1), known.UnpackDepositFor, &perByte))
	if err == nil {
		err = c.Read(ctx, account, head.Hash, views...)
	}
	switch {
	case errors.Is(err, rpc.ErrUnavailable):
		return "", fmt.Errorf("read the sectors of %s: %w", account, err)
	case err != nil:
		return "", nil //nolint:nilerr // It is not a contract of sectors.
	}
	var numbers []uint64
	for i, r := range raw {
		if contracts.SectorStatus(r.Status) != contracts.SectorNone {
			numbers = append(numbers, uint64(i+1))
		}
	}
	if len(numbers) == 0 {
		return "", nil
	}
	return fmt.Sprintf("account %s has sectors in %s (numbers %s) that the record of this data directory does not "+
		"know", account, at, list(numbers)), nil
}

const selectorBytes = 4

// providerCalls are the beginnings of calls that only a provider makes.
func providerCalls() map[string]bool {
	known := bindings.NewSectorProvider().GetABI()
	calls := map[string]bool{}
	for _, name := range []string{
		"preCommit", "commit", "provePossession", "declareFaults", "declareRecoveries",
		"terminate", "expire", "withdraw",
	} {
		calls[string(known.Methods[name].ID)] = true
	}
	return calls
}

// refusalOf is what it means that a call is reverted; what the language itself says means nothing in a
// trial.
func refusalOf(_ common.Address, data []byte) (known bool, refusal error) {
	name, ok := contracts.DecodeRevert(data)
	if !ok || strings.HasPrefix(name, contracts.PanicPrefix) {
		return false, nil
	}
	return true, revertError(data)
}

// revertError is a revert as the outcome that the port knows, with the contract's own words.
func revertError(data []byte) error {
	name, _ := contracts.DecodeRevert(data)
	return fmt.Errorf("%w: %s", outcomeOf(name), contracts.DescribeRevert(data))
}

// outcomeOf is the sentinel for one of the contract's errors.
func outcomeOf(name string) error {
	switch name {
	case "Sectors_NumberUsed":
		return events.ErrNumberUsed
	case "Sectors_TicketOutOfReach", "Sectors_WrongCommR":
		return events.ErrTicketExpired
	case "Sectors_NotPreCommitted":
		return events.ErrNotPreCommitted
	case "Sectors_Void":
		return events.ErrSeedLost
	case "Sectors_SeedTooEarly", "Sectors_NotVoid", "Sectors_NotEnded":
		return events.ErrTooEarly
	case "Sectors_InvalidProof", "Sectors_ProofLength":
		return events.ErrInvalidProof
	case "Sectors_AlreadyProven":
		return events.ErrProofAlreadySubmitted
	case "Sectors_NotDue", "Sectors_NotFaulty":
		return events.ErrSectorNotDue
	case "Sectors_NotLive":
		return events.ErrSectorNotLive
	case "Sectors_WindowNotOpen":
		return events.ErrDeadlinePassed
	case "Sectors_InvalidSize", "Sectors_InvalidCommD", "Sectors_InvalidExpiration", "Sectors_WrongPartition",
		"Sectors_NothingToProve", "Sectors_ProofCount":
		return events.ErrMalformed
	case "ERC20InsufficientBalance", "ERC20InsufficientAllowance", "Sectors_TransferFailed":
		return events.ErrInsufficientFunds
	default:
		return events.ErrReverted
	}
}

// final are the outcomes after which the same message would not be taken later either.
func final() []error {
	return []error{
		events.ErrNumberUsed, events.ErrTicketExpired, events.ErrNotPreCommitted, events.ErrSeedLost,
		events.ErrInvalidProof, events.ErrProofAlreadySubmitted, events.ErrSectorNotDue, events.ErrSectorNotLive,
		events.ErrMalformed, events.ErrDeadlinePassed,
	}
}

func hopeless(refusal error) bool {
	for _, reason := range final() {
		if errors.Is(refusal, reason) {
			return true
		}
	}
	return false
}
