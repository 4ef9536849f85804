package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"

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
// of possession is a duty, like the proofs of the market; which of them goes first its deadline says.
func Contract(at events.Address) tx.Contract {
	kinds := map[string]tx.Kind{kindPossession: {Duty: true, Permanent: permanentRefusal}}
	for _, kind := range []string{
		kindPreCommit, kindPinSeed, kindCommit, kindFaults, kindRecoveries, kindTerminate, kindSettle, kindWithdraw,
	} {
		kinds[kind] = tx.Kind{Permanent: permanentRefusal}
	}
	return tx.Contract{
		Kinds: kinds,
		Refusals: func(to common.Address, data []byte) (bool, error) {
			if to != common.Address(at) {
				return false, nil
			}
			return outcomes.OfTrial(to, data)
		},
		IsHostCall: contracts.CallsOf(common.Address(at), bindings.NewSectorProvider().GetABI(),
			"preCommit", "commit", "provePossession", "declareFaults", "declareRecoveries",
			"terminate", "expire", "withdraw"),
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

// outcomes are the sentinels for the contract's errors.
var outcomes = contracts.Outcomes{
	"Sectors_NumberUsed":         events.ErrNumberUsed,
	"Sectors_TicketOutOfReach":   events.ErrTicketExpired,
	"Sectors_WrongCommR":         events.ErrTicketExpired,
	"Sectors_NotPreCommitted":    events.ErrNotPreCommitted,
	"Sectors_Void":               events.ErrSeedLost,
	"Sectors_SeedTooEarly":       events.ErrTooEarly,
	"Sectors_NotVoid":            events.ErrTooEarly,
	"Sectors_NotEnded":           events.ErrTooEarly,
	"Sectors_InvalidProof":       events.ErrInvalidProof,
	"Sectors_ProofLength":        events.ErrInvalidProof,
	"Sectors_AlreadyProven":      events.ErrProofAlreadySubmitted,
	"Sectors_NotDue":             events.ErrSectorNotDue,
	"Sectors_NotFaulty":          events.ErrSectorNotDue,
	"Sectors_NotLive":            events.ErrSectorNotLive,
	"Sectors_WindowNotOpen":      events.ErrDeadlinePassed,
	"Sectors_InvalidSize":        events.ErrMalformed,
	"Sectors_InvalidCommD":       events.ErrMalformed,
	"Sectors_ProofTypeNotTaken":  events.ErrMalformed,
	"Sectors_InvalidExpiration":  events.ErrMalformed,
	"Sectors_WrongPartition":     events.ErrMalformed,
	"Sectors_NothingToProve":     events.ErrMalformed,
	"Sectors_ProofCount":         events.ErrMalformed,
	"ERC20InsufficientBalance":   events.ErrInsufficientFunds,
	"ERC20InsufficientAllowance": events.ErrInsufficientFunds,
	"Sectors_TransferFailed":     events.ErrInsufficientFunds,
}

// permanentRefusal says that the same message would not be taken later either.
var permanentRefusal = tx.AnyOf(
	events.ErrNumberUsed, events.ErrTicketExpired, events.ErrNotPreCommitted, events.ErrSeedLost,
	events.ErrInvalidProof, events.ErrProofAlreadySubmitted, events.ErrSectorNotDue, events.ErrSectorNotLive,
	events.ErrMalformed, events.ErrDeadlinePassed,
)
