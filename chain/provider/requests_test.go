package provider_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/prover/commd"
)

// counting is a node over HTTP that counts the messages which are not the transaction manager's: those with reads and
// trials, and those that ask for the newest block, for one by its hash, or for logs. hold, if set, is called with what such a message calls.
type counting struct {
	w       *world
	account account.Account
	own     atomic.Int64
	hold    atomic.Pointer[func(input []byte)]
}

func (c *counting) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	node := c.w.chain.Attach()
	defer node.Close()
	alone := true
	answer := func(r nodetest.Request) nodetest.Answer {
		if alone {
			c.note([]nodetest.Request{r})
		}
		return nodetest.Ask(in.Context(), node, r)
	}
	nodetest.Serve(out, in, answer, func(_ http.ResponseWriter, many []nodetest.Request) bool {
		alone = false
		c.note(many)
		return false
	})
}

func (c *counting) note(many []nodetest.Request) {
	calls := slices.ContainsFunc(many, func(r nodetest.Request) bool {
		return slices.Contains([]string{"eth_call", "eth_getBlockByHash", "eth_getLogs"}, r.Method)
	})
	if calls || len(many) == 1 && many[0].Param(0) == `"latest"` {
		c.own.Add(1)
	}
	if hold := c.hold.Load(); hold != nil {
		for _, r := range many {
			(*hold)([]byte(r.Param(0)))
		}
	}
}

