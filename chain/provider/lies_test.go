package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// until repeats a call while its error is temporary.
func until[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	for {
		v, err := call(ctx)
		if !errors.Is(err, rpc.ErrUnavailable) || ctx.Err() != nil {
			return v, err
		}
	}
}

// liar is an endpoint of the chain that does not say the truth.
func liar(t *testing.T, w *world, fault nodetest.Fault) string {
	t.Helper()
	node := w.chain.Attach()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		nodetest.Serve(out, in, func(r nodetest.Request) nodetest.Answer {
			return fault(r, func(r nodetest.Request) nodetest.Answer { return nodetest.Ask(in.Context(), node, r) })
		}, nil)
	}))
	t.Cleanup(func() { server.Close(); node.Close() })
	return server.URL
}

// With an honest endpoint beside a lying one a sector is sealed, and nothing of the lie is told.
func TestALieIsFoundOutAndTheSectorIsSealedAtAnHonestEndpoint(t *testing.T) {
	for _, lie := range nodetest.Lies() {
		t.Run(lie.Name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("provider")
			w.mint("provider", 10_000_000)
			cfg := w.config("provider")
			cfg.Endpoint, cfg.Fallbacks = liar(t, w, lie.New()), []string{w.chain.IPCPath()}
			var mu sync.Mutex
			var found []rpc.AnswerError
			cfg.NotBelieved = func(e rpc.AnswerError) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, e)
			}
			m, err := chain.Dial(t.Context(), cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			p, err := until(t.Context(), func(ctx context.Context) (*provider.Chain, error) {
				return provider.New(ctx, provider.Config{Contract: w.at.SectorProvider, DeployedAt: w.at.SectorBlock}, m.Shared())
			})
			if err != nil {
				t.Fatal(err)
			}
			honest, _ := w.provider("observer", t.TempDir(), storetest.NewMemory())
			s := &sealing{world: w, p: p, data: porttest.NewSectorData(t)}
			type ticket struct {
				value events.Hash
				epoch uint64
			}
			drawn, err := until(t.Context(), func(ctx context.Context) (d ticket, err error) {
				d.value, d.epoch, err = p.Ticket(ctx, 3)
				return d, err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.call = s.data.PreCommit(p.Account(), 3, drawn.value, drawn.epoch, w.chain.Head().Number+900)
			s.sends(func(ctx context.Context) (events.Receipt, error) {
				return until(ctx, func(ctx context.Context) (events.Receipt, error) { return p.PreCommit(ctx, s.call) })
			})
			w.seal(6)
			seed, err := until(t.Context(), func(ctx context.Context) (events.Hash, error) {
				seed, _, err := p.Seed(ctx, 3)
				return seed, err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.sends(func(ctx context.Context) (events.Receipt, error) {
				return until(ctx, func(ctx context.Context) (events.Receipt, error) { return p.Commit(ctx, "a", 3, s.proof(seed)) })
			})
			on, err := until(t.Context(), func(ctx context.Context) (events.SectorOnChain, error) { return p.Sector(ctx, 3) })
			if err != nil || !on.Active {
				t.Fatalf("it is %+v, %v", on, err)
			}
			if nobodys, err := honest.Sector(t.Context(), 3); err != nil || nobodys.Size != 0 {
				t.Fatalf("another account has %+v, %v", nobodys, err)
			}
			again, err := until(t.Context(), func(ctx context.Context) (events.Receipt, error) {
				return p.Commit(ctx, "b", 3, s.proof(seed))
			})
			if err != nil || again.TxHash.Zero() || again.Block.Number != on.Activation {
				t.Fatalf("it was committed by %+v, %v", again, err)
			}
			caughtUp := errors.New("caught up")
			err = m.Feed().Follow(t.Context(), events.Cursor{}, func(_ context.Context, u events.ChainUpdate) error {
				if u.Live {
					return caughtUp
				}
				return nil
			})
			if !errors.Is(err, caughtUp) {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(found) == 0 && lie.Rare() {
				return
			}
			if len(found) == 0 || found[0].Endpoint != cfg.Endpoint {
				t.Fatalf("not believed were %v", found)
			}
		})
	}
}

// Of several nodes behind one address some lag: that one of them does not have a block says nothing about the
// contract's address.
func TestANodeThatDoesNotHaveTheNewestBlockYetIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("provider")
	lags := func(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer {
		if r.Method == "eth_call" {
			return r.Fails(-32000, "header not found")
		}
		return node(r)
	}
	node := rpc.New(rpc.Config{
		Endpoints: []string{liar(t, w, lags)}, CallTimeout: patience, LongestWait: time.Second, Log: logrus.New(),
	}, common.Address(w.at.SectorProvider))
	t.Cleanup(node.Close)
	_, err := provider.New(t.Context(), provider.Config{Contract: w.at.SectorProvider}, account.Account{
		Address: w.account("provider"), Conn: node, Blocks: rpc.NewBlockTime(time.Second, cfg.PollInterval, logrus.New()),
	})
	if !errors.Is(err, rpc.ErrUnavailable) || errors.Is(err, provider.ErrNoContract) {
		t.Fatalf("it is called wrong: %v", err)
	}
}
