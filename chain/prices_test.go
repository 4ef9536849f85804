package chain_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// messageCounter counts requests to an endpoint.
func messageCounter(t *testing.T, g *gate) (url string, messages *atomic.Int64) {
	messages = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		messages.Add(1)
		g.ServeHTTP(out, in)
	}))
	t.Cleanup(server.Close)
	return server.URL, messages
}

func TestRequestsPerBlockDoNotGrowWithWhatIsInFlight(t *testing.T) {
	perBlock := map[int]int64{}
	for _, inFlight := range []int{1, 8, 16} {
		w := newWorld(t)
		w.fund("host")
		url, messages := messageCounter(t, w.gate)
		cfg := w.config("host")
		cfg.Endpoint, cfg.StuckBlocks, cfg.MaxInFlight = url, 1000, 64
		// Only the requests that follow from new blocks, as far as possible.
		cfg.PollInterval = 50 * time.Millisecond
		m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var requests []events.Request
		for range (inFlight + 1) / 2 {
			requests = append(requests, w.request())
		}
		p := newPool(w)
		p.set(func(p *pool) { p.takes = nothing })
		var all []chan error
		for i := range inFlight {
			all = append(all, later(w, func(ctx context.Context) (events.Receipt, error) {
				return m.ReserveSlot(ctx, callFor(requests[i/2], uint64(i%2)))
			}))
		}
		w.await("all are sent", func() bool { return len(p.seen(uint64(inFlight-1))) > 0 })
		const blocks = 10
		polls := new(atomic.Int64) // Requests that only look for a new block are not counted.
		w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
			if r.Method == "eth_getTransactionCount" {
				polls.Add(1)
			}
			return p.answer(r, node)
		})
		before := messages.Load()
		for range blocks {
			at := p.count()
			w.seal(1)
			w.await("all are sent again", func() bool { return p.count() >= at+inFlight })
		}
		perBlock[inFlight] = (messages.Load() - before - polls.Load() + blocks/2) / blocks
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		for _, done := range all {
			<-done
		}
	}
	t.Logf("requests per block in addition to the look at the head: %v", perBlock)
	if perBlock[1] != perBlock[8] || perBlock[8] != perBlock[16] {
		t.Fatalf("requests per block by transactions in flight: %v", perBlock)
	}
}

func TestBalanceSaysWhatWorkReallyCosts(t *testing.T) {
	w := newWorld(t)
	m, _, call, number := w.proving()
	var receipt events.Receipt
	w.drive("host", func(ctx context.Context) (err error) {
		receipt, err = m.SubmitProof(ctx, call, number, goodProof(2))
		return err
	})
	p := newPool(w)
	p.set(func(p *pool) { p.tip, p.baseFee = big.NewInt(2_000_000_000), big.NewInt(30_000_000_000) })
	b, err := m.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := new(big.Int).Mul(newBig(receipt.GasUsed), big.NewInt(32_000_000_000)); b.ProofWei.Big().Cmp(want) != 0 {
		t.Fatalf("a proof costs %s, want %s for %d gas", b.ProofWei, want, receipt.GasUsed)
	}
	p.set(func(p *pool) { p.tip = big.NewInt(400_000_000_000) }) // Such a suggestion is not followed.
	if b, err = m.Balance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := new(big.Int).Mul(newBig(receipt.GasUsed), big.NewInt(50_000_000_000)); b.ProofWei.Big().Cmp(want) != 0 {
		t.Fatalf("a proof costs %s, want %s for %d gas", b.ProofWei, want, receipt.GasUsed)
	}
	p.set(func(p *pool) { p.tip = big.NewInt(2_000_000_000) })
	if !b.ProofWei.Less(b.SaleWei) || b.Wei.IsZero() || b.Tokens.IsZero() {
		t.Fatalf("balance is %+v", b)
	}
	// Before the first call of a kind, the measured gas counts.
	w.fund("fresh")
	fresh, err := w.host("fresh", t.TempDir(), storetest.NewMemory()).Balance(t.Context())
	if err != nil || fresh.ProofWei != events.NewAmount(340_000*32_000_000_000) {
		t.Fatalf("a proof of a fresh host costs %s (%v)", fresh.ProofWei, err)
	}
}

// logText collects what is logged, as text.
type logText struct {
	logger *logrus.Logger
	mu     sync.Mutex
	text   bytes.Buffer
}

func newLog() *logText {
	l := &logText{logger: logrus.New()}
	l.logger.SetOutput(l)
	return l
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}

func (l *logText) has(words string) bool { return l.count(words) > 0 }

// allowance is what the marketplace may take of a host's tokens.
func (w *world) allowance(name string) events.Amount {
	w.t.Helper()
	token := bindings.NewTestToken()
	to := common.Address(w.at.Token)
	raw, err := w.client.CallContract(w.t.Context(), ethereum.CallMsg{
		To: &to, Data: token.PackAllowance(common.Address(w.account(name)), common.Address(w.at.Marketplace)),
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := token.UnpackAllowance(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return events.Must(events.AmountFromBig(value))
}

func TestTheTokenSaysWhatItIsCalled(t *testing.T) {
	w := newWorld(t)
	symbol, decimals, err := w.reader(w.config("host")).TokenSays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token := bindings.NewTestToken()
	name, err1 := token.UnpackSymbol(symbol)
	if n, err2 := token.UnpackDecimals(decimals); name != "TST" || n != 18 || err1 != nil || err2 != nil {
		t.Fatalf("%q of %d decimals: %v, %v", name, n, err1, err2)
	}
}

func TestTokensAreApprovedOnceOrExactly(t *testing.T) {
	const collateral = 10_000
	for name, tc := range map[string]struct {
		configure   func(*chain.Config)
		left        uint64 // most of the allowance at the end, in collaterals
		least, most uint64 // approvals
	}{
		"once":                     {func(*chain.Config) {}, math.MaxUint64, 1, 1},
		"up to a limit":            {func(c *chain.Config) { c.Allowance = events.NewAmount(3 * collateral) }, 3, 1, 4},
		"exactly what fills take":  {func(c *chain.Config) { c.ExactAllowance = true }, 0, 4, 4},
		"no limit below the price": {func(c *chain.Config) { c.Allowance = events.NewAmount(1) }, 3, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			w.mint("host", 10_000_000)
			cfg := w.config("host")
			tc.configure(&cfg)
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			var calls []events.SlotCall
			for range 2 {
				r := w.request()
				calls = append(calls, callFor(r, 0), callFor(r, 1))
			}
			for _, call := range calls {
				w.reserve(m, "host", call)
			}
			nonce := w.nonce("host")
			w.drive("host", func(ctx context.Context) error { // All at the same time.
				errs := make(chan error, len(calls))
				for _, call := range calls {
					go func() {
						_, err := m.FillSlot(ctx, call, goodProof(1))
						errs <- err
					}()
				}
				var all error
				for range calls {
					all = errors.Join(all, <-errs)
				}
				return all
			})
			left := w.allowance("host")
			if most, _ := events.NewAmount(collateral).Mul(tc.left); tc.left < math.MaxUint64 && most.Less(left) {
				t.Fatalf("the marketplace may still take %s", left)
			}
			approvals := w.nonce("host") - nonce - uint64(len(calls))
			if approvals < tc.least || approvals > tc.most {
				t.Fatalf("%d approvals, want %d to %d", approvals, tc.least, tc.most)
			}
		})
	}
}
