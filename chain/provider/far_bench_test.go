package provider_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// The chain of these benchmarks: blocks as on many public chains, and a node on another continent.
const (
	farAway    = 250 * time.Millisecond
	farBlocks  = 2 * time.Second
	farSectors = 64 << 30 // tokens: deposits of more sectors than are sealed
)

var (
	farMessages = flag.Int("messages", 1000, "how many messages are asked for at once")
	farLasts    = flag.Duration("messages-for", time.Minute, "how long they are counted at most")
)

// BenchmarkMessages is how fast an account's messages are mined through a node that is 250 ms away.
func BenchmarkMessages(b *testing.B) {
	for _, most := range []uint64{16, 256} {
		for _, kind := range []struct {
			name string
			each func(*far) func(ctx context.Context, n int) error
		}{
			{"given to the manager", (*far).approvals},
			{"precommits of sectors", (*far).precommits},
		} {
			b.Run(fmt.Sprintf("%s, %d in flight", kind.name, most), func(b *testing.B) {
				for range b.N {
					f := newFar(b, most)
					f.measure(b, kind.each(f))
				}
			})
		}
	}
}

// far is a provider whose only endpoint is far away.
type far struct {
	*world
	m    *chain.Market
	p    *provider.Chain
	data *porttest.SectorData
}

func newFar(b *testing.B, most uint64) *far {
	b.Helper()
	w := newWorld(b)
	w.fund("provider")
	w.mint("provider", farSectors)
	node := w.chain.Attach()
	honest := func(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer { return node(r) }
	server := httptest.NewServer(nodetest.Far(farAway, nodetest.Node(node, honest)))
	b.Cleanup(func() { server.Close(); node.Close() })
	cfg := w.config("provider")
	cfg.Endpoint, cfg.MaxInFlight, cfg.BlockTime, cfg.PollInterval = server.URL, most, farBlocks, 0
	cfg.StuckBlocks = 0
	m, err := chain.Dial(b.Context(), cfg, storetest.NewMemory(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	p, err := provider.New(b.Context(), provider.Config{Contract: w.at.SectorProvider, DeployedAt: w.at.SectorBlock},
		m.Shared())
	if err != nil {
		b.Fatal(err)
	}
	return &far{w, m, p, porttest.NewSectorData(b)}
}

// approvals go straight to the transaction manager.
func (f *far) approvals() func(context.Context, int) error {
	token := bindings.NewTestToken()
	return func(ctx context.Context, n int) error {
		call := tx.Call{
			Key: fmt.Sprintf("precommit:%d:a", n), To: common.Address(f.at.Token), Gas: 100_000,
			Data: token.PackApprove(common.Address{1}, big.NewInt(int64(n))),
		}
		return f.m.Shared().Tx.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) error {
			_, err := manager.Submit(ctx, call)
			return err
		})
	}
}

// precommits have everything asked that is asked before a sector's message is sent.
func (f *far) precommits() func(context.Context, int) error {
	near, _ := f.reader("provider")
	calls := make([]events.PreCommitCall, *farMessages)
	for n := range calls {
		number := uint64(n + 1)
		ticket, epoch, err := near.Ticket(f.t.Context(), number)
		if err != nil {
			f.t.Fatal(err)
		}
		calls[n] = f.data.PreCommit(f.p.Account(), number, ticket, epoch, f.chain.Head().Number+1900)
	}
	return func(ctx context.Context, n int) error {
		_, err := f.p.PreCommit(ctx, calls[n])
		return err
	}
}

// measure makes all calls at once, and counts what is mined while a block comes every two seconds.
func (f *far) measure(b *testing.B, call func(context.Context, int) error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	before, first, began := f.m.Shared().Conn.Requests(), f.nonce("provider"), time.Now()
	var calls sync.WaitGroup
	var ended atomic.Int64
	for n := range *farMessages {
		calls.Go(func() {
			for {
				err := call(ctx, n)
				if ctx.Err() != nil {
					return
				}
				if err == nil {
					ended.Add(1)
					return
				}
				if !errors.Is(err, rpc.ErrUnavailable) {
					b.Errorf("message %d: %v", n, err)
					return
				}
			}
		})
	}
	blocks, full := 0, 0
	tick := time.NewTicker(farBlocks)
	defer tick.Stop()
	for ended.Load() < int64(*farMessages) && time.Since(began) < *farLasts && !b.Failed() {
		<-tick.C
		at := f.nonce("provider")
		if _, err := f.chain.SealApart(b.Context(), 1, farBlocks); err != nil {
			b.Fatal(err)
		}
		blocks++
		full = max(full, int(f.nonce("provider")-at))
	}
	lasted, mined, after := time.Since(began), f.nonce("provider")-first, f.m.Shared().Conn.Requests()
	cancel()
	calls.Wait()
	var entries uint64
	for method, n := range after {
		if method != rpc.RequestMessages {
			entries += n - before[method]
		}
	}
	each := float64(max(mined, 1))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(mined)/lasted.Seconds(), "messages/s")
	b.ReportMetric(float64(mined)/float64(max(blocks, 1)), "messages/block")
	b.ReportMetric(float64(full), "most/block")
	b.ReportMetric(float64(after[rpc.RequestMessages]-before[rpc.RequestMessages])/each, "requests/message")
	b.ReportMetric(float64(entries)/each, "entries/message")
	b.Logf("%d of %d messages in %s", mined, *farMessages, lasted.Round(time.Millisecond))
}
