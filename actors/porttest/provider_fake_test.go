package porttest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
)

var _ port.ProviderChain = (*fakeProvider)(nil)

func TestFakeProvider(t *testing.T) {
	porttest.Provider(t, func(t *testing.T) porttest.ProviderWorld {
		f := newFakeProvider()
		return porttest.ProviderWorld{
			Provider: f, Drive: func(call func(context.Context) error) error { return call(t.Context()) },
			Mine: func(n uint64) {
				for range n {
					f.mine()
				}
			},
		}
	})
}

// fakeProvider is the contract of sectors in memory, by its rules as docs/provider-contract.md tells them: a
// message gets a block at once. It is for one goroutine.
type fakeProvider struct {
	config                              events.SectorConfig
	void, missed, fault, terminationFee uint64
	block                               uint64
	owed                                events.Amount
	sectors                             map[uint64]*fakeSector
	mined                               map[string]events.Receipt // by key
	lastly                              map[string]events.Receipt // by what was said, and of which sector
	settled                             map[uint64]events.SectorSettlement
}

type fakeSector struct {
	events.SectorOnChain
	pinned, collected bool
}

func newFakeProvider() *fakeProvider {
	f := &fakeProvider{
		block: 10, sectors: map[uint64]*fakeSector{}, mined: map[string]events.Receipt{},
		lastly: map[string]events.Receipt{}, settled: map[uint64]events.SectorSettlement{},
	}
	f.config, f.void, f.missed, f.fault, f.terminationFee = porttest.ProviderRules()
	return f
}

func (f *fakeProvider) hash(block uint64) events.Hash {
	return sha256.Sum256(fmt.Append(nil, "block", block))
}
func (f *fakeProvider) Account() events.Address { return events.Address{0xfa, 0xce} }

func (f *fakeProvider) Config(context.Context) (events.SectorConfig, error) { return f.config, nil }

func (f *fakeProvider) head() events.Head {
	return events.Head{Number: f.block, Hash: f.hash(f.block), Parent: f.hash(f.block - 1), Time: events.Unix(1000 + f.block)}
}

func (f *fakeProvider) Head(context.Context) (events.Head, error) { return f.head(), nil }

func (f *fakeProvider) Final(_ context.Context, n uint64) (bool, error) { return n <= f.block, nil }

func (f *fakeProvider) ticket(number, epoch uint64) events.Hash {
	return sha256.Sum256(fmt.Append(nil, f.hash(epoch), number, "ticket"))
}

func (f *fakeProvider) Ticket(_ context.Context, number uint64) (events.Hash, uint64, error) {
	epoch := f.block - f.config.TicketLookback
	return f.ticket(number, epoch), epoch, nil
}

func (f *fakeProvider) windowBlocks() uint64 { return f.config.PeriodBlocks / f.config.Deadlines }

func (f *fakeProvider) opens(s *fakeSector, period uint64) uint64 {
	return period*f.config.PeriodBlocks + s.Deadline*f.windowBlocks()
}

// nextOpening is the first period whose window of a sector opens after a block.
func (f *fakeProvider) nextOpening(s *fakeSector, block uint64) uint64 {
	period := uint64(0)
	for f.opens(s, period) <= block {
		period++
	}
	return period
}

func share(whole events.Amount, points uint64) events.Amount {
	return whole.MulSaturating(points).Add(events.NewAmount(9999)).Div(10_000)
}

// mine makes a block, and takes the fees of windows that close with it.
func (f *fakeProvider) mine() {
	f.block++
	for number, s := range f.sectors {
		if !s.Active || f.block < f.opens(s, s.NextPeriod)+f.windowBlocks() || f.opens(s, s.NextPeriod) >= s.Expiration {
			f.ends(s)
			continue
		}
		period := s.NextPeriod
		undeclared := !s.Faulty || period < s.FaultyFrom
		fee := f.fault
		if undeclared || s.RecoverAt == period && period > 0 {
			fee = f.missed
		}
		s.Deposit = s.Deposit.SubFloor(share(f.config.Deposit(s.Size), fee))
		s.NextPeriod, s.FaultPeriods = period+1, s.FaultPeriods+1
		if undeclared {
			s.Faulty, s.FaultyFrom = true, period
		}
		if s.FaultPeriods == f.config.MaxFaultPeriods {
			f.terminate(number, s, events.Receipt{})
		}
		f.ends(s)
	}
}

