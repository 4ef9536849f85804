package exits

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// shared is what all tests use: one chain and one dataset, made by the first. Each
// test deploys contracts of its own, and no two run at a time.
type sharedParts struct {
	once  sync.Once
	dir   string
	chain *devchain.Chain
	data  *dataset.Dataset
	err   error
}

var shared sharedParts

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.chain != nil {
		_ = shared.data.Close()
		_ = shared.chain.Close() // The directory is removed anyway.
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

func (s *sharedParts) open() error {
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "ex"); s.err != nil { // Short: a socket's path is limited.
			return
		}
		s.chain, s.err = devchain.Open(context.Background(), devchain.Config{
			Dir: filepath.Join(s.dir, "c"), Alloc: map[common.Address]*big.Int{
				common.Address(addressOf(keyOf("deployer"))): new(big.Int).Lsh(big.NewInt(1), 100),
			},
		})
		if s.err != nil {
			return
		}
		file := filepath.Join(s.dir, "data")
		bytes := make([]byte, 2*events.BlockSize) // Slots of one block.
		_, _ = mathrand.NewChaCha8([32]byte{1}).Read(bytes)
		if s.err = os.WriteFile(file, bytes, 0o600); s.err != nil {
			return
		}
		s.data, s.err = dataset.PrepareFile(context.Background(), file, filepath.Join(s.dir, "d"),
			dataset.Params{K: 2, M: 1}, dataset.Options{Filename: "data"})
	})
	return s.err
}

// keyOf is the key of a named account.
func keyOf(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("exits test " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) events.Address {
	return events.Address(crypto.PubkeyToAddress(key.PublicKey))
}

// world is a market of its own, with a client that has tokens and serves its data.
type world struct {
	t      *testing.T
	chain  *devchain.Chain
	eth    *ethclient.Client
	at     devchain.Deployment
	config events.MarketConfig
	client *chain.Requester
	source string // URL of the client's blocks
	name   string // makes accounts unique per test and repetition
	market *bindings.Marketplace
	apart  time.Duration // between blocks; default a second
}

// furtherExit is called by tests of one more way in which a sale ends or pays. With -short, the others stand for them.
func furtherExit(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one more exit")
	}
}

const keyHash = "a proof system for tests"

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, func(*events.MarketConfig) {})
}

// newWorldOf is a world whose market has another configuration.
func newWorldOf(t *testing.T, change func(*events.MarketConfig)) *world {
	t.Helper()
	return deployed(t, devchain.DeployConfig{VerifierCode: common.FromHex(contractstest.DummyVerifierMetaData.Bin)},
		keyHash, change)
}

// deployed is a world with a verifier for the proving key with that hash.
func deployed(
	t *testing.T, with devchain.DeployConfig, keyHash string, change func(*events.MarketConfig),
) *world {
	t.Helper()
	ok(t, shared.open())
	c := shared.chain
	w := &world{
		t: t, chain: c, eth: ethclient.NewClient(c.Attach()), config: devchain.DefaultMarketConfig(keyHash),
		name: fmt.Sprintf("%s at block %d ", t.Name(), c.Head().Number), market: bindings.NewMarketplace(),
	}
	t.Cleanup(w.eth.Close)
	change(&w.config)
	var err error
	with.Market = w.config
	w.at, err = devchain.Deploy(t.Context(), w.eth, keyOf("deployer"), with)
	ok(t, err)
	server := httptest.NewServer(storage.NewHandler(shared.data))
	t.Cleanup(server.Close)
	w.source = server.URL
	w.client, err = chain.DialRequester(t.Context(), w.chainConfig("client"))
	ok(t, err)
	t.Cleanup(w.client.Close)
	w.give("client", 1_000_000_000_000)
	w.drive(func(ctx context.Context) error { return w.client.Approve(ctx, events.MaxAmount()) })
	return w
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) key(name string) *ecdsa.PrivateKey { return keyOf(w.name + name) }

func (w *world) account(name string) events.Address { return addressOf(w.key(name)) }

func (w *world) chainConfig(name string) chain.Config {
	return chain.Config{
		Endpoint: w.chain.IPCPath(), Marketplace: w.at.Marketplace, Key: w.key(name), DeployedAt: w.at.Block,
		PollInterval: 2 * time.Millisecond, LongestRedialWait: 20 * time.Millisecond,
	}
}

