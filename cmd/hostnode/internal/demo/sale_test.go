//go:build !race

package demo

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

// stage is one host in this process, the chain beside it, and a client that
// serves its blocks over HTTP: everything real, with proofs of one sample.
type stage struct {
	local      *localchain.Chain
	client     *client
	request    events.Request
	collateral events.Amount // of all slots; what the host has at first
	store      *embedded.Store
	node       *node.Node
	options    node.Options       // of the node
	halt       context.CancelFunc // lets the chain stand still
}

// set builds a stage with a request that lasts for one period of proofs. The host fetches from
// the given source.
func set(t *testing.T, source func(c *client) string) *stage {
	t.Helper()
	return setFor(t, 1, source)
}

// setFor is set for a number of periods.
func setFor(t *testing.T, periods int, source func(c *client) string) *stage {
	t.Helper()
	return setUp(t, play{periods: periods, source: source})
}

// play is what a stage is set up for.
type play struct {
	source  func(c *client) string
	period  time.Duration // of proofs; 0: the development default
	periods int
	slots   int                    // 0: three
	sectors *bindings.SectorConfig // the rules for them; nil: the development default
	// change, if set, changes the options of the node before it starts, and says at what pace the chain runs.
	change func(*stage) devchain.Pacer
}

// stageKeys are the proving keys of all stages, made by the first.
var stageKeys = sync.OnceValues(func() (*prover.Keys, error) {
	dir, err := os.MkdirTemp("", "hn")
	if err != nil {
		return nil, err
	}
	params := prover.NetworkParams()
	params.Samples, params.MaxDepth = 1, 12
	keys, err := prover.DevelopmentKeys(context.Background(), params, dir, "", nil)
	return keys, errors.Join(err, os.RemoveAll(dir))
})

func setUp(t *testing.T, p play) *stage {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	keys, err := stageKeys()
	check(t, err)
	sockets, err := os.MkdirTemp("", "hn") // Short: a socket's path is limited.
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	s := &stage{client: &client{}}
	s.local, err = localchain.Open(ctx, localchain.Config{
		Dir: filepath.Join(dir, "chain"), IPCPath: filepath.Join(sockets, "ipc"), Keys: keys,
		Proofs: proofsEach(p.period), Sectors: p.sectors,
	})
	check(t, err)
	t.Cleanup(func() { check(t, s.local.Close()) })

	file := filepath.Join(dir, "data")
	check(t, makeBytes(file, madeBytes))
	s.client.dataset, err = prepare(ctx, file, filepath.Join(dir, "datasets"), cmp.Or(p.slots, 3), nil)
	check(t, err)
	t.Cleanup(s.client.close)
	check(t, s.client.serve())
	s.request = s.client.request(cmp.Or(p.period, 20*time.Second), p.periods)
	price := requester.Price(s.request)
	check(t, s.client.enter(ctx, s.local, price.AddSaturating(price))) // For another one like it.

	s.store, _, err = embedded.Open(filepath.Join(dir, "events"), embedded.Config{})
	check(t, err)
	t.Cleanup(func() { check(t, s.store.Close()) })
	s.startHost(t, dir, keys, p)
	return s
}

// proofsEach is the timing of proofs with a period; zero for zero.
func proofsEach(period time.Duration) (c events.ProofConfig) {
	if period > 0 {
		c = devchain.DefaultMarketConfig("").Proofs
		c.Period, c.Timeout = period, period/2
	}
	return c
}

func (s *stage) startHost(t *testing.T, dir string, keys *prover.Keys, p play) {
	t.Helper()
	key, err := ecdsa.GenerateKey(crypto.S256(), rand.Reader)
	check(t, err)
	perSlot, _ := s.request.Ask.CollateralPerSlot()
	s.collateral = perSlot.MulSaturating(s.request.Ask.Slots)
	account := events.Address(crypto.PubkeyToAddress(key.PublicKey))
	check(t, s.local.Provide(t.Context(), account, events.NewAmount(math.MaxInt64/8), s.collateral))
	log := logrus.New()
	log.SetOutput(testWriter{t})
	s.options = node.Options{
		Means: node.Means{
			Dir: datadir.At(dir), Store: s.store, Account: account, Key: key, Keys: keys,
			Waits: func(error) {}, Log: logrus.NewEntry(log),
		},
		Proves: func(health.OutageFacts) {},
		Quota:  1 << 30, Fetch: storage.FetcherConfig{Sources: []string{p.source(s.client)}},
		Chain: chain.Config{
			Endpoint: s.local.IPCPath(), Marketplace: s.local.Marketplace, DeployedAt: s.local.Block,
			Confirmations: 3,
		},
		Host: actors.Config{Node: "test", MaxSlotsPerRequest: 256},
	}
	pace := pacer(s.local, longestHold, s.progress)
	if p.change != nil {
		pace = p.change(s)
	}
	s.node, err = node.Start(t.Context(), s.options)
	check(t, err)
	t.Cleanup(func() { check(t, s.node.Stop(context.WithoutCancel(t.Context()))) })
	s.run(t, pace)
}

// run lets the chain's time run, until halt is called.
func (s *stage) run(t *testing.T, pace devchain.Pacer) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	s.halt = func() {
		cancel()
		<-done
	}
	t.Cleanup(s.halt)
	go func() {
		defer close(done)
		_ = s.local.Run(ctx, pace)
	}()
}

func (s *stage) progress(ctx context.Context) (Progress, error) {
	st, err := s.node.Host.Status(ctx)
	p := Progress{Head: st.Head.Number, Away: st.Record.Away, Working: !st.Booted || !st.Live}
	p.Working = p.Working || st.Unanswered > 0 && !st.Record.Away
	for _, pool := range st.Pools {
		p.Working = p.Working || (pool.Name == "proofs" || pool.Name == "downloads") && pool.Running+pool.Waiting > 0
	}
	return p, err
}

