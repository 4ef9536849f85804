package provider

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// about is the purpose of a message about one sector.
func about(kind string, number uint64, key string) purpose {
	return purpose{kind: kind, subject: strconv.FormatUint(number, 10), key: key}
}

// PreCommit sends a precommit and its deposit; it approves the tokens when that is needed.
// ErrTicketExpired, ErrInsufficientFunds, ErrMalformed; ErrNumberUsed when the contract has another
// sector of that number, and ErrSeedLost when a void precommit must be settled first.
func (c *Chain) PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error) {
	p := about(kindPreCommit, call.Number, call.Key)
	p.takes = c.config.Deposit(call.Size)
	return c.act(ctx, fmt.Sprintf("precommit sector %d", call.Number), p, c.ofSector(call.Number,
		func(ctx context.Context, head *rpc.Header, s events.SectorOnChain) (*message, events.Receipt, error) {
			return c.preCommit(ctx, head, s, call)
		}))
}

func (c *Chain) preCommit(
	ctx context.Context, head *rpc.Header, s events.SectorOnChain, call events.PreCommitCall,
) (*message, events.Receipt, error) {
	none := events.Receipt{}
	commR, known := c.commR(call.Proves, call.Number, call.Ticket, call.CommD)
	if _, taken := c.config.Rewards[call.Proves]; !known || !taken {
		return nil, none, fmt.Errorf("%w: it does not take proofs that show %q", events.ErrMalformed, call.Proves)
	}
	if commR != call.CommR {
		return nil, none, fmt.Errorf("%w: CommR is %s, by ticket and CommD it is %s",
			events.ErrMalformed, call.CommR, commR)
	}
	switch {
	case s.Void:
		return nil, none, fmt.Errorf("%w: settle it first", events.ErrSeedLost)
	case s.Size != 0 &&
		(s.Size != call.Size || s.Proves != call.Proves || s.CommD != call.CommD || s.Ticket != call.Ticket):
		return nil, none, fmt.Errorf("%w: by one of %d bytes with CommD %s", events.ErrNumberUsed, s.Size, s.CommD)
	case s.Terminated:
		return nil, none, fmt.Errorf("%w: it is over", events.ErrNumberUsed)
	case s.Size != 0:
		_, r, err := c.said(ctx, call.Number, s.PreCommitEpoch, "PreCommitted")
		return nil, r, err
	}
	if c.config.Deposit(call.Size).Cmp(call.Deposit) > 0 {
		return nil, none, fmt.Errorf("%w: the deposit is %s, at most %s may be taken",
			events.ErrInsufficientFunds, c.config.Deposit(call.Size), call.Deposit)
	}
	next := uint64(head.Number) + 1
	last := call.TicketEpoch + c.config.TicketValid
	if next > last {
		return nil, none, fmt.Errorf("%w: it is of epoch %d, and good until %d",
			events.ErrTicketExpired, call.TicketEpoch, last)
	}
	// The expiration must be far enough from the block that takes the message.
	least := c.config.CommitDue + c.config.MinLife
	if call.Expiration < next+least || call.Expiration > next+c.config.MaxLife {
		return nil, none, fmt.Errorf("%w: an expiration of %d; from block %d on it must be %d to %d later",
			events.ErrMalformed, call.Expiration, next, least, c.config.MaxLife)
	}
	last = min(last, call.Expiration-least)
	data := c.abi.PackPreCommit(bindings.PreCommitment{
		Number: call.Number, Size: uint64(call.Size), TicketEpoch: call.TicketEpoch, Expiration: call.Expiration,
		CommD: call.CommD, CommR: call.CommR, ProofType: uint8(slices.Index(proofTypes[:], call.Proves)),
	})
	return &message{data: data, gas: c.cfg.Gas.PreCommit, lastBlock: last}, none, nil
}

// waits is why the proof of a sector cannot be taken now, or its seed stored; nil: it can.
func waits(s events.SectorOnChain) error {
	switch {
	case s.Void:
		return events.ErrSeedLost
	case !s.PreCommitted:
		return events.ErrNotPreCommitted
	case s.Block.Number <= s.SeedEpoch:
		return fmt.Errorf("%w: the seed is of block %d, the newest is %d",
			events.ErrTooEarly, s.SeedEpoch, s.Block.Number)
	}
	return nil
}

// PinSeed stores the seed before it is out of reach. ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
func (c *Chain) PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	doing := fmt.Sprintf("pin the seed of sector %d", number)
	return c.act(ctx, doing, about(kindPinSeed, number, key), c.ofSector(number,
		func(ctx context.Context, _ *rpc.Header, s events.SectorOnChain) (*message, events.Receipt, error) {
			if !s.Seed.Zero() && (s.PreCommitted || s.Active) { // A commit stores it, too.
				_, r, err := c.said(ctx, number, s.PreCommitEpoch, "SeedPinned")
				return nil, r, err
			}
			if err := waits(s); err != nil {
				return nil, events.Receipt{}, err
			}
			return &message{
				data: c.abi.PackPinSeed(c.account, number), gas: c.cfg.Gas.PinSeed,
				lastBlock: s.SeedEpoch + contracts.BlockHashReach,
			}, events.Receipt{}, nil
		}))
}

// Commit sends the proof. ErrInvalidProof, ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
func (c *Chain) Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error) {
	return c.act(ctx, fmt.Sprintf("commit sector %d", number), about(kindCommit, number, key), c.ofSector(number,
		func(ctx context.Context, _ *rpc.Header, s events.SectorOnChain) (*message, events.Receipt, error) {
			if s.Activation > 0 {
				_, r, err := c.said(ctx, number, s.Activation, "Committed")
				return nil, r, err
			}
			if err := waits(s); err != nil {
				return nil, events.Receipt{}, err
			}
			return &message{
				data: c.abi.PackCommit(number, proof), gas: c.cfg.Gas.commit(depthOf(s.Size), c.config.SealLeaves),
				lastBlock: s.PreCommitEpoch + c.config.CommitDue,
			}, events.Receipt{}, nil
		}))
}
