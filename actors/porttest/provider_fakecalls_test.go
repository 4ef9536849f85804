package porttest_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// once makes a message, once for its key; look says what it does, nil: it is so by what was said.
func (f *fakeProvider) once(
	kind, key, said string, look func() (func(by events.Receipt), error),
) (events.Receipt, error) {
	if r, ok := f.mined[kind+key]; ok {
		return r, nil
	}
	does, err := look()
	if err != nil || does == nil {
		return f.lastly[said], err
	}
	f.mine()
	r := events.Receipt{TxHash: sha256.Sum256(fmt.Append(nil, kind, key)), Block: f.head()}
	f.mined[kind+key], f.lastly[said] = r, r
	does(r)
	return r, nil
}

func (f *fakeProvider) PreCommit(_ context.Context, c events.PreCommitCall) (events.Receipt, error) {
	return f.once("precommit", fmt.Sprint(c.Number, c.Key), fmt.Sprint("precommitted", c.Number), func() (func(events.Receipt), error) {
		commR := commd.CommR(f.Account(), c.Number, c.Ticket, commd.Node(c.CommD))
		least := f.block + 1 + f.config.CommitDue + f.config.MinLife
		switch s := f.at(c.Number); {
		case commR != commd.Node(c.CommR) || c.Expiration < least || c.Expiration > f.block+1+f.config.MaxLife,
			commd.CheckSectorSize(uint64(c.Size)) != nil:
			return nil, events.ErrMalformed
		case s.Void:
			return nil, events.ErrSeedLost
		case s.PreCommitted && s.Ticket == c.Ticket && s.CommD == c.CommD && s.Size == c.Size:
			return nil, nil
		case s.Size != 0:
			return nil, events.ErrNumberUsed
		case c.Deposit.Less(f.config.Deposit(c.Size)):
			return nil, events.ErrInsufficientFunds
		case c.TicketEpoch+f.config.TicketLookback > f.block, f.block+1 > c.TicketEpoch+f.config.TicketValid,
			f.ticket(c.Number, c.TicketEpoch) != c.Ticket:
			return nil, events.ErrTicketExpired
		}
		return func(events.Receipt) {
			f.sectors[c.Number] = &fakeSector{SectorOnChain: events.SectorOnChain{
				SectorFacts: events.SectorFacts{PreCommitted: true, SeedEpoch: f.block + f.config.ChallengeDelay},
				Size:        c.Size, CommD: c.CommD, CommR: c.CommR, Ticket: c.Ticket, TicketEpoch: c.TicketEpoch,
				PreCommitEpoch: f.block, Expiration: c.Expiration, Deadline: c.Number % f.config.Deadlines,
				Partition: c.Number / f.config.Deadlines / f.config.PartitionSize, Deposit: f.config.Deposit(c.Size),
			}}
		}, nil
	})
}

func (f *fakeProvider) PinSeed(_ context.Context, key string, number uint64) (events.Receipt, error) {
	return f.once("pin", fmt.Sprint(number, key), fmt.Sprint("pinned", number), func() (func(events.Receipt), error) {
		s := f.at(number)
		if stored := f.sectors[number]; s.Active || stored != nil && stored.pinned {
			return nil, nil
		}
		return func(events.Receipt) { f.pin(number) }, waiting(s)
	})
}

func (f *fakeProvider) pin(number uint64) {
	s := f.sectors[number]
	s.pinned, s.Seed = true, f.hash(s.SeedEpoch)
}

func (f *fakeProvider) verify(number uint64, domain commd.Domain, seed events.Hash, leaves int, proof []byte) error {
	s := f.sectors[number]
	err := commd.Verify(commd.Node(s.CommD), uint64(s.Size), commd.Challenge{
		Domain: domain, Ticket: s.Ticket, Seed: seed, Provider: f.Account(), Number: number, Leaves: leaves,
	}, proof)
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrInvalidProof, err)
	}
	return nil
}

func (f *fakeProvider) Commit(_ context.Context, key string, number uint64, proof []byte) (events.Receipt, error) {
	return f.once("commit", fmt.Sprint(number, key), fmt.Sprint("committed", number), func() (func(events.Receipt), error) {
		s := f.at(number)
		if s.Activation > 0 {
			return nil, nil
		}
		if err := waiting(s); err != nil {
			return nil, err
		}
		return func(events.Receipt) {
			f.pin(number)
			s := f.sectors[number]
			s.PreCommitted, s.Active, s.Activation, s.NextPeriod = false, true, f.block, f.nextOpening(s, f.block)
		}, f.verify(number, commd.Seal, s.Seed, f.config.SealLeaves, proof)
	})
}

func (f *fakeProvider) ProvePossession(_ context.Context, c events.PossessionCall) (events.Receipt, error) {
	opens := c.Period*f.config.PeriodBlocks + c.Deadline*f.windowBlocks()
	said := fmt.Sprint("proven", c.Period, c.Deadline)
	return f.once("possession", fmt.Sprint(c.Period, c.Deadline, c.Key), said, func() (func(events.Receipt), error) {
		if len(c.Numbers) != len(c.Proofs) || len(c.Numbers) == 0 || c.Deadline >= f.config.Deadlines {
			return nil, events.ErrMalformed
		}
		var due []int
		for i, n := range c.Numbers {
			switch s := f.at(n); {
			case s.Active && s.NextPeriod > c.Period && f.lastly[fmt.Sprint(said, n)].TxHash.Zero():
				return nil, events.ErrDeadlinePassed
			case !s.Active || s.NextPeriod <= c.Period:
				due = append(due, i)
			}
		}
		switch {
		case len(due) == 0:
			return nil, nil
		case f.block+1 >= opens+f.windowBlocks():
			return nil, events.ErrDeadlinePassed
		case f.block < opens:
			return nil, events.ErrTooEarly
		}
		for _, i := range due {
			if err := f.provable(c, i, opens); err != nil {
				return nil, err
			}
		}
		return func(by events.Receipt) {
			for _, i := range due {
				s := f.sectors[c.Numbers[i]]
				f.lastly[fmt.Sprint(said, c.Numbers[i])] = by
				s.NextPeriod = c.Period + 1
				if s.Faulty && c.Period >= s.FaultyFrom {
					s.Faulty, s.FaultyFrom, s.RecoverAt, s.FaultPeriods = false, 0, 0, 0
				}
			}
		}, nil
	})
}

