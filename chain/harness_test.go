package chain_test

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
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

var (
	_ port.Market    = (*chain.Market)(nil)
	_ port.ChainFeed = (*chain.Follower)(nil)
)

// shared is one chain for all tests that do not stop it. The first one that needs it opens it. Each
// test deploys contracts of its own, and no two run at the same time.
type sharedChain struct {
	once  sync.Once
	dir   string
	chain *devchain.Chain
	err   error
}

var shared sharedChain

func TestMain(m *testing.M) {
	code := m.Run()
	shared.close()
	os.Exit(code)
}

func (s *sharedChain) open() (*devchain.Chain, error) {
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "ct"); s.err != nil {
			return
		}
		s.chain, s.err = devchain.Open(context.Background(), devchain.Config{Dir: s.dir, Alloc: rich()})
	})
	return s.chain, s.err
}

func (s *sharedChain) close() {
	if s.chain != nil {
		_ = s.chain.Close() // The directory is removed anyway.
	}
	_ = os.RemoveAll(s.dir)
}

// named are the keys that keyOf made: a test that waits for an account asks for it a thousand times a second.
var named sync.Map

// keyOf is the key of a named account.
func keyOf(name string) *ecdsa.PrivateKey {
	if key, ok := named.Load(name); ok {
		return key.(*ecdsa.PrivateKey)
	}
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("chain test " + name)))
	if err != nil {
		panic(err)
	}
	named.Store(name, key)
	return key
}

func addressOf(name string) events.Address {
	return events.Address(crypto.PubkeyToAddress(keyOf(name).PublicKey))
}

func rich() map[common.Address]*big.Int {
	return map[common.Address]*big.Int{
		common.Address(addressOf("deployer")): new(big.Int).Lsh(big.NewInt(1), 100),
	}
}

// world is a market of its own with a client that has tokens.
type world struct {
	t         *testing.T
	chain     *devchain.Chain
	client    *ethclient.Client
	at        devchain.Deployment
	requester *chain.Requester
	gate      *gate
	name      string // makes accounts unique per test and repetition
	markets   []*chain.Market
}

// patience ends a test that hangs. It is long, because the speed of the machine must not matter.
const patience = 5 * time.Minute

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := shared.open()
	if err != nil {
		t.Fatalf("open chain: %v", err)
	}
	return newWorldOn(t, c)
}

// newWorldOn deploys the market with the usual configuration, or with changes to it.
func newWorldOn(t *testing.T, c *devchain.Chain, changes ...func(*events.MarketConfig)) *world {
	t.Helper()
	w := &world{t: t, chain: c, client: ethclient.NewClient(c.Attach()), name: fmt.Sprintf("%s at block %d ", t.Name(), c.Head().Number)}
	t.Cleanup(w.client.Close)
	config := devchain.DefaultMarketConfig("test")
	for _, change := range changes {
		change(&config)
	}
	at, err := devchain.Deploy(t.Context(), w.client, keyOf("deployer"), devchain.DeployConfig{
		Market: config, VerifierCode: common.FromHex(contractstest.DummyVerifierMetaData.Bin),
	})
	if err != nil {
		t.Fatalf("deploy: %v", err)
	}
	w.at = at
	w.gate = newGate(t, w.chain.Attach())
	w.fund("client")
	w.requester, err = chain.DialRequester(t.Context(), w.config("client"))
	if err != nil {
		t.Fatalf("dial requester: %v", err)
	}
	t.Cleanup(w.requester.Close)
	w.mint("client", 1_000_000_000)
	w.drive("client", func(ctx context.Context) error {
		return w.requester.Approve(ctx, events.NewAmount(1_000_000_000))
	})
	return w
}

func (w *world) account(name string) events.Address { return addressOf(w.name + name) }

func (w *world) fund(name string) {
	w.t.Helper()
	ether := events.NewAmount(1_000_000_000_000_000_000)
	if err := w.chain.Fund(w.t.Context(), w.account(name), ether); err != nil {
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
		Endpoint:     w.gate.server.URL,
		Marketplace:  w.at.Marketplace,
		Key:          keyOf(w.name + name),
		PollInterval: 2 * time.Millisecond,
		DeployedAt:   w.at.Block,
		StuckBlocks:  3,

		LongestRedialWait: 20 * time.Millisecond,
		CallTimeout:       patience,
	}
}