// counted is a world whose provider speaks with a node that counts.
func counted(t *testing.T, allowance events.Amount) (*world, *counting, *provider.Chain) {
	t.Helper()
	w := newWorld(t)
	node := &counting{w: w}
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	w.fund("provider")
	w.mint("provider", 10_000_000)
	config := w.config("provider")
	config.Endpoint = server.URL
	m, err := chain.Dial(t.Context(), config, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	node.account = m.Shared()
	return w, node, node.provider(provider.Config{Allowance: allowance})
}

func (c *counting) provider(config provider.Config) *provider.Chain {
	c.w.t.Helper()
	config.Contract, config.DeployedAt, config.LogRange = c.w.at.SectorProvider, c.w.at.SectorBlock, 100
	p, err := provider.New(c.w.t.Context(), config, c.account)
	if err != nil {
		c.w.t.Fatal(err)
	}
	return p
}

// together makes calls at once, waits until so many of their messages are in the pool, and mines them in one block.
func (w *world) together(sent uint64, calls ...func(context.Context) error) {
	w.t.Helper()
	done, before := make(chan error, len(calls)), w.nonce("provider")
	for _, call := range calls {
		go func() { done <- call(w.t.Context()) }()
	}
	w.await("all are sent", func() bool {
		pending, err := w.client.PendingNonceAt(w.t.Context(), common.Address(w.account("provider")))
		return err == nil && pending == before+sent
	})
	w.seal(1)
	for range calls {
		if err := <-done; err != nil {
			w.t.Fatal(err)
		}
	}
}

// some are calls of sectors from 1 on.
func some(n int, call func(ctx context.Context, number uint64) error) (all []func(context.Context) error) {
	for i := range n {
		all = append(all, func(ctx context.Context) error { return call(ctx, uint64(i+1)) })
	}
	return all
}

// A message costs two requests beside those of the transaction manager: what is so, and whether the contract takes it.
func TestAMessageCostsTwoRequests(t *testing.T) {
	const sectors = 10 // Of 16 transactions in flight, 12 are for other things than duties.
	w, node, p := counted(t, events.Amount{})
	data := porttest.NewSectorData(t)
	calls := make([]events.PreCommitCall, sectors+2)
	draw := func(n uint64) {
		ticket, epoch, err := p.Ticket(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		calls[n] = data.PreCommit(p.Account(), n, ticket, epoch, w.chain.Head().Number+900)
	}
	preCommit := func(ctx context.Context, n uint64) error {
		_, err := p.PreCommit(ctx, calls[n])
		return err
	}
	draw(sectors + 1) // The first one approves the tokens.
	w.drive("provider", func(ctx context.Context) error { return preCommit(ctx, sectors+1) })
	bounded := func(what string, sent uint64, all ...func(context.Context) error) {
		t.Helper()
		if _, err := p.Head(t.Context()); err != nil { // As the look at each block does.
			t.Fatal(err)
		}
		node.own.Store(0)
		w.together(sent, all...)
		if took := node.own.Load(); took > int64(2*len(all)) {
			t.Errorf("%s: %d messages took %d requests", what, len(all), took)
		}
	}
	for n := range uint64(sectors) {
		draw(n + 1)
	}
	bounded("precommits", sectors, some(sectors, preCommit)...)
	c, err := p.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.seal(c.ChallengeDelay + 1)
	bounded("seeds", sectors, some(sectors, func(ctx context.Context, n uint64) error {
		_, err := p.PinSeed(ctx, "a", n)
		return err
	})...)
	proofs := make([][]byte, sectors+1)
	for n := uint64(1); n <= sectors; n++ {
		seed, _, err := p.Seed(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		proofs[n] = data.Proof(t, commd.Challenge{
			Domain: commd.Seal, Ticket: calls[n].Ticket, Seed: seed, Provider: p.Account(), Number: n, Leaves: c.SealLeaves,
		})
	}
	bounded("commits", sectors, some(sectors, func(ctx context.Context, n uint64) error {
		_, err := p.Commit(ctx, "a", n, proofs[n])
		return err
	})...)
	bounded("faults", 1, func(ctx context.Context) error {
		_, err := p.DeclareFaults(ctx, "a", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
		return err
	})
	// Some of them are declared: the others share a message, in which nothing is said twice.
	bounded("recoveries", 1, func(ctx context.Context) error {
		_, err := p.DeclareRecoveries(ctx, "a", []uint64{1, 2, 3})
		return err
	})
	bounded("more recoveries", 1, func(ctx context.Context) error {
		_, err := p.DeclareRecoveries(ctx, "b", []uint64{3, 4, 5})
		return err
	})
	for n := uint64(1); n <= 5; n++ {
		if on, err := p.Sector(t.Context(), n); err != nil || on.RecoverAt == 0 {
			t.Errorf("sector %d is %+v, %v", n, on, err)
		}
	}
	// Several that need more gas than half of a block are refused before anything is sent.
	gas := provider.MeasuredGas()
	gas.DeclareNext = 1 << 24
	if _, err := node.provider(provider.Config{Gas: gas}).
		DeclareRecoveries(t.Context(), "c", []uint64{6, 7}); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("too many in one message: %v", err)
	}
}

// preCommits makes and sends a precommit.
func (w *world) preCommits(p *provider.Chain, data *porttest.SectorData) func(context.Context, uint64) error {
	return func(ctx context.Context, n uint64) error {
		ticket, epoch, err := p.Ticket(ctx, n)
		if err == nil {
			_, err = p.PreCommit(ctx, data.PreCommit(p.Account(), n, ticket, epoch, w.chain.Head().Number+900))
		}
		return err
	}
}

// Where the allowance is enough, no precommit waits for the questions of another.
func TestPreCommitsDoNotWaitForEachOther(t *testing.T) {
	w, node, p := counted(t, events.Amount{})
	preCommit := w.preCommits(p, porttest.NewSectorData(t))
	w.drive("provider", func(ctx context.Context) error { return preCommit(ctx, 1) })
	held, gate := make(chan struct{}), make(chan struct{})
	balance := []byte(common.Bytes2Hex(bindings.NewTestToken().PackBalanceOf(common.Address(p.Account()))))
	var first atomic.Bool
	hold := func(input []byte) {
		if bytes.Contains(input, balance) && first.CompareAndSwap(false, true) {
			close(held)
			<-gate
		}
	}
	node.hold.Store(&hold)
	w.together(2, func(ctx context.Context) error { return preCommit(ctx, 2) }, func(ctx context.Context) error {
		<-held
		go func() {
			w.await("the other one is sent", func() bool { return w.waiting("provider") })
			close(gate)
		}()
		return preCommit(ctx, 3)
	})
}

// Those that find no allowance wait for one approval, and ask nothing more afterwards.
func TestPreCommitsThatNeedAnApprovalShareIt(t *testing.T) {
	const sectors = 10
	w, node, p := counted(t, events.Amount{})
	data := porttest.NewSectorData(t)
	var calls [sectors + 1]events.PreCommitCall
	for n := uint64(1); n <= sectors; n++ {
		ticket, epoch, err := p.Ticket(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		calls[n] = data.PreCommit(p.Account(), n, ticket, epoch, w.chain.Head().Number+900)
	}
	node.own.Store(0)
	done := make(chan error, sectors)
	for n := range sectors {
		go func() {
			_, err := p.PreCommit(t.Context(), calls[n+1])
			done <- err
		}()
	}
	w.await("the approval is sent", func() bool { return w.waiting("provider") })
	w.seal(1)
	w.await("all are sent", func() bool {
		pending, err := w.client.PendingNonceAt(t.Context(), common.Address(w.account("provider")))
		return err == nil && pending == sectors+1
	})
	if took := node.own.Load(); took > 2*sectors+2 {
		t.Errorf("%d messages took %d requests", sectors, took)
	}
	w.seal(1)
	for range sectors {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Together they take no more than is allowed, however little is approved at a time.
func TestPreCommitsCountOnTheSameAllowanceOnce(t *testing.T) {
	const sectors = 6
	w, _, p := counted(t, events.NewAmount(1)) // So what is approved is what those under way need.
	preCommit := w.preCommits(p, porttest.NewSectorData(t))
	w.drive("provider", func(ctx context.Context) error {
		done := make(chan error, sectors)
		for _, call := range some(sectors, preCommit) {
			go func() { done <- call(ctx) }()
		}
		var errs []error
		for range sectors {
			errs = append(errs, <-done)
		}
		return errors.Join(errs...)
	})
}
