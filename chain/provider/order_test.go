package provider_test

import (
	"context"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events/storetest"
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
	account, token := m.Transactions(), bindings.NewTestToken()
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
			done <- account.During(ctx, func(ctx context.Context, manager *tx.Manager) error {
				_, err := manager.Submit(ctx, call)
				return err
			})
		}()
		if i == 0 { // The place is taken, so that the others wait.
			w.await("the first one is sent", func() bool { return w.waiting("host") })
			continue
		}
		w.await(key+" waits", func() bool { return len(underWay(t, account)) == i+1 })
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

func underWay(t *testing.T, account *chain.Transactions) (all []tx.Intent) {
	t.Helper()
	err := account.During(t.Context(), func(ctx context.Context, manager *tx.Manager) (err error) {
		all, err = manager.Intents(ctx, "")
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