func (f *fakeProvider) provable(c events.PossessionCall, i int, opens uint64) error {
	s := f.at(c.Numbers[i])
	switch {
	case !s.Active:
		return events.ErrSectorNotLive
	case s.Partition != c.Partition || s.Deadline != c.Deadline:
		return events.ErrMalformed
	case s.Activation >= opens || s.Expiration <= opens, s.Faulty && c.Period >= s.FaultyFrom && s.RecoverAt != c.Period:
		return events.ErrSectorNotDue
	}
	return f.verify(c.Numbers[i], commd.Possession, f.hash(opens-1), f.config.DailyLeaves, c.Proofs[i])
}

func (f *fakeProvider) declare(
	kind, key string, numbers []uint64, needed func(*fakeSector) bool, does func(*fakeSector),
) (events.Receipt, error) {
	return f.once(kind, fmt.Sprint(numbers, key), fmt.Sprint(kind, numbers), func() (func(events.Receipt), error) {
		tell := false
		for _, n := range numbers {
			s := f.at(n)
			if !s.Active {
				return nil, events.ErrSectorNotLive
			}
			tell = tell || needed(f.sectors[n])
		}
		if _, told := f.lastly[fmt.Sprint(kind, numbers)]; !tell && (told || kind == "recoveries") {
			return nil, nil
		}
		return func(events.Receipt) {
			for _, n := range numbers {
				if s := f.sectors[n]; needed(s) {
					does(s)
				}
			}
		}, nil
	})
}

func promised(s *fakeSector) bool { return s.RecoverAt > 0 && s.RecoverAt >= s.NextPeriod }

func (f *fakeProvider) DeclareFaults(_ context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return f.declare("faults", key, numbers, func(s *fakeSector) bool { return !s.Faulty || promised(s) }, func(s *fakeSector) {
		if next := f.nextOpening(s, f.block+f.config.FaultCutoff); !s.Faulty {
			s.Faulty, s.FaultyFrom = true, next
		} else if s.RecoverAt >= next {
			s.RecoverAt = 0
		}
	})
}

func (f *fakeProvider) DeclareRecoveries(_ context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return f.declare("recoveries", key, numbers, func(s *fakeSector) bool { return s.Faulty && !promised(s) }, func(s *fakeSector) {
		s.RecoverAt = f.nextOpening(s, f.block+f.config.FaultCutoff)
	})
}

func (f *fakeProvider) Terminate(_ context.Context, key string, number uint64) (events.Receipt, error) {
	return f.once("terminate", fmt.Sprint(number, key), fmt.Sprint("terminated", number), func() (func(events.Receipt), error) {
		switch s := f.at(number); {
		case s.PreCommitted:
			return nil, events.ErrTooEarly
		case !s.Active:
			return nil, nil
		}
		return func(by events.Receipt) { f.terminate(number, f.sectors[number], by) }, nil
	})
}

func (f *fakeProvider) Settle(_ context.Context, key string, number uint64) (events.SectorSettlement, error) {
	nothing := errors.New("nothing to do")
	_, err := f.once("settle", fmt.Sprint(number, key), "", func() (func(events.Receipt), error) {
		s := f.at(number)
		known, settled := f.settled[number]
		switch {
		case s.PreCommitted || s.Active:
			return nil, events.ErrTooEarly
		case s.Void:
			return func(by events.Receipt) {
				fee := share(s.Deposit, f.void)
				f.letGo(number, events.SectorSettlement{Receipt: by, Returned: s.Deposit.Sub(fee), Lost: fee})
				delete(f.sectors, number)
			}, nil
		case s.Ended && !f.sectors[number].collected:
			return func(by events.Receipt) {
				stored := f.sectors[number]
				f.letGo(number, events.SectorSettlement{
					Receipt: by, Returned: s.Deposit, Lost: f.config.Deposit(s.Size).Sub(s.Deposit),
				})
				stored.collected, stored.Ended, stored.Deposit = true, false, events.Amount{}
			}, nil
		case settled && known.Receipt.TxHash.Zero(): // Its windows ended it, and nobody has settled them.
			return func(by events.Receipt) {
				known.Receipt = by
				f.settled[number] = known
			}, nil
		}
		return nil, nothing
	})
	if err != nil && !errors.Is(err, nothing) {
		return events.SectorSettlement{}, err
	}
	return f.settled[number], nil
}

func (f *fakeProvider) Withdraw(_ context.Context, key string) (events.Receipt, error) {
	return f.once("withdraw", key, "", func() (func(events.Receipt), error) {
		if f.owed.IsZero() {
			return nil, nil
		}
		return func(events.Receipt) { f.owed = events.Amount{} }, nil
	})
}
