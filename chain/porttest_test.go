package chain_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// The market with the real contracts passes the port's suite, as the simulation's does.
func TestMarketObeysItsPort(t *testing.T) {
	porttest.Market(t, func(t *testing.T) porttest.MarketWorld {
		w := newWorld(t)
		return w.marketWorld(w.newHost("host"))
	})
}

// It does so, too, after the transactions were owned, given up and owned again.
func TestMarketThatIsOwnedAgainObeysItsPort(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite once more")
	}
	porttest.Market(t, func(t *testing.T) porttest.MarketWorld {
		w := newWorld(t)
		w.fund("host")
		w.mint("host", 10_000_000)
		m, dir, store := w.reader(w.config("host")), t.TempDir(), storetest.NewMemory()
		for _, err := range []error{m.Own(t.Context(), store, dir), m.Disown(), m.Own(t.Context(), store, dir)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return w.marketWorld(m)
	})
}

// marketWorld is the world of the port's suite for the market of a host named "host".
func (w *world) marketWorld(m *chain.Market) porttest.MarketWorld {
	w.t.Helper()
	rival, marker := w.newHost("rival"), w.newHost("marker")
	proofs := byte(0)
	return porttest.MarketWorld{
		Market:     m,
		Post:       w.request,
		Drive:      func(call func(context.Context) error) error { return w.try("host", call) },
		Proof:      func(events.SlotID) events.Proof { proofs++; return goodProof(proofs) },
		WrongProof: events.Proof{},
		Warp:       func(to time.Time) { w.sealUntil(to) },
		Rival: func(c events.SlotCall) {
			w.reserve(rival, "rival", c)
			w.fill(rival, "rival", c)
		},
		Compete: func(c events.SlotCall, n int) {
			name := fmt.Sprintf("competitor %d", n)
			w.reserve(w.newHost(name), name, c)
		},
		Mark: func(c events.SlotCall, period uint64) error {
			return w.try("marker", func(ctx context.Context) error {
				slot := events.SlotRef{Request: c.Request, Slot: c.Slot, Index: c.Index}
				_, err := marker.MarkMissing(ctx, slot, period, time.Time{})
				return err
			})
		},
		Withdraw: func(r events.Request) error {
			return w.try("client", func(ctx context.Context) error { return w.requester.WithdrawFunds(ctx, r.ID) })
		},
		TryPost: func(r events.Request) (events.Request, error) {
			err := w.try("client", func(ctx context.Context) (err error) {
				r.ID, err = w.requester.RequestStorage(ctx, r)
				return err
			})
			return r, err
		},
	}
}

func TestFeedObeysItsPort(t *testing.T) {
	porttest.Feed(t, func(t *testing.T) porttest.FeedWorld {
		w := newWorld(t)
		return porttest.FeedWorld{
			Feed: w.reader(w.readerConfig("host")).Feed(),
			Post: func() { w.request() }, Mine: func(n int) { w.seal(uint64(n)) }, Head: w.chain.Head,
			Reorganize: func(n int) {
				h, err := w.client.HeaderByNumber(t.Context(), new(big.Int).SetUint64(w.chain.Head().Number-uint64(n)))
				if err == nil {
					_, err = w.chain.Fork(t.Context(), events.Hash(h.Hash()), true)
				}
				if err != nil {
					t.Fatal(err)
				}
				w.seal(uint64(n) + 1)
			},
		}
	})
}
