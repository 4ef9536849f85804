package chain_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/chain/signer/signertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// signedBy is the configuration of a host whose key a fake signer has.
func (w *world) signedBy(name string, f *signertest.Fake) chain.Config {
	w.t.Helper()
	cfg := w.readerConfig(name)
	s := signer.Open(signer.Config{
		Endpoint: f.URL, Account: cfg.Account, Timeout: patience, Method: contracts.Signature, Log: newLog().logger,
	})
	w.t.Cleanup(s.Close)
	cfg.Signer = s
	return cfg
}

// signedHost is newHost with a fake signer instead of a key.
func (w *world) signedHost(name string) (*chain.Market, *signertest.Fake) {
	w.t.Helper()
	w.fund(name)
	w.mint(name, 10_000_000)
	f := signertest.New(w.t, keyOf(w.name+name))
	m, err := w.dial(w.signedBy(name, f), storetest.NewMemory(), w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = m.Close() })
	return m, f
}

// toReserve recognises a reservation by its gas limit.
func toReserve(a apitypes.SendTxArgs) bool { return uint64(a.Gas) == chain.DefaultGas().Reserve }

func anything(apitypes.SendTxArgs) bool { return true }

// denies denies what is recognised, and approves the rest.
func denies(what func(apitypes.SendTxArgs) bool) signertest.Rules {
	return signertest.Rules{Sign: func(_ context.Context, a apitypes.SendTxArgs) (apitypes.SendTxArgs, error) {
		if what(a) {
			return a, signertest.ErrDenied
		}
		return a, nil
	}}
}

func TestWhatASignerSignsIsMinedAndItIsAskedOnceForEach(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	call := callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	if mined, asked := w.nonce("host"), len(f.Asked()); mined != 3 || asked != 3 { // With the approval of tokens.
		t.Fatalf("%d transactions were mined, and the signer was asked %d times", mined, asked)
	}
}

func TestWhatASignerRefusesGetsNoNonceAndHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	r := w.request()
	w.reserve(m, "host", callFor(r, 1))
	f.Set(denies(toReserve))
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	asked := len(f.Asked())
	w.await("it is asked again and again", func() bool { return len(f.Asked()) >= asked+3 })
	w.fill(m, "host", callFor(r, 1)) // With the nonce that was in what the signer refused.
	f.Set(signertest.Rules{})
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
	if got := w.nonce("host"); got != 4 {
		t.Fatalf("%d transactions were mined", got)
	}
}

func TestACallThatIsNeverSignedEndsAtItsDeadlineAndSaysWhy(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	f.Set(denies(anything))
	call := callFor(w.request(), 0)
	call.Deadline = w.chain.Head().Time.Add(10 * time.Second)
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("it was refused", func() bool { return len(f.Asked()) >= 2 })
	err := w.sealUntilDone(done)
	if !errors.Is(err, events.ErrDeadlinePassed) || !strings.Contains(err.Error(), "request denied") {
		t.Fatalf("got %v", err)
	}
	if m.Failure() != nil {
		t.Fatal(m.Failure())
	}
}

func TestACallerThatDoesNotWaitIsToldThatTheSignerIsAwayAndTheCallGoesOn(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	f.Away(true)
	call := callFor(w.request(), 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := m.ReserveSlot(ctx, call); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, signer.ErrAway) {
		t.Fatalf("got %v", err)
	}
	f.Away(false)
	w.await("it is sent although nobody waits", func() bool { return w.waiting("host") })
	w.reserve(m, "host", call)
	if got := w.nonce("host"); got != 1 {
		t.Fatalf("%d transactions were mined", got)
	}
}

// A proof must not wait for a person who looks at something else.
func TestAProofTakesTheTurnOfWhatIsNotSignedYet(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	r := w.request()
	call := callFor(r, 1)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	period := uint64(w.chain.Head().Time.Unix())/periodSeconds + 1 // That of the fill has its proof.
	w.sealUntil(events.Unix(period * periodSeconds))
	asked := make(chan struct{}, 100)
	f.Set(signertest.Rules{Sign: func(ctx context.Context, a apitypes.SendTxArgs) (apitypes.SendTxArgs, error) {
		if toReserve(a) {
			asked <- struct{}{}
			<-ctx.Done()
		}
		return a, ctx.Err()
	}})
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	<-asked
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(2))
		return err
	})
	f.Set(signertest.Rules{})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// Another signature would be another transaction, and a signer may be away when the host starts.
func TestWhatWasSignedIsSentAgainAfterARestartWithoutTheSigner(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	f := signertest.New(t, keyOf(w.name+"host"))
	call := callFor(w.request(), 0)
	p := newPool(w) // It counts only what the host sends.
	p.set(func(p *pool) { p.takes = nothing })
	dir, store := t.TempDir(), storetest.NewMemory()
	m, err := w.dial(w.signedBy("host", f), store, dir)
	if err != nil {
		t.Fatal(err)
	}
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("it was sent, and is lost", func() bool { return p.count() > 0 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	f.Away(true)
	p.set(func(p *pool) { p.takes = everything })
	for _, where := range []string{dir, t.TempDir()} { // The second directory has it from the record.
		if m, err = w.dial(w.signedBy("host", f), store, where); err != nil {
			t.Fatal(err)
		}
		w.await("it is sent again", func() bool { return w.waiting("host") })
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.Asked()); n != 1 {
		t.Fatalf("the signer was asked %d times", n)
	}
}

func TestATransactionThatIsStuckIsSignedAgainForMore(t *testing.T) {
	w := newWorld(t)
	m, f := w.signedHost("host")
	p := newPool(w)
	call, nonce := callFor(w.request(), 0), w.nonce("host")
	p.set(func(p *pool) { p.takes = nothing })
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("it was sent", func() bool { return len(p.seen(nonce)) == 1 })
	f.Set(denies(anything))
	w.sealUntilHolds("more is refused, and the old one is sent on", func() bool { return len(f.Asked()) > 3 })
	if n := len(p.seen(nonce)); n != 1 {
		t.Fatalf("%d transactions with the nonce", n)
	}
	f.Set(signertest.Rules{})
	w.sealUntilHolds("it offers more", func() bool { return len(p.seen(nonce)) > 1 })
	p.set(func(p *pool) { p.takes = everything })
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyAndASignerTogetherAreRefused(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("host")
	cfg.Signer = &signer.Signer{}
	if _, err := chain.DialReader(t.Context(), cfg); !errors.Is(err, chain.ErrConfig) {
		t.Fatalf("got %v", err)
	}
}