// sell offers space, posts the request, and waits until it is over and no sale is left.
func (s *stage) sell(t *testing.T) {
	t.Helper()
	s.over(t, s.begin(t))
}

// poll waits until something is done.
func poll(t *testing.T, done func(context.Context) bool) {
	t.Helper()
	pollFor(t, 5*time.Minute, done)
}

// pollFor waits so long at most.
func pollFor(t *testing.T, patience time.Duration, done func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !done(ctx) {
		select {
		case <-time.After(idlePace):
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
}

// begin offers space and posts the request.
func (s *stage) begin(t *testing.T) events.RequestID {
	t.Helper()
	poll(t, func(ctx context.Context) bool {
		return s.node.Host.Ledger(ctx, capacity.Create{At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
			Size: 100 << 20, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(math.MaxInt64), Enabled: true,
		}}) == nil
	})
	id, err := s.client.post(t.Context(), s.request)
	check(t, err)
	return id
}

// over waits until a request is over and no sale is left.
func (s *stage) over(t *testing.T, id events.RequestID) {
	t.Helper()
	poll(t, func(ctx context.Context) bool {
		state, err := s.client.account.RequestState(ctx, id)
		check(t, err)
		st, err := s.node.Host.Status(ctx)
		check(t, err)
		return state > events.RequestStarted && len(st.Sales) == 0
	})
}

// phases counts the sales by the phase in which they ended; the audit must be clean.
func (s *stage) phases(t *testing.T) map[string]int {
	t.Helper()
	report, err := audit.Run(t.Context(), s.store, audit.Options{})
	check(t, err)
	if !report.Clean() {
		t.Errorf("the audit found %+v", report.Findings)
	}
	views, err := projections.Open(t.Context(), s.store, projections.Config{})
	check(t, err)
	defer views.Close()
	phases := map[string]int{}
	for _, row := range views.Sales().Sales {
		phases[row.Phase]++
	}
	for _, l := range views.Ledgers().Ledgers {
		if l.Reserved+l.Stored+l.Overhead != 0 {
			t.Errorf("the ledger still holds bytes for sales: %+v", l)
		}
	}
	return phases
}

func (s *stage) balance(t *testing.T) events.Amount {
	t.Helper()
	b, err := s.node.Market.Balance(t.Context())
	check(t, err)
	return b.Tokens
}

func TestAHostSellsAllSlotsAndIsPaid(t *testing.T) {
	s := set(t, func(c *client) string { return c.url })
	s.sell(t)
	if got := s.phases(t); got["Finished"] != 3 {
		t.Fatalf("sales ended as %v, want 3 finished", got)
	}
	got := s.balance(t)
	if !s.collateral.Less(got) {
		t.Fatalf("the host earned nothing: it holds %s, and began with %s", got, s.collateral)
	}
	s.showsBesideWhatIsExpected(t, got.SubFloor(s.collateral))
}

// showsBesideWhatIsExpected opens the page of what was earned while slots of another request are hosted.
func (s *stage) showsBesideWhatIsExpected(t *testing.T, settled events.Amount) {
	t.Helper()
	_, err := s.client.post(t.Context(), s.client.request(20*time.Second, 1))
	check(t, err)
	poll(t, func(ctx context.Context) bool {
		st, err := s.node.Host.Status(ctx)
		return err == nil && slices.ContainsFunc(st.Sales, func(one actors.SaleStatus) bool {
			return one.State.Phase == sale.Proving
		})
	})
	views, err := projections.Open(t.Context(), s.store, projections.Config{})
	check(t, err)
	defer views.Close()
	browser := pagetest.Open(t, api.NewLive(api.LiveConfig{
		Source: api.Source{
			Account: s.options.Account, DataDir: t.TempDir(), Now: time.Now, Machines: machines.API(),
		},
		Host: s.node.Host, Store: s.store, Projector: views,
		Standing: func() (none rpc.Reachability) { return none }, Signing: func() string { return "" },
		FeeLimit: func() (none tx.FeeLimit, _ bool) { return none, false },
		Outage:   func() (none health.OutageFacts) { return none },
	}))
	rewards := "Rewards " + money.Token{}.Amount(settled.String())
	browser.Shows(t, "/page/earnings", rewards)
	_, body := browser.Get(t, "/page/earnings")
	if text := pagetest.Text(body); !regexp.MustCompile(`Still at most [1-9]`).MatchString(text) {
		t.Errorf("nothing is expected beside %s: %s", rewards, text)
	}
}

// The client's blocks do not match their names: every slot is let go, and everything comes
// back.
func TestContentThatDoesNotMatchIsLetGo(t *testing.T) {
	s := set(t, func(c *client) string {
		honest := storage.NewHandler(c.dataset)
		manifest := "/ipfs/" + c.dataset.CID().String()
		liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			honest.ServeHTTP(answer, r)
			body := answer.Body.Bytes()
			if r.URL.Path != manifest && len(body) > 100 {
				body[50] ^= 1
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(body)
		}))
		t.Cleanup(liar.Close)
		return liar.URL
	})
	s.sell(t)
	phases := s.phases(t)
	if phases["Finished"] != 0 || phases["Errored"]+phases["Cancelled"]+phases["Ignored"] == 0 {
		t.Fatalf("sales ended as %v, want all let go", phases)
	}
	if got := s.balance(t); got != s.collateral {
		t.Fatalf("the host holds %s, and began with %s", got, s.collateral)
	}
	stored, err := s.node.Repo.Stored(t.Context())
	check(t, err)
	if len(stored) != 0 {
		t.Fatalf("%d slots are still on disk", len(stored))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}
