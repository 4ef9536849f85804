package contracts

import (
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// BlockHashReach is the number of newest blocks whose hashes the EVM knows.
const BlockHashReach = 256

// MaxWindowBlocks is the longest window of a deadline. It is shorter than BlockHashReach, so that
// the hash that a window's challenge is made of is known in all its blocks.
const MaxWindowBlocks = 250

// BasisPoints are a whole deposit; fees are given in them.
const BasisPoints = 10_000

// ErrInvalidSectorConfig says that the sector provider's constructor would refuse a
// configuration.
var ErrInvalidSectorConfig = errors.New("invalid sector provider configuration")

// SectorStatus is a sector's status as the contract numbers it.
type SectorStatus uint8

// The statuses of a sector.
const (
	SectorNone         SectorStatus = iota // never precommitted, or withdrawn
	SectorPreCommitted                     // waits for its proof
	SectorVoid                             // its proof can no longer come
	SectorActive                           // proves possession once a period
	SectorFaulty                           // does not prove, and pays for it
	SectorTerminated                       // ended before its expiration
	SectorEnded                            // reached its expiration; the deposit is still there
	SectorExpired                          // reached its expiration; the deposit was collected
)

// String names a status.
func (s SectorStatus) String() string {
	names := [...]string{
		"none", "precommitted", "void", "active", "faulty", "terminated", "ended", "expired",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// The types of proofs, as the contract numbers them.
const (
	ProofPossession uint8 = iota // leaves of the data, on their paths to CommD
	ProofSimulated               // a formula that anyone can compute
)

// SectorProviderCreation returns the data of the transaction that creates a sector provider which
// holds deposits in token, or ErrInvalidSectorConfig. It can be deployed in any block, and any
// number of providers may use it.
func SectorProviderCreation(config bindings.SectorConfig, token common.Address) ([]byte, error) {
	if err := CheckSectorConfig(config); err != nil {
		return nil, err
	}
	return creation(&bindings.SectorProviderMetaData, config, token)
}

// CheckSectorConfig returns ErrInvalidSectorConfig with the reason when the sector
// provider's constructor would refuse the configuration.
func CheckSectorConfig(config bindings.SectorConfig) error {
	for _, reason := range []string{
		periodsProblem(config.Proving),
		feesProblem(config.Deposits),
		sealingProblem(config.Sealing, config.Proving.PeriodBlocks),
		proofTypesProblem(config),
	} {
		if reason != "" {
			return fmt.Errorf("%w: %s", ErrInvalidSectorConfig, reason)
		}
	}
	return nil
}

func proofTypesProblem(c bindings.SectorConfig) string {
	switch {
	case !c.Possession.Taken && !c.Simulated.Taken:
		return "no type of proofs is taken"
	case c.Simulated.RewardPerByte != 0:
		return fmt.Sprintf("%d for a byte with simulated proofs, which anybody can compute", c.Simulated.RewardPerByte)
	}
	return ""
}

func periodsProblem(p bindings.ProvingConfig) string {
	switch {
	case p.PeriodBlocks == 0 || p.PeriodBlocks > math.MaxUint32:
		return fmt.Sprintf("a proving period of %d blocks", p.PeriodBlocks)
	case p.Deadlines == 0 || p.PeriodBlocks%p.Deadlines != 0:
		return fmt.Sprintf("%d blocks cannot be cut into %d equal windows", p.PeriodBlocks, p.Deadlines)
	case p.PeriodBlocks/p.Deadlines > MaxWindowBlocks:
		return fmt.Sprintf("windows of %d blocks, of at most %d the challenge is known to the end",
			p.PeriodBlocks/p.Deadlines, MaxWindowBlocks)
	case p.PartitionSectors == 0:
		return "partitions of 0 sectors"
	case p.FaultCutoff >= p.PeriodBlocks:
		return fmt.Sprintf("a cutoff of %d blocks in periods of %d", p.FaultCutoff, p.PeriodBlocks)
	case p.Leaves == 0 || p.Leaves > math.MaxUint16:
		return fmt.Sprintf("%d leaves in a proof of possession", p.Leaves)
	case p.MaxFaultPeriods == 0:
		return "0 periods until a faulty sector is terminated"
	}
	return ""
}

func feesProblem(d bindings.DepositConfig) string {
	switch {
	case d.DepositPerByte == 0:
		return "no deposit"
	case d.VoidFee > BasisPoints || d.TerminationFee > BasisPoints:
		return fmt.Sprintf("fees of %d and %d are more than the deposit's %d basis points",
			d.VoidFee, d.TerminationFee, BasisPoints)
	case d.MissedFee > d.TerminationFee:
		return fmt.Sprintf("to miss a proof costs %d, more than the %d of leaving",
			d.MissedFee, d.TerminationFee)
	case d.FaultFee > d.MissedFee:
		return fmt.Sprintf("a declared fault costs %d, more than the %d of an undeclared one",
			d.FaultFee, d.MissedFee)
	}
	return ""
}

func sealingProblem(s bindings.SealingConfig, periodBlocks uint64) string {
	const longest = 1<<40 - 1 // blocks
	switch {
	case s.TicketLookback == 0 || s.TicketLookback >= BlockHashReach:
		return fmt.Sprintf("tickets of %d blocks before, of 1 to %d the hash is known",
			s.TicketLookback, BlockHashReach-1)
	case s.ChallengeDelay == 0 || s.ChallengeDelay > math.MaxUint32:
		return fmt.Sprintf("a seed after %d blocks", s.ChallengeDelay)
	case s.CommitDue < s.ChallengeDelay+BlockHashReach:
		return fmt.Sprintf("a commit is due after %d blocks, but the seed may be pinned until %d",
			s.CommitDue, s.ChallengeDelay+BlockHashReach)
	case s.MinLife/2 < periodBlocks:
		return fmt.Sprintf("a life of %d blocks is less than two periods of %d", s.MinLife, periodBlocks)
	case s.MaxLife > longest:
		return fmt.Sprintf("a life of %d blocks is more than %d", s.MaxLife, uint64(longest))
	case s.CommitDue > s.MaxLife || s.MinLife > s.MaxLife-s.CommitDue:
		return fmt.Sprintf("at most %d blocks from precommit to expiration leave no room for %d and %d",
			s.MaxLife, s.CommitDue, s.MinLife)
	case s.Leaves == 0 || s.Leaves > math.MaxUint16:
		return fmt.Sprintf("%d leaves in the proof of a commit", s.Leaves)
	}
	return ""
}
