//go:build !race

package demo

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
	files "github.com/hostnode/hostnode/storage/sectors"
)

// hostile is a whole sale beside some sectors, of a host with the usual settings whose only endpoint is a hostile
// node. Nobody loses anything by that.
type hostile struct {
	name string
	each func() nodetest.Fault // of a message; nil: it is honest
	away time.Duration         // for each message
	beat time.Duration         // from block to block, by the machine's clock; by their own it is a second
	busy bool                  // blocks come also while the machine computes

	period         time.Duration // of the sale's proofs
	periods        int
	slots, sectors int // 0 slots: three
	windows        int // in so many at least each sector is proven
}

const (
	tipFloor    = 25_000_000_000 // wei per gas, as on Polygon; a node suggests less
	blocksLate  = 3
	hostileSize = 64 << 10 // of a sector
	// A host takes nothing new unless it can pay for three days of proofs; at the floor above those are dear.
	forHighFees = 1000
	oneEther    = 1_000_000_000_000_000_000 // wei
)

func honest(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer {
	return node(r)
}

func is(f nodetest.Fault) func() nodetest.Fault { return func() nodetest.Fault { return f } }

// A load balancer whose nodes lag, in front of nodes that speak another language and want more than they suggest.
// `make hostile-chain` has each hostility alone, and for longer.
func TestASaleAndSectorsGoThroughWithALoadBalancerOfForeignNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("a sale and sectors, with all their proofs")
	}
	words, balancer := clientNamed(t, "Nethermind").Speaks(), nodetest.LoadBalancer(1, blocksLate)
	hostile{
		name: "a load balancer of foreign nodes",
		each: func() nodetest.Fault { return nodetest.Stack(words, nodetest.Floor(tipFloor), balancer()) },
		beat: 50 * time.Millisecond, period: 30 * time.Second, periods: 1, sectors: 4, windows: 1,
	}.run(t)
}

func clientNamed(t *testing.T, name string) nodetest.Client {
	t.Helper()
	for _, c := range nodetest.Clients() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("nobody knows the words of %s", name)
	return nodetest.Client{}
}

func (h hostile) run(t *testing.T) {
	rules := devchain.DefaultSectorConfig()
	rules.Proving.PeriodBlocks, rules.Proving.Deadlines = 120, 4 // Windows of 30 blocks: each is seen late.
	rules.Sealing.MinLife = 2 * rules.Proving.PeriodBlocks
	s := setUp(t, play{
		source: func(c *client) string { return c.url }, period: h.period, periods: h.periods, slots: h.slots,
		sectors: &rules,
		change:  func(s *stage) devchain.Pacer { return h.behind(t, s) },
	})
	contract, err := openContractLog(t.Context(), s.local, s.node.Market.Account(), t.Logf)
	check(t, err)
	t.Cleanup(contract.client.Close)
	id := s.begin(t)
	s.seal(t, h.sectors)
	s.within(t, uint64(s.request.Ask.Duration/time.Second)+100, "the sale is over", func(ctx context.Context) bool {
		state, err := s.client.account.RequestState(ctx, id)
		check(t, err)
		st, err := s.node.Host.Status(ctx)
		check(t, err)
		return state > events.RequestStarted && len(st.Sales) == 0
	})
	s.paid(t)
	proven := uint64(h.windows+2) * rules.Proving.PeriodBlocks
	s.within(t, proven, "all sectors are proven", func(ctx context.Context) bool {
		check(t, contract.read(ctx, s.local.Head().Number))
		all := true
		for n := uint64(1); n <= uint64(h.sectors); n++ {
			on := contract.of(n)
			if len(on.missed)+len(on.declared) > 0 {
				t.Fatalf("sector %d was faulty: missed %v, declared %v", n, on.missed, on.declared)
			}
			all = all && len(on.proven) >= h.windows
		}
		return all
	})
	all, err := s.node.Host.Sectors(t.Context())
	check(t, err)
	for _, one := range all {
		if one.Info.State != sector.Proving {
			t.Errorf("sector %d is %s", one.Number, one.Info.State)
		}
	}
	s.clean(t)
	requests := s.node.Market.Requests()
	t.Logf("%s: %d messages with proofs of %d sectors, by block %d; %d requests to the node, %v", h.name, contract.messages,
		h.sectors, s.local.Head().Number, requests[rpc.RequestMessages], requests)
}

