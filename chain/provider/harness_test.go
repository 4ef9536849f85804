package provider_test

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

var _ port.ProviderChain = (*provider.Chain)(nil)

// shared is one chain for all tests; each deploys contracts of its own, and no two run at a time.
var shared struct {
	once  sync.Once
	dir   string
	chain *devchain.Chain
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.chain != nil {
		_ = shared.chain.Close() // The directory goes anyway.
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

func openChain() (*devchain.Chain, error) {
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "pt"); shared.err != nil {
			return
		}
		shared.chain, shared.err = devchain.Open(context.Background(), devchain.Config{
			Dir: shared.dir, Alloc: map[common.Address]*big.Int{
				crypto.PubkeyToAddress(keyOf("deployer").PublicKey): new(big.Int).Lsh(common.Big1, 100),
			},
		})
	})
	return shared.chain, shared.err
}

func keyOf(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("provider test " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

// sectorRules are the suite's, as the contract takes them.
func sectorRules() bindings.SectorConfig {
	c, void, missed, fault, termination := porttest.ProviderRules()
	return bindings.SectorConfig{
		Sealing: bindings.SealingConfig{
			TicketLookback: c.TicketLookback, ChallengeDelay: c.ChallengeDelay, CommitDue: c.CommitDue,
			MinLife: c.MinLife, MaxLife: c.MaxLife, Leaves: uint32(c.SealLeaves),
		},
		Proving: bindings.ProvingConfig{
			PeriodBlocks: c.PeriodBlocks, Deadlines: c.Deadlines, PartitionSectors: c.PartitionSize,
			FaultCutoff: c.FaultCutoff, Leaves: uint32(c.DailyLeaves), MaxFaultPeriods: uint16(c.MaxFaultPeriods),
		},
		Deposits: bindings.DepositConfig{
			DepositPerByte: c.DepositPerByte.Big().Uint64(),
			VoidFee:        uint16(void), MissedFee: uint16(missed), FaultFee: uint16(fault), TerminationFee: uint16(termination),
		},
		Possession: bindings.ProofTypeConfig{Taken: true, RewardPerByte: c.Rewards[events.ProvesPossession].Big().Uint64()},
		Simulated:  bindings.ProofTypeConfig{Taken: true},
	}
}

// world is a contract of sectors of its own.
type world struct {
	t         testing.TB
	chain     *devchain.Chain
	client    *ethclient.Client
	at        devchain.Deployment
	requester *chain.Requester
	name      string // makes accounts unique per test and repetition
}

// patience bounds a hang. How fast the machine is must not matter, so it is long.
const patience = 5 * time.Minute

func newWorld(t testing.TB) *world {
	t.Helper()
	c, err := openChain()
	if err != nil {
		t.Fatalf("open chain: %v", err)
	}
	w := &world{t: t, chain: c, client: ethclient.NewClient(c.Attach()), name: fmt.Sprintf("%s at %d ", t.Name(), c.Head().Number)}
	t.Cleanup(w.client.Close)
	rules := sectorRules()
	w.at, err = devchain.Deploy(t.Context(), w.client, keyOf("deployer"), devchain.DeployConfig{
		Market: devchain.DefaultMarketConfig("test"), VerifierCode: common.FromHex(contractstest.DummyVerifierMetaData.Bin),
		Sectors: &rules,
	})
	if err != nil {
		t.Fatalf("deploy: %v", err)
	}
	w.fund("client")
	if w.requester, err = chain.DialRequester(t.Context(), w.config("client")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.requester.Close)
	return w
}

func (w *world) account(name string) events.Address {
	return events.Address(crypto.PubkeyToAddress(keyOf(w.name + name).PublicKey))
}

func (w *world) fund(name string) {
	w.t.Helper()
	if err := w.chain.Fund(w.t.Context(), w.account(name), events.NewAmount(1_000_000_000_000_000_000)); err != nil {
		w.t.Fatalf("fund: %v", err)
	}
}

func (w *world) mint(name string, amount uint64) {
	w.t.Helper()
	w.drive("client", func(ctx context.Context) error {
		return w.requester.Mint(ctx, w.account(name), events.NewAmount(amount))
	})
}

func (w *world) config(name string) chain.Config {
	return chain.Config{
		Endpoint: w.chain.IPCPath(), Marketplace: w.at.Marketplace, Key: keyOf(w.name + name),
		PollInterval: 2 * time.Millisecond, DeployedAt: w.at.Block, StuckBlocks: 3,
		LongestRedialWait: 20 * time.Millisecond, CallTimeout: patience,
		OtherContracts: []tx.Contract{provider.Contract(w.at.SectorProvider)},
	}
}

// provider is the contract for an account, whose outbox is in a directory.
func (w *world) provider(name, dir string, store events.Store) (*provider.Chain, *chain.Market) {
	w.t.Helper()
	p, m := w.reader(name)
	if err := m.Own(w.t.Context(), store, dir); err != nil {
		w.t.Fatalf("own: %v", err)
	}
	return p, m
}

// reader is the contract for an account whose transactions nobody sends yet.
func (w *world) reader(name string) (*provider.Chain, *chain.Market) {
	w.t.Helper()
	m, err := chain.DialReader(w.t.Context(), w.config(name))
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	var once sync.Once
	w.t.Cleanup(func() { once.Do(func() { _ = m.Close() }) })
	p, err := provider.New(w.t.Context(), provider.Config{
		Contract: w.at.SectorProvider, DeployedAt: w.at.SectorBlock, LogRange: 100,
	}, m.Shared())
	if err != nil {
		w.t.Fatal(err)
	}
	return p, m
}

// newProvider has gas and tokens for some sectors.
func (w *world) newProvider(name string) *provider.Chain {
	w.t.Helper()
	w.fund(name)
	w.mint(name, 10_000_000)
	p, _ := w.provider(name, w.t.TempDir(), storetest.NewMemory())
	return p
}

// try runs f and seals a block whenever the account has a transaction in the pool, so that the chain
// grows only for a reason.
func (w *world) try(name string, f func(context.Context) error) error {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- f(w.t.Context()) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if w.waiting(name) {
				w.seal(1)
			}
		}
	}
}

func (w *world) drive(name string, f func(context.Context) error) {
	w.t.Helper()
	if err := w.try(name, f); err != nil {
		w.t.Fatal(err)
	}
}

// waiting says whether an account has a transaction in the pool.
func (w *world) waiting(name string) bool {
	w.t.Helper()
	if w.chain.Pending() == 0 { // Which is so nearly always, and asks no node.
		return false
	}
	who := common.Address(w.account(name))
	pending, err := w.client.PendingNonceAt(w.t.Context(), who)
	if err != nil {
		w.t.Fatalf("nonce: %v", err)
	}
	return pending > w.nonce(name)
}

func (w *world) nonce(name string) uint64 {
	w.t.Helper()
	n, err := w.client.NonceAt(w.t.Context(), common.Address(w.account(name)), nil)
	if err != nil {
		w.t.Fatalf("nonce: %v", err)
	}
	return n
}

func (w *world) seal(n uint64) {
	w.t.Helper()
	if _, err := w.chain.Seal(w.t.Context(), n); err != nil {
		w.t.Fatalf("seal: %v", err)
	}
}

// await polls until a condition about something asynchronous holds.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("never: %s", what)
		}
	}
}
