package porttest

import (
	"context"
	"errors"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

func rulesAreTold(p *provided) {
	want, _, _, _, _ := ProviderRules()
	if diff := cmp.Diff(want, p.config, same); diff != "" {
		p.Fatalf("rules (-want +got):\n%s", diff)
	}
	if p.w.Provider.Account().Zero() {
		p.Fatal("it is nobody's")
	}
	head := p.head()
	if final, err := p.w.Provider.Final(p.Context(), head); err != nil || !final {
		p.Fatalf("with one confirmation the newest block is final: %t, %v", final, err)
	}
	if final, err := p.w.Provider.Final(p.Context(), head+1); err != nil || final {
		p.Fatalf("the next block is final: %t, %v", final, err)
	}
}

func unknownSector(p *provided) {
	s := p.sector(99)
	if s != (events.SectorOnChain{Block: s.Block}) || s.Block.Number != p.head() {
		p.Fatalf("it is %+v", s)
	}
	if _, _, err := p.w.Provider.Seed(p.Context(), 99); !errors.Is(err, events.ErrNotPreCommitted) {
		p.Fatalf("its seed: %v", err)
	}
	proof := make([]byte, commd.ProofSize(uint64(providedSize), p.config.SealLeaves))
	port := p.w.Provider
	p.refuses("to pin its seed", events.ErrNotPreCommitted, func(ctx context.Context) (events.Receipt, error) {
		return port.PinSeed(ctx, "a", 99)
	})
	p.refuses("to commit it", events.ErrNotPreCommitted, func(ctx context.Context) (events.Receipt, error) {
		return port.Commit(ctx, "a", 99, proof)
	})
	p.refuses("to declare a fault", events.ErrSectorNotLive, func(ctx context.Context) (events.Receipt, error) {
		return port.DeclareFaults(ctx, "a", []uint64{99})
	})
	p.refuses("to declare a recovery", events.ErrSectorNotLive, func(ctx context.Context) (events.Receipt, error) {
		return port.DeclareRecoveries(ctx, "a", []uint64{99})
	})
	if r := p.send(func(ctx context.Context) (events.Receipt, error) { return port.Terminate(ctx, "a", 99) }); !r.TxHash.Zero() {
		p.Fatalf("it was terminated by %s", r.TxHash)
	}
	if s, err := p.settles("a", 99); err != nil || s != (events.SectorSettlement{}) {
		p.Fatalf("settled it is %+v, %v", s, err)
	}
	p.send(func(ctx context.Context) (events.Receipt, error) {
		w, err := port.Withdraw(ctx, "a")
		if err == nil && w != (events.SectorWithdrawal{}) {
			p.Errorf("nothing was withdrawn: %+v", w)
		}
		return w.Receipt, err
	})
}

func sealedOnce(p *provided) {
	call := p.announces(7)
	receipt := p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		call.Key = key
		return p.w.Provider.PreCommit(ctx, call)
	})
	want := events.SectorOnChain{
		SectorFacts:    events.SectorFacts{PreCommitted: true, SeedEpoch: receipt.Block.Number + p.config.ChallengeDelay},
		Size:           providedSize,
		Proves:         events.ProvesPossession,
		CommD:          call.CommD,
		CommR:          call.CommR,
		Ticket:         call.Ticket,
		TicketEpoch:    call.TicketEpoch,
		PreCommitEpoch: receipt.Block.Number,
		Expiration:     call.Expiration,
		Deadline:       7 % p.config.Deadlines,
		Partition:      7 / p.config.Deadlines / p.config.PartitionSize,
		Deposit:        p.config.Deposit(providedSize),
	}
	got := p.sector(7)
	want.Block = got.Block
	if diff := cmp.Diff(want, got, same); diff != "" {
		p.Fatalf("precommitted (-want +got):\n%s", diff)
	}
	if _, _, err := p.w.Provider.Seed(p.Context(), 7); !errors.Is(err, events.ErrTooEarly) {
		p.Fatalf("its seed before it is drawn: %v", err)
	}
	proof := p.proof(commd.Seal, 7, call.Ticket, events.Hash{1}, p.config.SealLeaves)
	p.refuses("a proof before the seed is drawn", events.ErrTooEarly, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, "a", 7, proof)
	})
	p.refuses("to end a precommit", events.ErrTooEarly, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Terminate(ctx, "a", 7)
	})
	p.mineTo(want.SeedEpoch + 1)
	seed, epoch, err := p.w.Provider.Seed(p.Context(), 7)
	if s := p.sector(7); err != nil || epoch != want.SeedEpoch || seed.Zero() || s.Seed != seed {
		p.Fatalf("its seed is %s of %d, the sector has %s: %v", seed, epoch, s.Seed, err)
	}
	p.refuses("a proof for another seed", events.ErrInvalidProof, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, "a", 7, proof)
	})
	p.refuses("half a proof", events.ErrInvalidProof, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, "a", 7, proof[:100])
	})
	proof = p.proof(commd.Seal, 7, call.Ticket, seed, p.config.SealLeaves)
	receipt = p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, key, 7, proof)
	})
	got = p.sector(7)
	if !got.Active || got.PreCommitted || got.Faulty || got.Terminated || got.Activation != receipt.Block.Number || got.Seed != seed {
		p.Fatalf("committed it is %+v", got)
	}
	if opens := p.opens(7, got.NextPeriod); opens <= got.Activation || opens > got.Activation+p.config.PeriodBlocks {
		p.Fatalf("it is due in period %d, whose window opens with block %d", got.NextPeriod, opens)
	}
	again, _, err := p.w.Provider.Seed(p.Context(), 7)
	if err != nil || again != seed {
		p.Fatalf("its seed is now %s, %v", again, err)
	}
	all, err := p.w.Provider.Sectors(p.Context(), []uint64{99, 7})
	if err != nil || len(all) != 2 || all[0].Size != 0 || all[1] != got {
		p.Fatalf("both are %+v, %v", all, err)
	}
	if _, err := p.settles("a", 7); !errors.Is(err, events.ErrTooEarly) {
		p.Fatalf("to settle a live one: %v", err)
	}
}

