package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
)

// proving is a host with a filled slot, at the beginning of a period in which it can prove.
func (w *world) proving() (m *chain.Market, store events.Store, call events.SlotCall, period uint64) {
	w.t.Helper()
	w.fund("host")
	w.mint("host", 10_000_000)
	store = storetest.NewMemory()
	m = w.host("host", w.t.TempDir(), store)
	call, period = w.duePeriod(m)
	return m, store, call, period
}

const periodSeconds = 20

// duePeriod fills a slot and goes on to the next period in whose first blocks the pointer does not
// wrap.
func (w *world) duePeriod(m *chain.Market) (call events.SlotCall, period uint64) {
	w.t.Helper()
	call = callFor(w.request(), 0)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	config, err := m.Config(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		period = uint64(w.chain.Head().Time.Unix())/periodSeconds + 1
		w.sealUntil(events.Unix(period * periodSeconds))
		// A trial does not know the hash of the newest block, which a pointer of 0 stands for.
		p := duty.Pointer(config.Proofs, call.Slot, w.chain.Head().Number+1, period)
		if 0 < p && p < 255-2*periodSeconds {
			return call, period
		}
	}
}

// challenge is what the contract asks for in the next block.
func (w *world) challenge(m *chain.Market, call events.SlotCall, period uint64) events.Challenge {
	w.t.Helper()
	config, err := m.Config(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	next := w.chain.Head().Number + 1
	number, _ := duty.ChallengeBlock(next, duty.Pointer(config.Proofs, call.Slot, next, period))
	at, err := m.HeadAt(w.t.Context(), number)
	if err != nil {
		w.t.Fatal(err)
	}
	return duty.Challenge(at.Hash)
}

const (
	submitProofSelector = "submitProof"
	fillSlotSelector    = "fillSlot"
	// invalidProof is the name of the contract's error for an invalid proof.
	invalidProof = "Proofs_InvalidProof"
)

// everyCall matches all trials.
func everyCall(callObject) bool { return true }

// callObject is the first parameter of eth_call.
type callObject struct {
	Data string `json:"data"`
	Gas  string `json:"gas"`
}

// refuses answers trials of a method with an error of the contract.
func refuses(method, with string, which func(callObject) bool) nodetest.Fault {
	parsed, err := bindings.MarketplaceMetaData.ParseABI()
	if err != nil {
		panic(err)
	}
	selector, data := parsed.Methods[method].ID, parsed.Errors[with].ID
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		var call callObject
		if r.Method != "eth_call" || json.Unmarshal(r.Params[0], &call) != nil ||
			!strings.HasPrefix(call.Data, "0x"+hexOf(selector)) || !which(call) {
			return node(r)
		}
		a := r.Fails(3, "execution reverted")
		a.Error.Data = "0x" + hexOf(data[:4])
		return a
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, x := range b {
		s.WriteByte(digits[x>>4])
		s.WriteByte(digits[x&15])
	}
	return s.String()
}

func TestProofIsCalledWrongOnlyWhenChallengeAndGasAreRuledOut(t *testing.T) {
	lowGas := func(c callObject) bool { return c.Gas != "0x7a1200" } // All but the 8,000,000 of the second trial.
	for name, tc := range map[string]struct {
		challenge func(right events.Challenge) events.Challenge
		refused   func(callObject) bool
		want      error
	}{
		"the proof is wrong":              {same, everyCall, events.ErrInvalidProof},
		"what it answers is not known":    {unknown, everyCall, events.ErrInvalidProof},
		"it answers another challenge":    {other, everyCall, chain.ErrChallengeMoved},
		"it lacks gas":                    {same, lowGas, chain.ErrGasLimit},
		"another challenge, and no gas":   {other, lowGas, chain.ErrChallengeMoved},
		"it lacks gas, challenge unknown": {unknown, lowGas, chain.ErrGasLimit},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m, _, call, number := w.proving()
			nonce := w.nonce("host")
			call.Challenge = tc.challenge(w.challenge(m, call, number))
			w.gate.has(refuses(submitProofSelector, invalidProof, tc.refused))
			_, err := m.SubmitProof(t.Context(), call, number, goodProof(2))
			if !errors.Is(err, tc.want) || errors.Is(err, events.ErrInvalidProof) != errors.Is(tc.want, events.ErrInvalidProof) {
				t.Fatalf("proof: %v, want %v", err, tc.want)
			}
			if w.waiting("host") || w.nonce("host") != nonce {
				t.Fatal("it was sent all the same")
			}
			free := callFor(w.request(), 1)
			w.reserve(m, "host", free)
			free.Challenge = tc.challenge(w.challenge(m, free, uint64(w.chain.Head().Time.Unix()+1)/periodSeconds))
			w.gate.has(refuses(fillSlotSelector, invalidProof, tc.refused))
			_, err = m.FillSlot(t.Context(), free, goodProof(2))
			if !errors.Is(err, tc.want) || errors.Is(err, events.ErrInvalidProof) != errors.Is(tc.want, events.ErrInvalidProof) {
				t.Fatalf("fill: %v, want %v", err, tc.want)
			}
		})
	}
}

