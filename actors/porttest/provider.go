package porttest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// ProviderWorld is a chain with a contract of sectors, made with ProviderRules, that a test can move.
// Each belongs to one test.
type ProviderWorld struct {
	// Provider is the port, of an account with gas and tokens for some sectors.
	Provider port.ProviderChain
	// Drive runs a call and seals the blocks that it waits for.
	Drive func(call func(context.Context) error) error
	// Mine seals that many blocks, one after another.
	Mine func(blocks uint64)
}

// ProviderRules are the configuration of a ProviderWorld's contract, with the shortest times
// that it accepts, and its fees, in basis points of the deposit.
func ProviderRules() (config events.SectorConfig, void, missed, fault, termination uint64) {
	return events.SectorConfig{
		TicketLookback: 3, TicketValid: 8191, ChallengeDelay: 4, SeedValid: 256, CommitDue: 300,
		MinLife: 60, MaxLife: 2000, PeriodBlocks: 30, Deadlines: 3, FaultCutoff: 3, PartitionSize: 5,
		SealLeaves: 6, DailyLeaves: 3, MaxFaultPeriods: 3, DepositPerByte: events.NewAmount(10),
		MissedFee: 500, FaultFee: 100,
		Rewards: map[string]events.Amount{events.ProvesPossession: events.NewAmount(1), events.ProvesSimulated: {}},
	}, 2000, 500, 100, 2000
}

// Provider runs the suite of the port of the contract of sectors.
func Provider(t *testing.T, newWorld func(t *testing.T) ProviderWorld) {
	for name, test := range map[string]func(*provided){
		"its rules are told":                            rulesAreTold,
		"a sector that nobody knows":                    unknownSector,
		"a sector is precommitted and committed once":   sealedOnce,
		"a precommit that cannot be":                    refusedPreCommits,
		"a ticket gets too old":                         ticketTooOld,
		"a precommit without a seed is void":            voidPreCommit,
		"a pinned seed stays":                           pinnedSeed,
		"a sector is proven once a period":              provenOncePerPeriod,
		"proofs out of time and place":                  proofsOutOfTime,
		"a fault is declared and cured":                 faultAndRecovery,
		"a missed window makes a sector faulty":         missedWindow,
		"a sector is terminated and settled once":       terminated,
		"a sector that is faulty for too long is ended": faultyTooLong,
		"a sector reaches its expiration":               expires,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			config, err := w.Provider.Config(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := &provided{t, w, config, NewSectorData(t)}
			// Each test begins at the same distance from the next window.
			p.mineTo((p.head()/config.PeriodBlocks+1)*config.PeriodBlocks + config.PeriodBlocks/config.Deadlines)
			test(p)
		})
	}
}

// provided is a world, and the data that each of its sectors has.
type provided struct {
	*testing.T
	w      ProviderWorld
	config events.SectorConfig
	data   *SectorData
}

// memory is a file in memory.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error)  { return copy(b, m[at:]), nil }
func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }

const providedSize events.Bytes = 2 << 10

// SectorData is the data of a sector of 2 KiB with its tree.
type SectorData struct {
	data  memory
	tree  *commd.Tree
	commD commd.Node
}

// NewSectorData makes the same data each time.
func NewSectorData(t testing.TB) *SectorData {
	t.Helper()
	s := &SectorData{data: make(memory, providedSize)}
	for i := range s.data {
		if s.data[i] = byte(i) ^ byte(i>>6); i%32 == 31 { // The top bits of a leaf are clear.
			s.data[i] &= 0x3f
		}
	}
	file := make(memory, commd.TreeSize(uint64(providedSize)))
	var err error
	if s.commD, err = commd.BuildTree(t.Context(), s.data, uint64(providedSize), file, nil); err != nil {
		t.Fatal(err)
	}
	if s.tree, err = commd.OpenTree(file, uint64(providedSize)); err != nil {
		t.Fatal(err)
	}
	return s
}