// behind puts the hostile node between host and chain, and gives the host the settings that it would have on a
// chain of its own.
func (h hostile) behind(t *testing.T, s *stage) devchain.Pacer {
	t.Helper()
	each := is(honest)
	if h.each != nil {
		each = h.each
	}
	behind := s.local.Attach()
	server := httptest.NewServer(nodetest.Far(h.away, nodetest.Messages(behind, each)))
	t.Cleanup(func() { server.Close(); behind.Close() })
	cfg := config.Default()
	cfg.Chain.Endpoint, cfg.Content.Sources, cfg.Sectors.Sealer = server.URL, s.options.Fetch.Sources, "commd"
	cfg.Devchain.BlockInterval, cfg.Sales.MaxSlotsPerRequest = h.beat, 256
	means := s.options.Means
	o, err := node.FromConfig(cfg, node.Parts{
		Means: means, Endpoint: server.URL, Contract: s.local.Marketplace, DeployedAt: s.local.Block,
		Sectors: s.local.SectorProvider, SectorsDeployedAt: s.local.SectorBlock, Development: true, Node: "test",
	})
	check(t, err)
	o.Proves, o.Quota = s.options.Proves, s.options.Quota
	s.options = o
	check(t, node.ProvideDevelopmentFunds(t.Context(), s.local, means.Account))
	check(t, s.local.Fund(t.Context(), means.Account, events.NewAmount(oneEther).MulSaturating(forHighFees)))
	if h.busy {
		return devchain.FixedPace(h.beat)
	}
	return s.steady(h.beat)
}

// steady is a fixed pace, at which the chain stands still while the machine computes: what is slow is the chain
// that the host sees, not the host.
func (s *stage) steady(beat time.Duration) devchain.Pacer {
	fixed := devchain.FixedPace(beat)
	return func(ctx context.Context) error {
		err := fixed(ctx)
		for err == nil {
			p, unknown := s.progress(ctx)
			if _, why := paceOf(s.local, p, unknown); why == nil {
				return nil
			}
			err = retry.Sleep(ctx, pollEvery)
		}
		return err
	}
}

// within waits until something is so, for that many blocks at most.
func (s *stage) within(t *testing.T, blocks uint64, what string, holds func(context.Context) bool) {
	t.Helper()
	last := s.local.Head().Number + blocks
	pollFor(t, time.Hour, func(ctx context.Context) bool {
		if holds(ctx) {
			return true
		}
		if s.local.Head().Number > last {
			t.Fatalf("%d blocks, and not yet: %s", blocks, what)
		}
		return false
	})
}

// seal has sectors sealed, all with the same piece in them.
func (s *stage) seal(t *testing.T, many int) {
	t.Helper()
	ctx, text := t.Context(), strings.Repeat("data", 3000)
	piece, err := files.Identify(ctx, strings.NewReader(text))
	check(t, err)
	check(t, s.node.Host.Ledger(ctx, capacity.HoldPiece{
		At: time.Now(), Piece: capacity.Piece{CID: piece.CID, Bytes: piece.Payload},
	}))
	check(t, s.node.Pieces.Put(ctx, piece, strings.NewReader(text)))
	for range many {
		_, err := s.node.Host.BeginSector(ctx, sectors.Create{
			Size: hostileSize, Pieces: []events.SectorPiece{piece}, By: "test",
		})
		check(t, err)
	}
}

// paid fails the test unless each slot was hosted to its end and no proof of it was missed.
func (s *stage) paid(t *testing.T) {
	t.Helper()
	views, err := projections.Open(t.Context(), s.store, projections.Config{})
	check(t, err)
	defer views.Close()
	finished := 0
	for _, row := range views.Sales().Sales {
		if row.Phase == "Finished" {
			finished++
		}
		if row.Proofs.Missed > 0 {
			t.Errorf("slot %d missed %d proofs, and handed in %d", row.SlotIndex, row.Proofs.Missed, row.Proofs.Submitted)
		}
	}
	if finished != int(s.request.Ask.Slots) {
		t.Errorf("%d of %d slots were paid to their end", finished, s.request.Ask.Slots)
	}
}

// clean fails the test unless the record and the chain agree. A message may be under way.
func (s *stage) clean(t *testing.T) {
	t.Helper()
	var open *chain.Auditor
	options := audit.Options{Chain: func(ctx context.Context, m audit.Market) (_ audit.Chain, err error) {
		open, err = chain.DialAuditor(ctx, chain.Config{
			Endpoint: s.local.IPCPath(), Marketplace: m.Contract, ChainID: m.ChainID,
		})
		return open, err
	}}
	var report audit.Report
	for late := time.Now().Add(time.Minute); ; {
		var err error
		report, err = audit.Run(t.Context(), s.store, options)
		check(t, err)
		check(t, open.Close())
		if report.Clean() {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the audit found %v", report.Findings)
		}
	}
}
