package provider

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// Ticket is the randomness that a sector precommitted now is sealed with. ErrTooEarly on a chain that is
// shorter than a ticket must be old.
func (c *Chain) Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	var raw [32]byte
	head, err := c.conn.ReadNewest(ctx, c.account, func(head *rpc.Header) []*rpc.View {
		if uint64(head.Number) <= c.config.TicketLookback { // Of the first block the contract makes none.
			return nil
		}
		epoch = uint64(head.Number) - c.config.TicketLookback
		v := viewOf(c.contract, c.abi.PackTicketFor(c.account, number, epoch), c.abi.UnpackTicketFor, &raw)
		return []*rpc.View{v.Must(func() error {
			if raw == [32]byte{} {
				return fmt.Errorf("it gives no ticket of epoch %d in block %d", epoch, uint64(head.Number))
			}
			return nil
		})}
	})
	if err == nil && uint64(head.Number) <= c.config.TicketLookback {
		err = fmt.Errorf("%w: the chain has %d blocks, a ticket is %d blocks old",
			events.ErrTooEarly, uint64(head.Number), c.config.TicketLookback)
	}
	if err != nil {
		return events.Hash{}, 0, fmt.Errorf("ticket of sector %d: %w", number, err)
	}
	return raw, epoch, nil
}

// Sector is what the contract has of a sector at the newest block.
func (c *Chain) Sector(ctx context.Context, number uint64) (events.SectorOnChain, error) {
	all, err := c.Sectors(ctx, []uint64{number})
	if err != nil {
		return events.SectorOnChain{}, err
	}
	return all[0], nil
}

// Sectors is Sector of many, all at one block, in the order of the question.
func (c *Chain) Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	var all []events.SectorOnChain
	head, err := c.conn.ReadNewest(ctx, c.account, func(head *rpc.Header) []*rpc.View {
		var views []*rpc.View
		all, views = c.sectorViews(head, numbers)
		return views
	})
	if err != nil {
		return nil, fmt.Errorf("read %d sectors: %w", len(numbers), err)
	}
	var seeds []uint64 // Blocks that are seeds, and not stored yet.
	for _, s := range all {
		if seedIsKnown(s) && s.Seed.Zero() {
			seeds = append(seeds, s.SeedEpoch)
		}
	}
	hashes, err := c.hashesAt(ctx, head, seeds)
	if err != nil {
		return nil, fmt.Errorf("read seeds: %w", err)
	}
	for i, s := range all {
		if seedIsKnown(s) && s.Seed.Zero() {
			all[i].Seed = events.Hash(hashes[s.SeedEpoch])
		}
	}
	return all, nil
}

// sectorViews are the reads of sectors at a block, and what they read. A seed is there when the contract has stored it.
func (c *Chain) sectorViews(head *rpc.Header, numbers []uint64) ([]events.SectorOnChain, []*rpc.View) {
	all, raw := make([]events.SectorOnChain, len(numbers)), make([]bindings.SectorInfo, len(numbers))
	views := make([]*rpc.View, len(numbers))
	for i, n := range numbers {
		views[i] = viewOf(c.contract, c.abi.PackSector(c.account, n), c.abi.UnpackSector, &raw[i]).
			Must(func() error {
				if err := c.impossible(n, raw[i], head); err != nil {
					return err
				}
				all[i] = onChain(raw[i], head)
				return nil
			})
	}
	return all, views
}

func seedIsKnown(s events.SectorOnChain) bool { return s.PreCommitted && s.Block.Number > s.SeedEpoch }

func onChain(r bindings.SectorInfo, head *rpc.Header) events.SectorOnChain {
	status := contracts.SectorStatus(r.Status)
	s := events.SectorOnChain{
		SectorFacts: events.SectorFacts{
			PreCommitted: status == contracts.SectorPreCommitted,
			Active:       status == contracts.SectorActive || status == contracts.SectorFaulty,
			Faulty:       status == contracts.SectorFaulty,
			Terminated: status == contracts.SectorTerminated || status == contracts.SectorEnded ||
				status == contracts.SectorExpired,
			Seed: r.Seed, SeedEpoch: r.SeedEpoch,
		},
		Block: head.Head(), Void: status == contracts.SectorVoid, Ended: status == contracts.SectorEnded,
		Size: events.Bytes(r.Size), Proves: proofTypes[r.ProofType], CommD: r.CommD, CommR: r.CommR, Ticket: r.Ticket,
		TicketEpoch: r.TicketEpoch, PreCommitEpoch: r.PreCommitEpoch,
		Activation: r.Activation, Expiration: r.Expiration,
		Deadline: r.Deadline, Partition: r.Partition,
		NextPeriod: r.NextPeriod, FaultyFrom: r.FaultyFrom, RecoverAt: r.RecoverAt, FaultPeriods: r.FaultPeriods,
	}
	if status == contracts.SectorNone {
		return events.SectorOnChain{Block: s.Block}
	}
	s.Deposit = events.Must(events.AmountFromBig(r.Deposit)) // It was compared with the whole deposit.
	return s
}

