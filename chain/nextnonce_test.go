package chain_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// A proof that becomes due while a thousand other messages are wanted has the next nonce, and costs the node no more
// questions for that: nothing waits for the messages before it to be looked after.
func TestAProofThatBecomesDueAmongAThousandMessagesGetsTheNextNonce(t *testing.T) {
	const others, most = 1000, 100 // most: HTTP messages until the proof is sent
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	url, requests := messageCounter(t, w.gate)
	cfg := w.config("host")
	cfg.Endpoint, cfg.PollInterval = url, 250*time.Millisecond // Looks at the chain count little.
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call, number := w.duePeriod(m)
	p := newPool(w)
	p.set(func(p *pool) { p.takes = nothing })
	next, token := w.nonce("host"), bindings.NewTestToken()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for n := range others {
		free := tx.Call{
			Key: fmt.Sprintf("free:%d:a", n), To: common.Address(w.at.Token), Gas: 100_000,
			Data: token.PackApprove(common.Address{1}, big.NewInt(int64(n))),
		}
		go func() {
			err := m.Shared().Tx.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) error {
				_, err := manager.Submit(ctx, free)
				return err
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", free.Key, err)
			}
		}()
	}
	w.await("some of them are sent", func() bool { return len(p.seen(next+2)) > 0 })
	before := requests.Load()
	proven := later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, number, goodProof(2))
	})
	isProof := func(nonce uint64) bool {
		sent := p.seen(nonce)
		return len(sent) > 0 && sent[0].Gas() == chain.DefaultGas().Proof
	}
	at := next
	w.await("the proof is sent", func() bool {
		for at = next; len(p.seen(at)) > 0 && !isProof(at); {
			at++
		}
		return isProof(at)
	})
	asked := requests.Load() - before
	if len(p.seen(at+1)) > 0 || at > next+12 { // A quarter of 16 places is kept for proofs.
		t.Errorf("it has nonce %d, the first of the messages had %d", at, next)
	}
	if asked > most {
		t.Errorf("%d messages went to the node before it was sent", asked)
	}
	p.set(func(p *pool) { p.takes = everything })
	if err := w.sealUntilDone(proven); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d messages to the node until it was sent, as nonce %d after %d", asked, at, next)
}
