package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/prover/commd"
)

// sealing is a sector on its way.
type sealing struct {
	*world
	p    *provider.Chain
	data *porttest.SectorData
	call events.PreCommitCall
}

// announced is a sector whose precommit is made and not sent, of a provider with gas and tokens.
func announced(t *testing.T) *sealing {
	t.Helper()
	w := newWorld(t)
	s := &sealing{world: w, p: w.newProvider("provider"), data: porttest.NewSectorData(t)}
	s.draws(3)
	return s
}

func (s *sealing) draws(number uint64) {
	s.t.Helper()
	ticket, epoch, err := s.p.Ticket(s.t.Context(), number)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call = s.data.PreCommit(s.p.Account(), number, ticket, epoch, s.chain.Head().Number+900)
}

func (s *sealing) preCommits() events.Receipt {
	s.t.Helper()
	return s.sends(func(ctx context.Context) (events.Receipt, error) { return s.p.PreCommit(ctx, s.call) })
}

func (s *sealing) sends(call func(context.Context) (events.Receipt, error)) (r events.Receipt) {
	s.t.Helper()
	s.drive("provider", func(ctx context.Context) (err error) {
		r, err = call(ctx)
		return err
	})
	return r
}

func (s *sealing) tries(call func(context.Context) (events.Receipt, error)) error {
	s.t.Helper()
	return s.try("provider", func(ctx context.Context) error {
		_, err := call(ctx)
		return err
	})
}

func (s *sealing) sector() events.SectorOnChain {
	s.t.Helper()
	on, err := s.p.Sector(s.t.Context(), s.call.Number)
	if err != nil {
		s.t.Fatal(err)
	}
	return on
}

// seed waits until the seed is drawn.
func (s *sealing) seed() events.Hash {
	s.t.Helper()
	s.seal(s.sector().SeedEpoch + 1 - s.chain.Head().Number)
	seed, _, err := s.p.Seed(s.t.Context(), s.call.Number)
	if err != nil {
		s.t.Fatal(err)
	}
	return seed
}