// give gives an account gas and tokens.
func (w *world) give(name string, tokens uint64) {
	w.t.Helper()
	ok(w.t, w.chain.Fund(w.t.Context(), w.account(name), events.NewAmount(1_000_000_000_000_000_000)))
	w.drive(func(ctx context.Context) error {
		return w.client.Mint(ctx, w.account(name), events.NewAmount(tokens))
	})
}

// drive runs a function that sends transactions, and seals a block whenever one waits.
func (w *world) drive(f func(context.Context) error) {
	w.t.Helper()
	ok(w.t, w.try(f))
}

func (w *world) try(f func(context.Context) error) error {
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
			if w.chain.Pending() > 0 {
				w.seal(1)
			}
		}
	}
}

func (w *world) seal(n uint64) {
	w.t.Helper()
	_, err := w.chain.SealApart(w.t.Context(), n, max(w.apart, time.Second))
	ok(w.t, err)
}

func (w *world) now() time.Time { return w.chain.Head().Time }

// highTip, in wei for one gas, is more than a host offers, so that the test's transaction comes
// first in its block.
const highTip = 50_000_000_000

// mined sends a call of an account and seals the block that takes it.
func (w *world) mined(name string, to events.Address, data []byte) *types.Receipt {
	w.t.Helper()
	ctx, key := w.t.Context(), w.key(name)
	nonce, err := w.eth.NonceAt(ctx, common.Address(addressOf(key)), nil)
	ok(w.t, err)
	target := common.Address(to)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, GasTipCap: big.NewInt(highTip),
		GasFeeCap: big.NewInt(100_000_000_000), Gas: 1_000_000, To: &target, Data: data,
	})
	ok(w.t, err)
	ok(w.t, w.eth.SendTransaction(ctx, tx))
	w.seal(1)
	receipt, err := w.eth.TransactionReceipt(ctx, tx.Hash())
	ok(w.t, err)
	return receipt
}

// succeeded is mined for a call that the contract must take.
func (w *world) succeeded(name string, data []byte) {
	w.t.Helper()
	if r := w.mined(name, w.at.Marketplace, data); r.Status != types.ReceiptStatusSuccessful {
		w.t.Fatalf("the contract refused a call of %s", name)
	}
}

// terms are what a request of a test asks for besides its data.
type terms struct {
	probability      uint64 // a proof in one of so many periods
	expiry, duration time.Duration
	maxLoss          uint64
	content          *events.Content
}

// noProofs is a probability at which no proof is ever drawn.
const noProofs = 1 << 62

// post puts a request on the market.
func (w *world) post(o terms) events.Request {
	w.t.Helper()
	r := requestOf(o)
	r.Client = w.client.Account()
	w.drive(func(ctx context.Context) (err error) {
		r.ID, err = w.client.RequestStorage(ctx, r)
		return err
	})
	return r
}

// requestOf is a request for the shared dataset: three slots of one block.
func requestOf(o terms) events.Request {
	layout := shared.data.Layout()
	r := events.Request{
		Ask: events.Ask{
			ProofProbability:      events.NewAmount(o.probability),
			PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte:     events.NewAmount(10),
			Slots:                 uint64(layout.Params.K + layout.Params.M),
			SlotSize:              layout.SlotSize(),
			Duration:              o.duration,
			MaxSlotLoss:           o.maxLoss,
		},
		Content: shared.data.Content(),
		Expiry:  o.expiry,
	}
	if o.content != nil {
		r.Content = *o.content
	}
	_, _ = rand.Read(r.Nonce[:]) // It never fails.
	return r
}

func callOf(r events.Request, index uint64) events.SlotCall {
	return events.SlotCall{Request: r.ID, Slot: events.SlotIDOf(r.ID, index), Index: index, Attempt: 1}
}

// tokens are what an account holds.
func (w *world) tokens(who events.Address) events.Amount {
	w.t.Helper()
	b, err := w.client.BalanceOf(w.t.Context(), who)
	ok(w.t, err)
	return b.Tokens
}