func same(c events.Challenge) events.Challenge  { return c }
func unknown(events.Challenge) events.Challenge { return events.Challenge{} }
func other(c events.Challenge) events.Challenge { c[0] ^= 1; return c }

// passes lets all trials of a method succeed until a transaction is sent.
func passes(method string) nodetest.Fault {
	parsed, err := bindings.MarketplaceMetaData.ParseABI()
	if err != nil {
		panic(err)
	}
	var sent atomic.Bool
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_sendRawTransaction" {
			sent.Store(true)
		}
		var call callObject
		if r.Method == "eth_call" && !sent.Load() && json.Unmarshal(r.Params[0], &call) == nil &&
			strings.HasPrefix(call.Data, "0x"+hexOf(parsed.Methods[method].ID)) {
			return r.Returns(`"0x"`)
		}
		return node(r)
	}
}

// A proof that was right in the trial, and that its block refuses.
func TestMinedProofThatWasRefusedIsJudgedByTheBlockThatRefusedIt(t *testing.T) {
	for name, tc := range map[string]struct {
		challenge func(events.Challenge) events.Challenge
		want      error
	}{
		"it is wrong":         {same, events.ErrInvalidProof},
		"the challenge moved": {other, chain.ErrChallengeMoved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m, store, call, number := w.proving()
			call.Challenge = tc.challenge(w.challenge(m, call, number))
			w.gate.has(passes(submitProofSelector))
			nonce := w.nonce("host")
			err := w.try("host", func(ctx context.Context) error {
				_, err := m.SubmitProof(ctx, call, number, events.Proof{}) // The verifier refuses the zero proof.
				return err
			})
			if !errors.Is(err, tc.want) || errors.Is(err, events.ErrInvalidProof) != errors.Is(tc.want, events.ErrInvalidProof) {
				t.Fatalf("%v, want %v", err, tc.want)
			}
			if n := w.nonce("host"); n != nonce+1 {
				t.Fatalf("%d transactions were mined, want the one that failed", n-nonce)
			}
			w.await("the record says that it failed", func() bool {
				names := eventsOf(t, store, m.Account())
				return names[len(names)-1] == "TxMined"
			})
		})
	}
}

func TestSlowFillInFrontOfAProofIsPushedAsHardAsTheProof(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	cfg := w.config("host")
	cfg.StuckBlocks, cfg.FillHold = 1000, 1
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call, _ := w.duePeriod(m)
	slow := callFor(w.request(), 1)
	w.reserve(m, "host", slow)
	number := uint64(w.chain.Head().Time.Unix())/periodSeconds + 1
	w.sealUntil(events.Unix(number * periodSeconds))

	p := newPool(w)
	cheap, dear := big.NewInt(1_000_000_000), big.NewInt(7_000_000_000)
	// Only those that pay enough are mined.
	p.set(func(p *pool) {
		p.tip = cheap
		p.takes = func(tx *types.Transaction) bool { return tx.GasTipCap().Cmp(dear) >= 0 }
	})
	nonce := w.nonce("host")
	filled := later(w, func(ctx context.Context) (events.Fill, error) { return m.FillSlot(ctx, slow, goodProof(3)) })
	w.await("the fill is sent", func() bool { return len(p.seen(nonce)) == 1 })
	p.set(func(p *pool) { p.tip = dear })
	w.sealStep() // A tip is asked for once per block.
	proven := later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, number, goodProof(2))
	})
	w.await("the proof is sent behind it", func() bool { return len(p.seen(nonce+1)) == 1 })
	if n := len(p.seen(nonce)); n != 1 {
		t.Fatalf("the fill was offered %d times before the proof", n)
	}
	w.seal(1)
	w.await("the fill is offered for as much", func() bool {
		all := p.seen(nonce)
		return len(all) == 2 && all[1].GasTipCap().Cmp(dear) >= 0
	})
	if err := errors.Join(w.sealUntilDone(proven), w.sealUntilDone(filled)); err != nil {
		t.Fatal(err)
	}
}