// dial is chain.Dial for a market that the world's steps wait for.
func (w *world) dial(cfg chain.Config, store events.Store, dir string) (*chain.Market, error) {
	m, err := chain.Dial(w.t.Context(), cfg, store, dir)
	if err == nil {
		w.markets = append(w.markets, m)
	}
	return m, err
}

// reader dials a market that sends nothing yet.
func (w *world) reader(cfg chain.Config) *chain.Market {
	w.t.Helper()
	m, err := chain.DialReader(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	w.markets = append(w.markets, m)
	w.t.Cleanup(func() { _ = m.Close() })
	return m
}

// host dials a host's market; dir keeps its outbox.
func (w *world) host(name, dir string, store events.Store) *chain.Market {
	w.t.Helper()
	m, err := w.dial(w.config(name), store, dir)
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	var once sync.Once
	w.t.Cleanup(func() { once.Do(func() { _ = m.Close() }) })
	return m
}

// newHost is a host with gas and tokens.
func (w *world) newHost(name string) *chain.Market {
	w.t.Helper()
	w.fund(name)
	w.mint(name, 10_000_000)
	return w.host(name, w.t.TempDir(), storetest.NewMemory())
}

// drive runs f, and seals a block whenever the account has a transaction in the mempool, so that
// chain time moves only for a reason.
func (w *world) drive(name string, f func(context.Context) error) {
	w.t.Helper()
	if err := w.try(name, f); err != nil {
		w.t.Fatal(err)
	}
}

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

// waiting says whether an account has a transaction in the mempool.
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

// sealUntil seals blocks up to a point of chain time.
func (w *world) sealUntil(when time.Time) {
	w.t.Helper()
	if d := when.Sub(w.chain.Head().Time); d > 0 {
		w.seal(uint64(d / time.Second))
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

// sealStep seals a block and returns when the markets have done what follows from it, so that
// results do not depend on their speed.
func (w *world) sealStep() {
	w.t.Helper()
	w.seal(1)
	w.looked(func() bool { return false })
}

// looked waits until the markets have looked at the newest block, or something else
// has happened.
func (w *world) looked(enough func() bool) {
	w.t.Helper()
	head := w.chain.Head().Hash
	for _, m := range w.markets {
		w.await("the newest block is looked at", func() bool { return enough() || m.Processed(w.t.Context(), head) })
	}
}

// sealUntilHolds seals blocks one by one until a condition holds, and none more.
func (w *world) sealUntilHolds(what string, holds func() bool) {
	w.t.Helper()
	w.await(what, func() bool {
		if holds() {
			return true
		}
		w.sealStep()
		return holds()
	})
}

// request puts a request of two slots of 1000 bytes on the market.
func (w *world) request() events.Request {
	w.t.Helper()
	r := events.Request{
		Client: w.account("client"),
		Ask: events.Ask{
			ProofProbability:      events.NewAmount(1),
			PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte:     events.NewAmount(10),
			Slots:                 2,
			SlotSize:              1000,
			Duration:              300 * time.Second,
			MaxSlotLoss:           1,
		},
		Content: events.Content{CID: "\x01\x55", MerkleRoot: events.Root{7}},
		Expiry:  200 * time.Second,
	}
	copy(r.Nonce[:], fmt.Sprint(w.nonce("client"), w.name))
	w.drive("client", func(ctx context.Context) (err error) {
		r.ID, err = w.requester.RequestStorage(ctx, r)
		return err
	})
	return r
}

func callFor(r events.Request, index uint64) events.SlotCall {
	return events.SlotCall{
		Request: r.ID, Slot: events.SlotIDOf(r.ID, index), Index: index, Attempt: 1,
	}
}

func goodProof(n byte) events.Proof { return events.Proof{{n}} }

func (w *world) reserve(m *chain.Market, name string, call events.SlotCall) events.Receipt {
	w.t.Helper()
	var receipt events.Receipt
	w.drive(name, func(ctx context.Context) (err error) {
		receipt, err = m.ReserveSlot(ctx, call)
		return err
	})
	return receipt
}

func (w *world) fill(m *chain.Market, name string, call events.SlotCall) events.Fill {
	w.t.Helper()
	var fill events.Fill
	w.drive(name, func(ctx context.Context) (err error) {
		fill, err = m.FillSlot(ctx, call, goodProof(1))
		return err
	})
	return fill
}
