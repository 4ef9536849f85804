//go:build !race

package demo

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

// smallCircuit samples one cell, so that its keys are made in seconds.
func smallCircuit() prover.Params {
	p := prover.NetworkParams()
	p.Samples, p.MaxDepth = 1, 12
	return p
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(crypto.S256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// One host in this process, the chain beside it, a client over HTTP: a sale
// from the request to the payout, with real proofs.
func TestAHostSellsAllSlotsAndIsPaid(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	keys, err := prover.DevelopmentKeys(ctx, smallCircuit(), filepath.Join(dir, "keys"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	sock, err := os.MkdirTemp("", "hn")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sock)
	local, err := localchain.Open(ctx, localchain.Config{
		Dir: filepath.Join(dir, "chain"), IPCPath: filepath.Join(sock, "ipc"), Keys: keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()

	file := filepath.Join(dir, "data")
	if err := os.WriteFile(file, make([]byte, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &client{}
	if c.dataset, err = prepare(ctx, file, filepath.Join(dir, "datasets"), 3, nil); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.serve(); err != nil {
		t.Fatal(err)
	}
	req := c.request(20*time.Second, 3)
	if err := c.enter(ctx, local, price(req)); err != nil {
		t.Fatal(err)
	}

	store, _, err := embedded.Open(filepath.Join(dir, "events"), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key := newKey(t)
	account := events.Address(crypto.PubkeyToAddress(key.PublicKey))
	collateral, _ := req.Ask.CollateralPerSlot()
	if err := local.Provide(ctx, account, events.NewAmount(math.MaxInt64/8), collateral.MulSaturating(req.Ask.Slots)); err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(testWriter{t})
	n, err := node.Start(ctx, node.Options{
		Store: store, SlotsDir: filepath.Join(dir, "slots"), OutboxDir: filepath.Join(dir, "outbox"),
		Quota: 1 << 30, Key: key,
		Chain: chain.Config{Endpoint: local.IPCPath(), Marketplace: local.Marketplace, DeployedAt: local.Block, Confirmations: 3},
		Keys:  keys, Fetch: storage.FetcherConfig{Sources: []string{c.url}},
		Host: actors.Config{Node: "test", MaxSlotsPerRequest: 256},
		Log:  logrus.NewEntry(log),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()

	working := func(ctx context.Context) bool {
		st, err := n.Host.Status(ctx)
		if err != nil || !st.Booted {
			return true
		}
		for _, p := range st.Pools {
			if (p.Name == "proofs" || p.Name == "downloads") && p.Running+p.Waiting > 0 {
				return true
			}
		}
		return false
	}
	go func() { _ = local.Run(ctx, pacer(local, working)) }()
	for err = actors.ErrStarting; err != nil; {
		err = n.Host.Ledger(ctx, capacity.Create{At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
			Size: 100 << 20, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(math.MaxInt64), Enabled: true,
		}})
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	id, err := c.account.RequestStorage(ctx, req)
	if err == nil {
		t.Fatal("a request without an approval was taken")
	}
	if err = c.account.Approve(ctx, price(req)); err == nil {
		id, err = c.account.RequestStorage(ctx, req)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("request %s", id)
	started, deadline := false, time.Now().Add(5*time.Minute)
	for {
		st, err := n.Host.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Sales) > 0 {
			started = true
		}
		if started && len(st.Sales) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sales did not end: %+v", st)
		}
		<-time.After(50 * time.Millisecond)
	}
	bal, err := n.Market.Balance(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("balance %s", bal.Tokens)
	if !collateral.MulSaturating(req.Ask.Slots).Less(bal.Tokens) {
		t.Fatalf("the host earned nothing: %s", bal.Tokens)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}
