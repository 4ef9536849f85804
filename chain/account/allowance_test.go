package account_test

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"math/big"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// patience bounds a hang.
const patience = 5 * time.Minute

func keyOf(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("account test " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(name string) common.Address { return crypto.PubkeyToAddress(keyOf(name).PublicKey) }

// world is a chain, and an account with tokens of which taker, in the place of a contract, takes some.
type world struct {
	t      *testing.T
	chain  *devchain.Chain
	client *ethclient.Client
	market *chain.Market
	taken  atomic.Int64 // transactions of taker
}

func newWorld(t *testing.T, tokens uint64) *world {
	t.Helper()
	c, err := devchain.Open(t.Context(), devchain.Config{Dir: t.TempDir(), Alloc: map[common.Address]*big.Int{
		addressOf("deployer"): new(big.Int).Lsh(common.Big1, 100), addressOf("host"): new(big.Int).Lsh(common.Big1, 80),
		addressOf("taker"): new(big.Int).Lsh(common.Big1, 80),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w := &world{t: t, chain: c, client: ethclient.NewClient(c.Attach())}
	t.Cleanup(w.client.Close)
	at, err := devchain.Deploy(t.Context(), w.client, keyOf("deployer"), devchain.DeployConfig{
		Market: devchain.DefaultMarketConfig("test"), VerifierCode: common.FromHex(contractstest.DummyVerifierMetaData.Bin),
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := chain.Config{
		Endpoint: c.IPCPath(), Marketplace: at.Marketplace, Key: keyOf("host"), DeployedAt: at.Block,
		PollInterval: 2 * time.Millisecond, CallTimeout: patience,
	}
	if w.market, err = chain.Dial(t.Context(), cfg, storetest.NewMemory(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.market.Close() })
	cfg.Key = keyOf("deployer")
	minter, err := chain.DialRequester(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(minter.Close)
	w.sealing(func() error { return minter.Mint(t.Context(), w.market.Account(), events.NewAmount(tokens)) })
	return w
}

// sealing runs f, and seals a block whenever a transaction waits.
func (w *world) sealing(f func() error) {
	w.t.Helper()
	done, tick := make(chan error, 1), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	go func() { done <- f() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				w.t.Fatal(err)
			}
			return
		case <-tick.C:
			if w.chain.Pending() > 0 {
				if _, err := w.chain.Seal(w.t.Context(), 1); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
}

func (w *world) allowance(renew events.Amount) *account.Allowance {
	return account.New(account.Config{
		Conn: w.market.Shared().Conn, Account: addressOf("host"), Contract: addressOf("taker"),
		Token: func() common.Address { return common.Address(w.market.Token()) },
		Renew: renew, Gas: account.WithMargin(47_000),
	})
}

// secure is a promise with which enough is there; waited says that it was not so at once.
func (w *world) secure(a *account.Allowance, t account.Taking) (p *account.Promise, waited bool, err error) {
	p = a.Promise(t)
	err = w.market.Shared().Tx.WithManager(w.t.Context(), func(ctx context.Context, with *tx.Manager) error {
		waited, err = p.Secure(ctx, with)
		return err
	})
	return p, waited, err
}

// takes takes tokens of the account.
func (w *world) takes(amount uint64) error {
	t := bindings.NewTestToken()
	token := t.Instance(w.client, common.Address(w.market.Token()))
	id, err := w.client.ChainID(w.t.Context())
	if err != nil {
		return err
	}
	opts := bind.NewKeyedTransactor(keyOf("taker"), id)
	opts.Context, opts.Nonce, opts.GasLimit = w.t.Context(), big.NewInt(w.taken.Add(1)-1), 100_000
	data := t.PackTransferFrom(addressOf("host"), addressOf("taker"), new(big.Int).SetUint64(amount))
	sent, err := bind.Transact(token, opts, data)
	if err != nil {
		return err
	}
	mined, err := bind.WaitMined(w.t.Context(), w.client, sent.Hash())
	if err == nil && mined.Status == 0 {
		err = errors.New("it may not take what was promised")
	}
	return err
}

// Together messages take no more than is allowed, however much is approved at a time.
func TestMessagesCountOnTheSameAllowanceOnce(t *testing.T) {
	const messages, each = 6, 10
	for name, tc := range map[string]struct {
		renew       events.Amount
		least, most uint64 // approvals
	}{
		"once":                      {account.Plenty(), 1, 1},
		"some at a time":            {events.NewAmount(3 * each), 1, messages},
		"what those under way take": {events.NewAmount(1), 1, messages},
		"exactly what each takes":   {events.Amount{}, messages, messages},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, messages*each)
			a := w.allowance(tc.renew)
			w.sealing(func() error {
				done := make(chan error, messages)
				for range messages {
					go func() {
						p, _, err := w.secure(a, account.Taking{Amount: events.NewAmount(each), As: "price"})
						defer p.Release()
						if err == nil {
							err = w.takes(each)
						}
						done <- err
					}()
				}
				var all error
				for range messages {
					all = errors.Join(all, <-done)
				}
				return all
			})
			sent, err := w.client.NonceAt(t.Context(), addressOf("host"), nil)
			if err != nil || sent < tc.least || sent > tc.most {
				t.Errorf("%d approvals, %v; want %d to %d", sent, err, tc.least, tc.most)
			}
		})
	}
}

// Who has enough waits for nobody: neither for the promise of another, nor for its approval.
func TestWhoHasEnoughWaitsForNobody(t *testing.T) {
	w := newWorld(t, 1000)
	a := w.allowance(events.NewAmount(100))
	taking := func(n uint64) account.Taking { return account.Taking{Amount: events.NewAmount(n), As: "price"} }
	var first *account.Promise
	w.sealing(func() (err error) {
		first, _, err = w.secure(a, taking(10))
		return err
	})
	early := a.Promise(taking(10))
	large := make(chan error, 1)
	go func() { // No block follows, so its approval waits.
		p, _, err := w.secure(a, taking(500))
		p.Release()
		large <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for w.chain.Pending() == 0 && ctx.Err() == nil {
		runtime.Gosched()
	}
	err := w.market.Shared().Tx.WithManager(ctx, func(ctx context.Context, with *tx.Manager) error {
		waited, err := early.Secure(ctx, with)
		if waited {
			t.Error("it waited although there was enough for it")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	early.Release()
	first.Release()
	w.sealing(func() error { return <-large })
}

func TestAnAccountThatHasNotEnoughIsToldSo(t *testing.T) {
	w := newWorld(t, 100)
	for name, renew := range map[string]events.Amount{"renewed": account.Plenty(), "exact": {}} {
		for _, tc := range []struct {
			amount, keep uint64
			says         string // empty: it has enough
		}{
			{101, 0, "the price is 101, the account holds 100"},
			{60, 41, "the price is 60, the account holds 100, and 41 of that must be left for others"},
			{60, 40, ""},
		} {
			w.sealing(func() error {
				p, _, err := w.secure(w.allowance(renew), account.Taking{
					Amount: events.NewAmount(tc.amount), Keep: events.NewAmount(tc.keep), As: "price",
				})
				p.Release()
				if lacks := tc.says != ""; lacks != errors.Is(err, events.ErrInsufficientFunds) ||
					lacks && !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%s, %d and keep %d: %v, want %q", name, tc.amount, tc.keep, err, tc.says)
				}
				return nil
			})
		}
	}
}

// What is read at a block that is refused, as that of a node which lags, decides nothing.
func TestABlockThatIsRefusedDecidesNothing(t *testing.T) {
	w := newWorld(t, 100)
	refused := errors.New("it lags")
	for name, renew := range map[string]events.Amount{"renewed": account.Plenty(), "exact": {}} {
		p, _, err := w.secure(w.allowance(renew), account.Taking{
			Amount: events.NewAmount(1000), As: "price",
			Shown: func(context.Context, events.Head) error { return refused },
		})
		p.Release()
		if !errors.Is(err, refused) {
			t.Errorf("%s: %v, want %v", name, err, refused)
		}
	}
}

func TestNothingIsTakenByAMessageWithoutTokens(t *testing.T) {
	p := account.New(account.Config{}).Promise(account.Taking{As: "price"})
	defer p.Release()
	if waited, err := p.Secure(t.Context(), nil); p.Views() != nil || !p.Suffices() || waited || err != nil {
		t.Errorf("nothing is to be taken, and %v, %v", waited, err)
	}
}