func refusedPreCommits(p *provided) {
	p.seals(4)
	for name, c := range map[string]struct {
		change func(*events.PreCommitCall)
		want   error
	}{
		"another CommR":                   {func(c *events.PreCommitCall) { c.CommR[0]++ }, events.ErrMalformed},
		"an impossible size":              {func(c *events.PreCommitCall) { c.Size = 1000 }, events.ErrMalformed},
		"one that expires too early":      {func(c *events.PreCommitCall) { c.Expiration = p.head() + 10 }, events.ErrMalformed},
		"one that lives for ever":         {func(c *events.PreCommitCall) { c.Expiration = 1 << 40 }, events.ErrMalformed},
		"a deposit that it may not take":  {func(c *events.PreCommitCall) { c.Deposit = events.NewAmount(1) }, events.ErrInsufficientFunds},
		"a ticket that nobody drew":       {func(c *events.PreCommitCall) { p.renames(c, 5, events.Hash{1}) }, events.ErrTicketExpired},
		"the number of another sector":    {func(c *events.PreCommitCall) { p.renames(c, 4, c.Ticket) }, events.ErrNumberUsed},
		"a ticket of a block to be mined": {func(c *events.PreCommitCall) { c.TicketEpoch = p.head() + 100 }, events.ErrTicketExpired},
	} {
		call := p.announces(5)
		c.change(&call)
		p.refuses(name, c.want, func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.PreCommit(ctx, call) })
	}
	if s := p.sector(5); s.Size != 0 {
		p.Fatalf("it is there: %+v", s)
	}
}

// renames makes a precommit of it under another number or ticket.
func (p *provided) renames(c *events.PreCommitCall, number uint64, ticket events.Hash) {
	c.Number, c.Ticket = number, ticket
	c.CommR = events.Hash(commd.CommR(p.w.Provider.Account(), number, ticket, p.data.commD))
}

func ticketTooOld(p *provided) {
	call := p.announces(1)
	call.Expiration = call.TicketEpoch + p.config.TicketValid + p.config.CommitDue + p.config.MinLife + 100
	p.mineTo(call.TicketEpoch + p.config.TicketValid)
	p.refuses("its ticket", events.ErrTicketExpired, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PreCommit(ctx, call)
	})
	p.preCommits(1)
}

func voidPreCommit(p *provided) {
	_, void, _, _, _ := ProviderRules()
	call := p.preCommits(3)
	if _, err := p.settles("a", 3); !errors.Is(err, events.ErrTooEarly) {
		p.Fatalf("to settle it: %v", err)
	}
	s := p.sector(3)
	p.mineTo(s.SeedEpoch + p.config.SeedValid + 1)
	s = p.sector(3)
	if !s.Void || s.PreCommitted || s.Active || s.Terminated {
		p.Fatalf("it is %+v", s)
	}
	if _, _, err := p.w.Provider.Seed(p.Context(), 3); !errors.Is(err, events.ErrSeedLost) {
		p.Fatalf("its seed: %v", err)
	}
	p.refuses("to pin it", events.ErrSeedLost, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PinSeed(ctx, "a", 3)
	})
	p.refuses("to commit it", events.ErrSeedLost, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, "a", 3, p.proof(commd.Seal, 3, call.Ticket, s.Seed, p.config.SealLeaves))
	})
	again := p.announces(3)
	again.Key = "again"
	p.refuses("to precommit it", events.ErrSeedLost, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PreCommit(ctx, again)
	})
	p.isSettled(3, void)
	if s := p.sector(3); s.Size != 0 {
		p.Fatalf("its number is not free: %+v", s)
	}
	again = call
	again.Key, again.Expiration = "the same", p.head()+p.config.CommitDue+p.config.MinLife+100
	p.refuses("the ticket of the void one", events.ErrTicketExpired, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PreCommit(ctx, again)
	})
	again = p.announces(3)
	again.Key = "again"
	p.send(func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.PreCommit(ctx, again) })
	if !p.sector(3).PreCommitted {
		p.Fatal("it cannot be precommitted again")
	}
	// The second void one costs as much, and its outcome says what both have cost.
	p.mineTo(p.sector(3).SeedEpoch + p.config.SeedValid + 1)
	whole := p.config.Deposit(providedSize)
	fee := whole.MulSaturating(void).Div(10_000)
	got, err := p.settles("c", 3)
	if err != nil || got.Lost != fee.MulSaturating(2) || got.Returned != whole.Sub(fee) {
		p.Fatalf("settled again it is %+v, %v", got, err)
	}
}

func pinnedSeed(p *provided) {
	call := p.preCommits(3)
	p.refuses("to pin it before it is drawn", events.ErrTooEarly, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PinSeed(ctx, "early", 3)
	})
	s := p.sector(3)
	p.mineTo(s.SeedEpoch + 1)
	seed, _, err := p.w.Provider.Seed(p.Context(), 3)
	if err != nil {
		p.Fatal(err)
	}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.PinSeed(ctx, key, 3)
	})
	p.mineTo(s.SeedEpoch + p.config.SeedValid + 2)
	if s = p.sector(3); !s.PreCommitted || s.Seed != seed {
		p.Fatalf("its seed was %s, it is %+v", seed, s)
	}
	p.commits(call)
}