// PreCommit returns a precommit of that data, which accepts any deposit.
func (s *SectorData) PreCommit(
	provider events.Address, number uint64, ticket events.Hash, epoch, expiration uint64,
) events.PreCommitCall {
	return events.PreCommitCall{
		Key: fmt.Sprint(number), Number: number, Size: providedSize, Proves: events.ProvesPossession,
		CommD:  events.Hash(s.commD),
		CommR:  events.Hash(commd.CommR(provider, number, ticket, s.commD)),
		Ticket: ticket, TicketEpoch: epoch, Expiration: expiration, Deposit: events.MaxAmount(),
	}
}

// Proof answers a challenge.
func (s *SectorData) Proof(t testing.TB, c commd.Challenge) []byte {
	t.Helper()
	b, err := commd.Prove(s.tree, s.data, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *provided) proof(domain commd.Domain, number uint64, ticket, seed events.Hash, leaves int) []byte {
	p.Helper()
	return p.data.Proof(p, commd.Challenge{
		Domain: domain, Ticket: ticket, Seed: seed, Provider: p.w.Provider.Account(), Number: number, Leaves: leaves,
	})
}

func flipped(b []byte) []byte {
	b[40] ^= 1
	return b
}

func (p *provided) head() uint64 {
	p.Helper()
	h, err := p.w.Provider.Head(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return h.Number
}

// mineTo mines until a block is the newest.
func (p *provided) mineTo(block uint64) {
	p.Helper()
	if head := p.head(); head < block {
		p.w.Mine(block - head)
	}
}

func (p *provided) sector(number uint64) events.SectorOnChain {
	p.Helper()
	s, err := p.w.Provider.Sector(p.Context(), number)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// send drives a message, which must succeed.
func (p *provided) send(call func(context.Context) (events.Receipt, error)) events.Receipt {
	p.Helper()
	r, err := p.try(call)
	if err != nil {
		p.Fatal(err)
	}
	return r
}

func (p *provided) try(call func(context.Context) (events.Receipt, error)) (r events.Receipt, err error) {
	err = p.w.Drive(func(ctx context.Context) (err error) {
		r, err = call(ctx)
		return err
	})
	return r, err
}

// refuses fails the test unless a message ends with an error.
func (p *provided) refuses(what string, want error, call func(context.Context) (events.Receipt, error)) {
	p.Helper()
	if _, err := p.try(call); !errors.Is(err, want) {
		p.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// once sends a message, then again under its key and under another one: only the first is
// mined.
func (p *provided) once(send func(ctx context.Context, key string) (events.Receipt, error)) events.Receipt {
	p.Helper()
	first := p.send(func(ctx context.Context) (events.Receipt, error) { return send(ctx, "a") })
	if first.TxHash.Zero() || first.Block.Number == 0 {
		p.Fatalf("its receipt is %+v", first)
	}
	before := p.head()
	for _, key := range []string{"a", "b"} {
		again := p.send(func(ctx context.Context) (events.Receipt, error) { return send(ctx, key) })
		if !again.TxHash.Zero() && again.TxHash != first.TxHash || key == "a" && again.TxHash.Zero() {
			p.Fatalf("sent again under %q it is %+v, the first is %+v", key, again, first)
		}
	}
	if now := p.head(); now != before {
		p.Fatalf("to repeat it took %d blocks", now-before)
	}
	return first
}

// announces returns a precommit with the current ticket.
func (p *provided) announces(number uint64) events.PreCommitCall {
	p.Helper()
	ticket, epoch, err := p.w.Provider.Ticket(p.Context(), number)
	if err != nil {
		p.Fatal(err)
	}
	call := p.data.PreCommit(p.w.Provider.Account(), number, ticket, epoch,
		p.head()+p.config.CommitDue+p.config.MinLife+300)
	call.Deposit = p.config.Deposit(providedSize)
	return call
}

func (p *provided) preCommits(number uint64) events.PreCommitCall {
	p.Helper()
	call := p.announces(number)
	p.send(func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.PreCommit(ctx, call) })
	return call
}

// seals precommits and commits a sector.
func (p *provided) seals(number uint64) events.PreCommitCall {
	p.Helper()
	call := p.preCommits(number)
	p.mineTo(p.sector(number).SeedEpoch + 1)
	p.commits(call)
	return call
}

func (p *provided) commits(call events.PreCommitCall) {
	p.Helper()
	seed, _, err := p.w.Provider.Seed(p.Context(), call.Number)
	if err != nil {
		p.Fatal(err)
	}
	proof := p.proof(commd.Seal, call.Number, call.Ticket, seed, p.config.SealLeaves)
	p.send(func(ctx context.Context) (events.Receipt, error) {
		return p.w.Provider.Commit(ctx, fmt.Sprint(call.Number), call.Number, proof)
	})
}

// opens is the first block of a sector's window in a period.
func (p *provided) opens(number, period uint64) uint64 {
	return period*p.config.PeriodBlocks + number%p.config.Deadlines*p.config.PeriodBlocks/p.config.Deadlines
}

// window mines until a sector's window in a period is open, and returns the window.
func (p *provided) window(number, period uint64) events.SectorWindow {
	p.Helper()
	p.mineTo(p.opens(number, period))
	w, err := p.w.Provider.Window(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	if w.Period != period || w.Deadline != number%p.config.Deadlines || w.Opens != p.opens(number, period) || w.Randomness.Zero() {
		p.Fatalf("in block %d the window is %+v", p.head(), w)
	}
	return w
}

// day is the proof of a sector in a window.
func (p *provided) day(w events.SectorWindow, call events.PreCommitCall) events.PossessionCall {
	p.Helper()
	return events.PossessionCall{
		Key: fmt.Sprintf("%d in %d", call.Number, w.Period), Period: w.Period, Deadline: w.Deadline,
		Partition: call.Number / p.config.Deadlines / p.config.PartitionSize, Numbers: []uint64{call.Number},
		Proofs: [][]byte{p.proof(commd.Possession, call.Number, call.Ticket, w.Randomness, p.config.DailyLeaves)},
	}
}

// proves proves a sector in its next window, and returns its period.
func (p *provided) proves(call events.PreCommitCall) uint64 {
	p.Helper()
	period := p.sector(call.Number).NextPeriod
	day := p.day(p.window(call.Number, period), call)
	p.send(func(ctx context.Context) (events.Receipt, error) { return p.w.Provider.ProvePossession(ctx, day) })
	return period
}

func (p *provided) settles(key string, number uint64) (s events.SectorSettlement, err error) {
	err = p.w.Drive(func(ctx context.Context) (err error) {
		s, err = p.w.Provider.Settle(ctx, key, number)
		return err
	})
	return s, err
}

// isSettled settles a sector twice, and checks which part of its deposit was lost, in basis
// points.
func (p *provided) isSettled(number, lost uint64) {
	p.Helper()
	first, err := p.settles("a", number)
	if err != nil {
		p.Fatal(err)
	}
	whole := p.config.Deposit(providedSize)
	want := whole.MulSaturating(lost).Add(events.NewAmount(9999)).Div(10_000)
	if first.Lost != want || first.Returned != whole.Sub(want) || first.Receipt.TxHash.Zero() {
		p.Fatalf("of %s it returned %s and kept %s, want %s; by %s", whole, first.Returned, first.Lost, want, first.Receipt.TxHash)
	}
	before := p.head()
	for _, key := range []string{"a", "b"} {
		if again, err := p.settles(key, number); err != nil || !cmp.Equal(again, first, same) {
			p.Fatalf("settled again under %q: %+v, %v", key, again, err)
		}
	}
	if now := p.head(); now != before {
		p.Fatalf("to settle it again took %d blocks", now-before)
	}
}
