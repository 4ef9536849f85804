package provider_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/prover/commd"
)

// An account sends its transactions one after the other. Of those that wait, proofs for the marketplace go first, then
// proofs of sectors, then all other messages about sectors.
func TestProofsForTheMarketGoBeforeAllOfSectors(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	config := w.config("host")
	config.MaxInFlight = 1
	m, err := chain.Dial(t.Context(), config, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	txs, token := m.Shared().Tx, bindings.NewTestToken()
	keys := []string{
		"precommit:1:a", "precommit:2:a", "faults:3:a", "commit:4:a", "possession:7.0.0:a", "recoveries:5:a", "proof:late:7:a",
		"proof:soon:7:a", "settle:6:a",
	}
	var all []chan error
	for i, key := range keys { // Each is known by the amount that it approves.
		call := tx.Call{
			Key: key, To: common.Address(w.at.Token), Data: token.PackApprove(common.Address{1}, big.NewInt(int64(i))), Gas: 100_000,
		}
		switch key {
		case "proof:late:7:a":
			call.Deadline = w.chain.Head().Time.Add(2 * time.Hour)
		case "proof:soon:7:a":
			call.Deadline = w.chain.Head().Time.Add(time.Hour)
		}
		done := make(chan error, 1)
		all = append(all, done)
		go func() {
			ctx := context.WithoutCancel(t.Context())
			done <- txs.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) error {
				_, err := manager.Submit(ctx, call)
				return err
			})
		}()
		if i == 0 { // The place is taken, so that the others wait.
			w.await("the first one is sent", func() bool { return w.waiting("host") })
			continue
		}
		w.await(key+" waits", func() bool { return len(underWay(t, txs)) == i+1 })
	}
	var got []string
	for len(got) < len(keys) {
		w.await("one is sent", func() bool { return w.waiting("host") })
		before := w.nonce("host")
		w.seal(1)
		b, err := w.client.BlockByNumber(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, mined := range b.Transactions() {
			got = append(got, keys[amountIn(t, token, mined)])
		}
		if w.nonce("host") != before+1 {
			t.Fatal("more than one was sent at once")
		}
	}
	for i, done := range all {
		if err := <-done; err != nil {
			t.Fatalf("%s: %v", keys[i], err)
		}
	}
	want := []string{
		"precommit:1:a", "proof:soon:7:a", "proof:late:7:a", "possession:7.0.0:a", "precommit:2:a", "faults:3:a", "commit:4:a",
		"recoveries:5:a", "settle:6:a",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("sent in the order\n%q\nwant\n%q", got, want)
		}
	}
}

// Proofs of a window that closes soon go before proofs for the marketplace that are due later, although they came later.
func TestAProofOfAWindowThatClosesFirstGoesFirst(t *testing.T) {
	w := newWorld(t)
	w.fund("provider")
	w.mint("provider", 10_000_000)
	config := w.config("provider")
	config.MaxInFlight = 1
	m, err := chain.Dial(t.Context(), config, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	txs := m.Shared().Tx
	p, err := provider.New(t.Context(), provider.Config{Contract: w.at.SectorProvider}, m.Shared())
	if err != nil {
		t.Fatal(err)
	}
	s := &sealing{world: w, p: p, data: porttest.NewSectorData(t)}
	s.draws(3)
	s.preCommits()
	proof := s.proof(s.seed())
	s.sends(func(ctx context.Context) (events.Receipt, error) { return p.Commit(ctx, "a", 3, proof) })
	c, err := p.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	on := s.sector()
	w.seal(on.NextPeriod*c.PeriodBlocks + on.Deadline*c.PeriodBlocks/c.Deadlines - w.chain.Head().Number)
	window, err := p.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	market := func(key string, until time.Time) {
		call := tx.Call{
			Key: key, To: common.Address(w.at.Token), Data: bindings.NewTestToken().PackApprove(common.Address{1}, common.Big1),
			Gas: 100_000, Deadline: until,
		}
		done <- txs.WithManager(t.Context(), func(ctx context.Context, manager *tx.Manager) error {
			_, err := manager.Submit(ctx, call)
			return err
		})
	}
	go market("proof:first:7:a", w.chain.Head().Time.Add(time.Hour)) // The place is taken, so that the others wait.
	w.await("the first one is sent", func() bool { return w.waiting("provider") })
	go market("proof:later:7:a", w.chain.Head().Time.Add(2*time.Hour))
	go func() {
		_, err := p.ProvePossession(t.Context(), events.PossessionCall{
			Key: "a", Period: window.Period, Deadline: window.Deadline, Partition: on.Partition, Numbers: []uint64{3},
			Proofs: [][]byte{s.data.Proof(t, commd.Challenge{
				Domain: commd.Possession, Ticket: s.call.Ticket, Seed: window.Randomness, Provider: p.Account(), Number: 3,
				Leaves: c.DailyLeaves,
			})},
		})
		done <- err
	}()
	w.await("both wait", func() bool {
		waits := 0
		for _, in := range underWay(t, txs) {
			if strings.HasPrefix(in.Key, "proof:later:") || strings.HasPrefix(in.Key, "possession:") {
				waits++
			}
		}
		return waits == 2
	})
	w.seal(1)
	w.await("the next one is sent", func() bool { return w.waiting("provider") })
	w.seal(1)
	b, err := w.client.BlockByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if to := *b.Transactions()[0].To(); to != common.Address(w.at.SectorProvider) {
		t.Errorf("the next one went to %s", to)
	}
	w.await("the last one is sent", func() bool { return w.waiting("provider") })
	w.seal(1)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	windowsOfAll(s, window, on)
}

// windowsOfAll reads what the contract said of a window that was proven, and of the next one, which was missed.
func windowsOfAll(s *sealing, proven events.SectorWindow, on events.SectorOnChain) {
	s.t.Helper()
	c, err := s.p.Config(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.world.seal(c.PeriodBlocks + c.PeriodBlocks/c.Deadlines)
	s.sends(func(ctx context.Context) (events.Receipt, error) { return s.p.DeclareFaults(ctx, "b", []uint64{3}) })
	head := s.world.chain.Head().Number
	got, err := s.p.WindowsOfAll(s.t.Context(), proven.Opens, head)
	if err != nil {
		s.t.Fatal(err)
	}
	me := s.p.Account()
	want := []events.ProviderWindows{
		{Provider: me, Name: fmt.Sprintf("deadline %d.%d", on.Deadline, on.Partition), Period: proven.Period, Periods: 1, Proven: true},
		{Provider: me, Name: "sector 3", Period: proven.Period + 1, Periods: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(events.ProviderWindows{}, "Block")); diff != "" {
		s.t.Errorf("windows (-want +got):\n%s", diff)
	}
	if len(got) == 2 && (got[0].Block >= got[1].Block || got[1].Block > head) {
		s.t.Errorf("windows: %+v, the newest block is %d", got, head)
	}
}

func underWay(t *testing.T, txs account.Transactions) (all []tx.Intent) {
	t.Helper()
	err := txs.WithManager(t.Context(), func(_ context.Context, manager *tx.Manager) (err error) {
		all, err = manager.Intents("")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func amountIn(t *testing.T, token *bindings.TestToken, mined *types.Transaction) int {
	t.Helper()
	in, err := token.GetABI().Methods["approve"].Inputs.Unpack(mined.Data()[4:])
	if err != nil {
		t.Fatal(err)
	}
	return int(in[1].(*big.Int).Int64())
}