func TestUrgencyShortensThePatience(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	cfg := w.config("host")
	cfg.StuckBlocks = 1000
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	call, number := w.duePeriod(m)
	p := newPool(w)
	p.set(func(p *pool) { p.takes = nothing })
	nonce := w.nonce("host")
	proven := later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, number, goodProof(2))
	})
	w.await("the proof is sent", func() bool { return len(p.seen(nonce)) == 1 })
	first := w.chain.Head().Number
	w.await("it is offered for more", func() bool {
		if len(p.seen(nonce)) == 2 {
			return true
		}
		at := p.count()
		w.seal(1)
		w.await("the block is seen", func() bool { return p.count() > at })
		return false
	})
	if waited := w.chain.Head().Number - first; waited > periodSeconds/4+1 {
		t.Fatalf("a proof with %d blocks left waited %d of them", periodSeconds, waited)
	}
	p.set(func(p *pool) { p.takes = everything })
	if err := w.sealUntilDone(proven); err != nil {
		t.Fatal(err)
	}
}

func TestFillsNeverTakeTheLastPlacesAndProofsGoFirst(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	cfg := w.config("host")
	cfg.MaxInFlight, cfg.FillHold = 4, 1
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	var all []chan error
	var requests []events.Request
	for range 3 {
		requests = append(requests, w.request())
	}
	call, number := w.duePeriod(m)
	p := newPool(w)
	p.set(func(p *pool) { p.takes = nothing })
	nonce := w.nonce("host")
	for _, r := range requests {
		for i := range uint64(2) {
			all = append(all, later(w, func(ctx context.Context) (events.Receipt, error) {
				return m.ReserveSlot(ctx, callFor(r, i))
			}))
		}
	}
	w.await("three are sent", func() bool { return len(p.seen(nonce+2)) > 0 })
	at := p.count()
	w.seal(1)
	w.await("the block is seen", func() bool { return p.count() >= at+3 })
	if len(p.seen(nonce+3)) > 0 {
		t.Fatal("a reservation took the place that is kept for proofs")
	}
	all = append(all, later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, number, goodProof(2))
	}))
	w.await("the proof is sent at once", func() bool { return len(p.seen(nonce+3)) > 0 })
	if got := p.seen(nonce + 3)[0].Gas(); got != chain.DefaultGas().Proof {
		t.Fatalf("a call with %d gas is in the place of the proof", got)
	}
	p.set(func(p *pool) { p.takes = everything })
	for _, done := range all {
		if err := w.sealUntilDone(done); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingIsSentInFrontOfAProofThatIsAboutToBeDue(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	m := w.host("host", t.TempDir(), storetest.NewMemory())
	r := w.request()
	p := newPool(w)
	due := w.chain.Head().Time.Add(7 * time.Second)
	m.DutiesDue(due)
	held := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, callFor(r, 0)) })
	w.seal(1)
	nearer := callFor(r, 1)
	nearer.Deadline = due
	sent := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, nearer) })
	w.await("what is due before the proof is sent", func() bool { return w.waiting("host") })
	w.seal(1)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-held:
		t.Fatalf("what can wait was sent: %v", err)
	default:
	}
	if n := len(p.seen(1)); n != 0 {
		t.Fatal("what can wait was sent")
	}
	m.DutiesDue(time.Time{})
	if err := w.sealUntilDone(held); err != nil {
		t.Fatal(err)
	}
	last := callFor(w.request(), 0)
	m.DutiesDue(w.chain.Head().Time.Add(3 * time.Second)) // It passes without a notification.
	if err := w.sealUntilDone(later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.ReserveSlot(ctx, last)
	})); err != nil {
		t.Fatal(err)
	}
}
