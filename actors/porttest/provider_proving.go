package porttest

import (
	"context"
	"errors"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

func provenOncePerPeriod(p *provided) {
	one, two := p.preCommits(3), p.preCommits(6) // Of one partition.
	p.mineTo(p.sector(6).SeedEpoch + 1)
	p.commits(one)
	p.commits(two)
	period := p.sector(6).NextPeriod
	if other := p.sector(3).NextPeriod; other != period {
		p.Fatalf("one is due in period %d, the other in %d", other, period)
	}
	w := p.window(3, period)
	first := p.day(w, one)
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		first.Key = key
		return p.w.Provider.ProvePossession(ctx, first)
	})
	both := p.day(w, two)
	both.Numbers, both.Proofs = []uint64{3, 6}, [][]byte{first.Proofs[0], both.Proofs[0]}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		both.Key = "both " + key
		return p.w.Provider.ProvePossession(ctx, both)
	})
	for _, n := range both.Numbers {
		if s := p.sector(n); s.NextPeriod != period+1 || s.Faulty {
			p.Fatalf("sector %d is %+v", n, s)
		}
	}
	p.proves(one)
	if a, b := p.sector(3).NextPeriod, p.sector(6).NextPeriod; a != period+2 || b != period+1 {
		p.Fatalf("one was proven until period %d, and the other until %d", a, b)
	}
	// Of both, one was missed: that is no success.
	p.mineTo(p.opens(3, period+1) + p.config.PeriodBlocks/p.config.Deadlines)
	both.Key, both.Period = "late", period+1
	p.refuses("both, when the window is over", events.ErrDeadlinePassed, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.ProvePossession(ctx, both)
	})
}

func proofsOutOfTime(p *provided) {
	call := p.seals(4)
	period := p.sector(4).NextPeriod
	day := events.PossessionCall{
		Key: "a", Period: period, Deadline: 4 % p.config.Deadlines, Numbers: []uint64{4},
		Proofs: [][]byte{p.proof(commd.Possession, 4, call.Ticket, events.Hash{9}, p.config.DailyLeaves)},
	}
	send := func(day events.PossessionCall) func(context.Context) (events.Receipt, error) {
		return func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.ProvePossession(ctx, day) }
	}
	if p.head() < p.opens(4, period) {
		p.refuses("before the window", events.ErrTooEarly, send(day))
	}
	w := p.window(4, period)
	p.refuses("a proof of another day", events.ErrInvalidProof, send(day))
	good := p.day(w, call)
	for name, c := range map[string]struct {
		change func(*events.PossessionCall)
		want   error
	}{
		"a wrong proof":         {func(c *events.PossessionCall) { c.Proofs = [][]byte{flipped(slices.Clone(c.Proofs[0]))} }, events.ErrInvalidProof},
		"half a proof":          {func(c *events.PossessionCall) { c.Proofs = [][]byte{c.Proofs[0][:64]} }, events.ErrInvalidProof},
		"no sector":             {func(c *events.PossessionCall) { c.Numbers, c.Proofs = nil, nil }, events.ErrMalformed},
		"fewer proofs":          {func(c *events.PossessionCall) { c.Proofs = nil }, events.ErrMalformed},
		"another partition":     {func(c *events.PossessionCall) { c.Partition = 8 }, events.ErrMalformed},
		"no such deadline":      {func(c *events.PossessionCall) { c.Deadline = 77 }, events.ErrMalformed},
		"a sector that is none": {func(c *events.PossessionCall) { c.Numbers = []uint64{7} }, events.ErrSectorNotLive},
		"a period before":       {func(c *events.PossessionCall) { c.Period-- }, events.ErrDeadlinePassed},
		"the next period":       {func(c *events.PossessionCall) { c.Period++ }, events.ErrTooEarly},
	} {
		bad := good
		bad.Key = name
		c.change(&bad)
		p.refuses(name, c.want, send(bad))
	}
	p.mineTo(w.Closes - 1)
	p.refuses("in its last block, which is mined", events.ErrDeadlinePassed, send(good))
	p.mineTo(w.Closes)
	p.refuses("after the window", events.ErrDeadlinePassed, send(good))
}

func faultAndRecovery(p *provided) {
	call := p.seals(5)
	p.refuses("one that does not exist", events.ErrSectorNotLive, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.DeclareFaults(ctx, "other", []uint64{5, 8})
	})
	numbers := []uint64{5}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.DeclareFaults(ctx, key, numbers)
	})
	s := p.sector(5)
	if !s.Faulty || !s.Active || s.FaultyFrom < s.NextPeriod || s.RecoverAt != 0 {
		p.Fatalf("with a declared fault it is %+v", s)
	}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.DeclareRecoveries(ctx, key, numbers)
	})
	s = p.sector(5)
	if !s.Faulty || s.RecoverAt < s.FaultyFrom {
		p.Fatalf("with a declared recovery it is %+v", s)
	}
	// Whichever of its windows comes first: until it recovers it owes what was due before the fault.
	for p.sector(5).NextPeriod < s.RecoverAt {
		if now := p.sector(5); now.NextPeriod < now.FaultyFrom {
			p.proves(call)
		} else {
			p.mineTo(p.opens(5, now.NextPeriod) + p.config.PeriodBlocks/p.config.Deadlines)
		}
	}
	if at := p.proves(call); at != s.RecoverAt {
		p.Fatalf("it recovered in period %d, not %d", at, s.RecoverAt)
	}
	if s = p.sector(5); s.Faulty || !s.Active || s.FaultPeriods != 0 {
		p.Fatalf("cured it is %+v", s)
	}
	// One that is well has nothing to recover from.
	before := p.head()
	p.send(func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.DeclareRecoveries(ctx, "late", numbers)
	})
	if p.head() != before {
		p.Fatal("a message was sent for a sector that is well")
	}
}