// impossible is why what is said of a sector cannot be so in a block.
func (c *Chain) impossible(number uint64, r bindings.SectorInfo, head *rpc.Header) error {
	status := contracts.SectorStatus(r.Status)
	if status == contracts.SectorNone {
		if r.Size != 0 || r.PreCommitEpoch != 0 || r.CommD != [32]byte{} || r.Deposit.Sign() != 0 {
			return fmt.Errorf("it says of sector %d that there is none, and more", number)
		}
		return nil
	}
	_, err := events.AmountFromBig(r.Deposit)
	if int(r.ProofType) >= len(proofTypes) {
		return fmt.Errorf("it says of sector %d that its proofs are of type %d", number, r.ProofType)
	}
	commR, _ := c.commR(proofTypes[r.ProofType], number, r.Ticket, r.CommD)
	switch {
	case status > contracts.SectorExpired:
		return fmt.Errorf("it says of sector %d that it is in %s", number, status)
	case commd.CheckSectorSize(r.Size) != nil:
		return fmt.Errorf("it says of sector %d that it has %d bytes", number, r.Size)
	case err != nil:
		return fmt.Errorf("it says that a sector of %d bytes has a deposit of %s", r.Size, r.Deposit)
	case commR != r.CommR:
		return fmt.Errorf("it says that CommR of sector %d is %x, by its ticket and CommD it is %s",
			number, r.CommR, commR)
	}
	return events.CheckSector(c.config, number, onChain(r, head))
}

// hashesAt are the hashes of blocks on the branch of a head.
func (c *Chain) hashesAt(ctx context.Context, head *rpc.Header, numbers []uint64) (map[uint64]common.Hash, error) {
	hashes := map[uint64]common.Hash{}
	if len(numbers) == 0 {
		return hashes, nil
	}
	// The head is asked for last, in the same request: it shows a branch that changed meanwhile.
	blocks, err := c.conn.Blocks(ctx, append(append([]uint64{}, numbers...), uint64(head.Number)))
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b == nil {
			return nil, fmt.Errorf("%w: a block below %d is not known", rpc.ErrUnavailable, uint64(head.Number))
		}
		hashes[uint64(b.Number)] = b.Hash
	}
	if hashes[uint64(head.Number)] != head.Hash {
		return nil, fmt.Errorf("%w: block %d changed while it was read", rpc.ErrUnavailable, uint64(head.Number))
	}
	return hashes, nil
}

// Seed is the seed of a precommitted sector, as soon as a block follows on that which makes it.
// ErrTooEarly, ErrNotPreCommitted, ErrSeedLost.
func (c *Chain) Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	s, err := c.Sector(ctx, number)
	switch {
	case err != nil:
	case s.Void:
		err = events.ErrSeedLost
	case s.Seed.Zero() && s.PreCommitted:
		err = fmt.Errorf("%w: its block is %d, the newest is %d", events.ErrTooEarly, s.SeedEpoch, s.Block.Number)
	case !s.PreCommitted && !s.Active:
		err = events.ErrNotPreCommitted
	}
	if err != nil {
		return events.Hash{}, 0, fmt.Errorf("seed of sector %d: %w", number, err)
	}
	return s.Seed, s.SeedEpoch, nil
}

// Window is the window that is open in the block after the newest, and what is proven in it.
func (c *Chain) Window(ctx context.Context) (events.SectorWindow, error) {
	head, err := c.conn.Latest(ctx)
	if err != nil {
		return events.SectorWindow{}, fmt.Errorf("read the open window: %w", err)
	}
	w := c.windowIn(uint64(head.Number) + 1)
	if w.Opens > 0 {
		hashes, err := c.hashesAt(ctx, head, []uint64{w.Opens - 1})
		if err != nil {
			return events.SectorWindow{}, fmt.Errorf("read the open window: %w", err)
		}
		w.Randomness = events.Hash(hashes[w.Opens-1])
	}
	return w, nil
}

// windowIn is the window that is open in a block.
func (c *Chain) windowIn(block uint64) events.SectorWindow {
	blocks := c.config.PeriodBlocks / c.config.Deadlines
	return c.window(block/c.config.PeriodBlocks, block%c.config.PeriodBlocks/blocks)
}

func (c *Chain) window(period, deadline uint64) events.SectorWindow {
	blocks := c.config.PeriodBlocks / c.config.Deadlines
	opens := period*c.config.PeriodBlocks + deadline*blocks
	return events.SectorWindow{Period: period, Deadline: deadline, Opens: opens, Closes: opens + blocks}
}

// depthOf is the depth of the tree of a sector, whose size was compared.
func depthOf(size events.Bytes) int { return bits.Len64(uint64(size)) - 6 }