func (s *sealing) proof(seed events.Hash) []byte {
	s.t.Helper()
	config, err := s.p.Config(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.data.Proof(s.t, commd.Challenge{
		Domain: commd.Seal, Ticket: s.call.Ticket, Seed: seed, Provider: s.p.Account(), Number: s.call.Number,
		Leaves: config.SealLeaves,
	})
}

// forks takes back all blocks behind one, with their transactions.
func (s *sealing) forks(to events.Head) {
	s.t.Helper()
	if _, err := s.chain.Fork(s.t.Context(), to.Hash, true); err != nil {
		s.t.Fatal(err)
	}
}

// overtakes lets another branch become longer than the old one, whatever is sent meanwhile.
func (s *sealing) overtakes(old events.Head) {
	s.t.Helper()
	s.seal(old.Number + 1 - s.chain.Head().Number)
}

func TestAPreCommitThatAReorganisationTookBackIsMinedAgainWithAnotherSeed(t *testing.T) {
	s := announced(t)
	s.sends(func(ctx context.Context) (events.Receipt, error) { // The tokens are approved, and stay so.
		ticket, epoch, err := s.p.Ticket(ctx, 9)
		if err != nil {
			return events.Receipt{}, err
		}
		return s.p.PreCommit(ctx, s.data.PreCommit(s.p.Account(), 9, ticket, epoch, s.call.Expiration))
	})
	before := s.chain.Head()
	first := s.preCommits()
	seed := s.seed()
	old := s.chain.Head()
	s.forks(before)
	s.overtakes(old)
	s.await("it is mined again, though nobody asked", func() bool {
		if s.waiting("provider") {
			s.seal(1)
		}
		return s.sector().PreCommitted
	})
	again := s.preCommits()
	if again.Block.Hash == first.Block.Hash || again.Block.Number != s.sector().PreCommitEpoch {
		t.Fatalf("its receipt is of block %d, the sector of %d", again.Block.Number, s.sector().PreCommitEpoch)
	}
	fresh := s.seed()
	if fresh == seed {
		t.Fatal("the seed is the same")
	}
	commit := func(key string, seed events.Hash) func(context.Context) (events.Receipt, error) {
		return func(ctx context.Context) (events.Receipt, error) { return s.p.Commit(ctx, key, 3, s.proof(seed)) }
	}
	if err := s.tries(commit("a", seed)); !errors.Is(err, events.ErrInvalidProof) {
		t.Fatalf("a proof for the old seed: %v", err)
	}
	s.sends(commit("b", fresh))
	if !s.sector().Active {
		t.Fatal("it is not active")
	}
}

func TestAPreCommitWhoseTicketAReorganisationTookBackIsNotPaidForAgain(t *testing.T) {
	s := announced(t)
	before := s.chain.Head()
	s.seal(10)
	s.draws(3) // Its epoch is one of the blocks that will be gone.
	s.preCommits()
	old, paid := s.chain.Head(), s.nonce("provider")
	s.forks(before)
	s.overtakes(old)
	// What is left is that the account's nonces go on.
	s.await("what was sent is settled", func() bool {
		if s.waiting("provider") {
			s.seal(1)
		}
		return s.nonce("provider") >= paid
	})
	if on := s.sector(); on.Size != 0 {
		t.Fatalf("the contract took it with the ticket of a block that is gone: %+v", on)
	}
	err := s.tries(func(ctx context.Context) (events.Receipt, error) { return s.p.PreCommit(ctx, s.call) })
	if !errors.Is(err, events.ErrTicketExpired) {
		t.Fatalf("sent again: %v", err)
	}
	s.draws(3)
	s.call.Key = "with another ticket"
	s.preCommits()
	if !s.sector().PreCommitted {
		t.Fatal("it is not precommitted")
	}
}

func TestACommitThatAReorganisationTookBackIsMinedAgain(t *testing.T) {
	s := announced(t)
	s.preCommits()
	seed := s.seed()
	before := s.chain.Head()
	commit := func(ctx context.Context) (events.Receipt, error) { return s.p.Commit(ctx, "a", 3, s.proof(seed)) }
	first := s.sends(commit)
	old := s.chain.Head()
	s.forks(before)
	if on := s.sector(); on.Active || !on.PreCommitted {
		t.Fatalf("taken back it is %+v", on)
	}
	s.overtakes(old)
	again := s.sends(commit)
	if on := s.sector(); !on.Active || on.Activation != again.Block.Number || again.Block.Hash == first.Block.Hash {
		t.Fatalf("it is %+v, the receipt is of block %d", on, again.Block.Number)
	}
}

func TestARestartedHostFindsWhatItSent(t *testing.T) {
	w := newWorld(t)
	w.fund("provider")
	w.mint("provider", 10_000_000)
	dir, store := t.TempDir(), storetest.NewMemory()
	p, m := w.provider("provider", dir, store)
	s := &sealing{world: w, p: p, data: porttest.NewSectorData(t)}
	s.draws(3)
	first := s.preCommits()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	s.p, _ = w.provider("provider", dir, store)
	sent := w.nonce("provider")
	if again := s.preCommits(); again != first || w.nonce("provider") != sent {
		t.Fatalf("it is %+v after %d transactions, the first was %+v", again, w.nonce("provider"), first)
	}
	// Also one whose record is lost: the contract says by which message it is so.
	s.call.Key = "another"
	if again := s.preCommits(); again != first || w.nonce("provider") != sent {
		t.Fatalf("under another key it is %+v", again)
	}
}

func TestWithoutTokensNothingIsSent(t *testing.T) {
	w := newWorld(t)
	w.fund("provider")
	p, _ := w.provider("provider", t.TempDir(), storetest.NewMemory())
	s := &sealing{world: w, p: p, data: porttest.NewSectorData(t)}
	s.draws(3)
	err := s.tries(func(ctx context.Context) (events.Receipt, error) { return s.p.PreCommit(ctx, s.call) })
	if !errors.Is(err, events.ErrInsufficientFunds) || w.nonce("provider") != 0 {
		t.Fatalf("after %d transactions: %v", w.nonce("provider"), err)
	}
}

func TestAnAddressWithoutAContractOfSectorsIsNamed(t *testing.T) {
	w := newWorld(t)
	w.fund("provider")
	_, m := w.provider("provider", t.TempDir(), storetest.NewMemory())
	for name, at := range map[string]events.Address{
		"an account": w.account("friend"), "another contract": w.at.Marketplace,
	} {
		_, err := provider.New(t.Context(), provider.Config{Contract: at}, m.Shared())
		if !errors.Is(err, provider.ErrNoContract) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A host with a new record does not begin with an account that has sectors in the contract: its own numbers would
// be used already. In a contract that is not one of sectors, the account has nothing.
func TestAnAccountWithSectorsIsInUse(t *testing.T) {
	s := announced(t)
	dial := func(change func(*chain.Config)) error {
		config := s.config("provider")
		change(&config)
		m, err := chain.Dial(t.Context(), config, storetest.NewMemory(), t.TempDir())
		if err == nil {
			err = m.Close()
		}
		return err
	}
	if err := dial(func(*chain.Config) {}); err != nil {
		t.Fatalf("before it has a sector: %v", err)
	}
	s.preCommits()
	err := dial(func(*chain.Config) {})
	if !errors.Is(err, tx.ErrUsedElsewhere) || !strings.Contains(err.Error(), "(numbers 3)") {
		t.Fatalf("with a sector: %v", err)
	}
	if err := dial(func(c *chain.Config) { c.TakeOver = true }); err != nil {
		t.Fatalf("taken over: %v", err)
	}
	if err := dial(func(c *chain.Config) {
		c.OtherContracts = []tx.Contract{provider.Contract(s.at.Token)}
	}); err != nil {
		t.Fatalf("with another contract: %v", err)
	}
}