func (f *fakeProvider) ends(s *fakeSector) {
	last := f.nextOpening(s, s.Expiration-1) // The first that is not owed.
	if s.Active && f.block >= s.Expiration && (last == 0 || f.block >= f.opens(s, last-1)+f.windowBlocks()) {
		s.Active, s.Faulty, s.Terminated, s.Ended = false, false, true, true
	}
}

func (f *fakeProvider) terminate(number uint64, s *fakeSector, by events.Receipt) {
	fee := share(f.config.Deposit(s.Size), f.terminationFee)
	returned := s.Deposit.SubFloor(fee)
	f.letGo(number, events.SectorSettlement{Receipt: by, Returned: returned, Lost: f.config.Deposit(s.Size).Sub(returned)})
	s.Active, s.Faulty, s.Terminated, s.Deposit = false, false, true, events.Amount{}
}

func (f *fakeProvider) letGo(number uint64, s events.SectorSettlement) {
	f.owed = f.owed.Add(s.Returned)
	f.settled[number] = s
}

func (f *fakeProvider) at(number uint64) events.SectorOnChain {
	s, ok := f.sectors[number]
	if !ok {
		return events.SectorOnChain{Block: f.head()}
	}
	view := s.SectorOnChain
	view.Block = f.head()
	if view.PreCommitted {
		lost := !s.pinned && f.block > s.SeedEpoch+f.config.SeedValid || f.block > s.PreCommitEpoch+f.config.CommitDue
		view.PreCommitted, view.Void = !lost, lost
		if !s.pinned && !lost && f.block > s.SeedEpoch {
			view.Seed = f.hash(s.SeedEpoch)
		}
	}
	return view
}

func (f *fakeProvider) Sector(_ context.Context, number uint64) (events.SectorOnChain, error) {
	return f.at(number), nil
}

func (f *fakeProvider) Sectors(_ context.Context, numbers []uint64) (all []events.SectorOnChain, _ error) {
	for _, n := range numbers {
		all = append(all, f.at(n))
	}
	return all, nil
}

func (f *fakeProvider) windowAt(block uint64) events.SectorWindow {
	w := events.SectorWindow{Period: block / f.config.PeriodBlocks, Deadline: block % f.config.PeriodBlocks / f.windowBlocks()}
	w.Opens = w.Period*f.config.PeriodBlocks + w.Deadline*f.windowBlocks()
	w.Closes, w.Randomness = w.Opens+f.windowBlocks(), f.hash(w.Opens-1)
	return w
}

func (f *fakeProvider) Window(context.Context) (events.SectorWindow, error) {
	return f.windowAt(f.block + 1), nil
}

func (f *fakeProvider) Seed(_ context.Context, number uint64) (events.Hash, uint64, error) {
	s := f.at(number)
	switch {
	case s.Active:
	case s.PreCommitted && s.Seed.Zero():
		return s.Seed, 0, events.ErrTooEarly
	default:
		if err := waiting(s); err != nil {
			return s.Seed, 0, err
		}
	}
	return s.Seed, s.SeedEpoch, nil
}

// waiting is why a precommit does not wait for its proof.
func waiting(s events.SectorOnChain) error {
	switch {
	case s.Void:
		return events.ErrSeedLost
	case !s.PreCommitted:
		return events.ErrNotPreCommitted
	case s.Seed.Zero():
		return events.ErrTooEarly
	}
	return nil
}