func missedWindow(p *provided) {
	_, _, missed, _, _ := ProviderRules()
	call := p.seals(4)
	period := p.sector(4).NextPeriod
	p.mineTo(p.opens(4, period) + p.config.PeriodBlocks/p.config.Deadlines)
	s := p.sector(4)
	want := p.config.Deposit(providedSize).MulSaturating(10_000 - missed).Div(10_000)
	if !s.Faulty || !s.Active || s.FaultPeriods != 1 || s.NextPeriod != period+1 || s.Deposit != want {
		p.Fatalf("it is %+v, want a deposit of %s", s, want)
	}
	numbers := []uint64{4}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.DeclareFaults(ctx, key, numbers)
	})
	day := p.day(p.window(4, period+1), call)
	p.refuses("a proof without a declared recovery", events.ErrSectorNotDue, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.ProvePossession(ctx, day)
	})
}

func terminated(p *provided) {
	_, _, _, _, termination := ProviderRules()
	p.seals(2)
	receipt := p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		return p.w.Provider.Terminate(ctx, key, 2)
	})
	if s := p.sector(2); !s.Terminated || s.Active || s.Faulty || !s.Deposit.IsZero() {
		p.Fatalf("it is %+v", s)
	}
	p.isSettled(2, termination)
	if s, err := p.settles("c", 2); err != nil || s.Receipt.TxHash != receipt.TxHash {
		p.Fatalf("it was settled by %s, not %s: %v", s.Receipt.TxHash, receipt.TxHash, err)
	}
	p.refuses("to declare its fault", events.ErrSectorNotLive, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.DeclareFaults(ctx, "a", []uint64{2})
	})
	call := p.announces(2)
	call.Key = "again"
	p.refuses("its number again", events.ErrNumberUsed, func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.PreCommit(ctx, call)
	})
	// What it returned is owed once.
	if owed := p.owed(); owed.IsZero() {
		p.Fatalf("nothing is owed")
	}
	owed, paid := p.owed(), events.Amount{}
	p.once(func(ctx context.Context, key string) (events.Receipt, error) {
		w, err := p.w.Provider.Withdraw(ctx, key)
		if !w.Receipt.TxHash.Zero() { // Also when it is asked again; under another key nothing is owed.
			paid = w.Amount
		}
		return w.Receipt, err
	})
	if paid != owed {
		p.Fatalf("%s were paid of %s", paid, owed)
	}
	if owed := p.owed(); !owed.IsZero() {
		p.Fatalf("%s are owed after they were paid", owed)
	}
}

func (p *provided) owed() events.Amount {
	p.Helper()
	owed, err := p.w.Provider.Owed(p.Context())
	if err != nil {
		p.Fatalf("what is owed: %v", err)
	}
	return owed
}

func faultyTooLong(p *provided) {
	_, _, missed, fault, termination := ProviderRules()
	p.seals(1)
	last := p.sector(1).NextPeriod + p.config.MaxFaultPeriods - 1
	p.mineTo(p.opens(1, last) + p.config.PeriodBlocks/p.config.Deadlines)
	if s := p.sector(1); !s.Terminated || s.Active {
		p.Fatalf("it is %+v", s)
	}
	p.isSettled(1, missed+(p.config.MaxFaultPeriods-1)*fault+termination)
}

func expires(p *provided) {
	call := p.announces(1)
	call.Expiration = p.head() + 5 + p.config.CommitDue + p.config.MinLife
	p.send(func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.PreCommit(ctx, call) })
	p.mineTo(p.sector(1).SeedEpoch + 1)
	p.commits(call)
	for s := p.sector(1); p.opens(1, s.NextPeriod) < s.Expiration; s = p.sector(1) {
		p.proves(call)
	}
	if _, err := p.settles("a", 1); p.head() < call.Expiration && !errors.Is(err, events.ErrTooEarly) {
		p.Fatalf("to settle it before its end: %v", err)
	}
	p.mineTo(call.Expiration + p.config.PeriodBlocks/p.config.Deadlines) // The window in which that is closes.
	s := p.sector(1)
	if !s.Ended || !s.Terminated || s.Active || s.Deposit != p.config.Deposit(providedSize) {
		p.Fatalf("it is %+v", s)
	}
	p.isSettled(1, 0)
}
