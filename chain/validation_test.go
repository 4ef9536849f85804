package chain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
)

var _ port.Validation = (*chain.Market)(nil)

// ask puts a request on the market that takes many transactions to fill and misses many proofs:
// every period demands one.
func (w *world) ask(slots, maxSlotLoss uint64) events.Request {
	w.t.Helper()
	r := events.Request{
		Client: w.account("client"),
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte: events.NewAmount(10), Slots: slots, SlotSize: 1000,
			Duration: 4000 * time.Second, MaxSlotLoss: maxSlotLoss,
		},
		Content: events.Content{CID: "\x01\x55", MerkleRoot: events.Root{7}},
		Expiry:  3900 * time.Second,
	}
	copy(r.Nonce[:], fmt.Sprint(w.nonce("client"), w.name))
	w.drive("client", func(ctx context.Context) (err error) {
		r.ID, err = w.requester.RequestStorage(ctx, r)
		return err
	})
	return r
}

func refOf(r events.Request, index uint64) events.SlotRef {
	return events.SlotRef{Request: r.ID, Slot: events.SlotIDOf(r.ID, index), Index: index}
}

// occupy lets a host fill a slot.
func (w *world) occupy(m *chain.Market, name string, r events.Request, index uint64) events.SlotRef {
	w.t.Helper()
	w.reserve(m, name, callFor(r, index))
	w.fill(m, name, callFor(r, index))
	return refOf(r, index)
}

// timing is the contract's.
func (w *world) timing(m *chain.Market) events.MarketConfig {
	w.t.Helper()
	config, err := m.Config(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return config
}

func tokensOf(t *testing.T, m *chain.Market) events.Amount {
	t.Helper()
	b, err := m.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.Tokens
}

func TestMarketObeysThePortOfAValidator(t *testing.T) {
	porttest.Validation(t, func(t *testing.T) porttest.ValidationWorld {
		w := newWorld(t)
		r := w.ask(4, 4)
		careless := w.newHost("careless")
		dir, store := t.TempDir(), storetest.NewMemory()
		w.fund("validator")
		w.mint("validator", 1_000_000)
		validator := w.host("validator", dir, store)
		rival := w.newHost("rival")
		var neglected []events.SlotRef
		for i := range uint64(3) {
			neglected = append(neglected, w.occupy(careless, "careless", r, i))
		}
		own := w.occupy(validator, "validator", r, 3)
		config := w.timing(validator)
		return porttest.ValidationWorld{
			Validation: validator,
			Again: func() port.Validation {
				if err := validator.Close(); err != nil {
					t.Fatal(err)
				}
				return w.host("validator", dir, store)
			},
			Neglected: neglected, Own: own, Proofs: config.Proofs, Slashes: int(config.MaxNumberOfSlashes),
			Reward: rewardOf(r, config),
			Drive:  func(call func(context.Context) error) error { return w.try("validator", call) },
			Head:   w.chain.Head, Warp: w.sealUntil, Mine: func(n int) { w.seal(uint64(n)) },
			Tokens: func() events.Amount { return tokensOf(t, validator) },
			Rival: func(slot events.SlotRef, period uint64) {
				w.drive("rival", func(ctx context.Context) error {
					_, err := rival.MarkMissing(ctx, slot, period, time.Time{})
					return err
				})
			},
		}
	})
}

// rewardOf is the reward for marking a slot's proof, computed in the contract's own steps
// (spec/marketplace.md §5.5).
func rewardOf(r events.Request, config events.MarketConfig) events.Amount {
	full, _ := r.Ask.CollateralPerSlot()
	slashed := full.MulSaturating(uint64(config.SlashPercentage)).Div(100)
	return slashed.MulSaturating(uint64(config.ValidatorRewardPercentage)).Div(100)
}

// The marking that frees the slot and fails the request uses most gas.
func TestMarkingGasHasTheMargin(t *testing.T) {
	w := newWorld(t)
	careless, validator := w.newHost("careless"), w.newHost("validator")
	r := w.ask(2, 0)
	for i := range w.timing(validator).MaxReservations - 1 { // All are cleared when the slot is freed.
		name := fmt.Sprint("also ", i)
		w.reserve(w.newHost(name), name, callFor(r, 0))
	}
	slot := w.occupy(careless, "careless", r, 0)
	w.occupy(careless, "careless", r, 1)
	var used, limit uint64
	for range w.timing(validator).MaxNumberOfSlashes {
		m := w.markNext(validator, "validator", slot)
		tx, _, err := w.client.TransactionByHash(t.Context(), common.Hash(m.Receipt.TxHash))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("marked for %d gas", m.Receipt.GasUsed)
		used, limit = max(used, m.Receipt.GasUsed), tx.Gas()
	}
	facts, err := validator.Slot(t.Context(), slot.Request, slot.Index)
	if err != nil || facts.RequestState != events.RequestFailed {
		t.Fatalf("the request is %s, %v", facts.RequestState, err)
	}
	if limit < used*(100+account.GasMargin)/100 {
		t.Fatalf("a marking used %d gas of %d, which leaves less than %d %% more", used, limit, account.GasMargin)
	}
}

// markNext marks the next proof of a slot that can be marked.
func (w *world) markNext(m *chain.Market, name string, slot events.SlotRef) (marking events.Marking) {
	w.t.Helper()
	proofs := w.timing(m).Proofs
	for range 100 {
		period := duty.Period(proofs, w.chain.Head().Time) + 1
		w.sealUntil(duty.End(proofs, period))
		missing, err := m.Missing(w.t.Context(), []events.SlotRef{slot}, period)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(missing) == 0 {
			continue
		}
		w.drive(name, func(ctx context.Context) (err error) {
			marking, err = m.MarkMissing(ctx, slot, period, time.Time{})
			return err
		})
		return marking
	}
	w.t.Fatal("nothing is ever missing")
	return marking
}

// Whether a slot owes a proof is computed by the same formula as in the contract, block by block
// through the window, wherever the pointer is.
func TestWhoOwedAProofIsComputedAsTheContractDoes(t *testing.T) {
	w := newWorld(t)
	careless, validator := w.newHost("careless"), w.newHost("validator")
	r := w.ask(4, 4)
	proofs := w.timing(validator).Proofs
	var slots []events.SlotRef
	filledAt := map[events.SlotID]time.Time{}
	for i := range uint64(4) {
		slots = append(slots, w.occupy(careless, "careless", r, i))
		filledAt[slots[i].Slot] = w.chain.Head().Time
	}
	hashes := func(number uint64) (events.Hash, bool) {
		h, err := validator.HeadAt(t.Context(), number)
		return h.Hash, err == nil
	}
	owed, excused, blocks := 0, 0, 400
	if testing.Short() {
		blocks = 200
	}
	for range blocks {
		w.seal(1)
		head := w.chain.Head()
		for _, period := range duty.Markable(proofs, head) {
			var want []events.SlotRef
			for _, s := range slots {
				of := duty.Slot{
					ID: s.Slot, FilledAt: filledAt[s.Slot], Probability: duty.Probability(proofs, r.Ask.ProofProbability),
				}
				if yes, known := duty.MarkedAfter(proofs, of, head, period, hashes); !known {
					t.Fatalf("block %d: a hash is not at hand", head.Number)
				} else if yes {
					want = append(want, s)
				}
			}
			got, err := validator.Missing(t.Context(), slots, period)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("block %d, period %d: %v (-computed +contract):\n%s", head.Number, period, err, diff)
			}
			owed, excused = owed+len(want), excused+len(slots)-len(want)
		}
	}
	if least := blocks / 4; owed < least || excused < least {
		t.Fatalf("%d were owed and %d not: the test shows little", owed, excused)
	}
}

// A question about many slots takes few messages, and all missing proofs are marked in their
// window.
func TestManyMissingProofsAreMarkedInOneWindow(t *testing.T) {
	many := 200
	if testing.Short() {
		many = 100
	}
	shared, err := shared.open()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, shared, func(c *events.MarketConfig) {
		c.Proofs.Period, c.Proofs.Timeout = 120*time.Second, 60*time.Second
	})
	careless := w.newHost("careless")
	var messages atomic.Int64
	counted := w.config("validator")
	counted.Endpoint = counting(t, w.gate.server.URL, &messages)
	w.fund("validator")
	validator, err := w.dial(counted, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = validator.Close() })
	r := w.ask(uint64(many), uint64(many))
	refs := w.occupyAll(careless, "careless", r)
	config := w.timing(validator)
	before := tokensOf(t, validator)

	// The pointers of the slots are spread over all values, so that in every window some are
	// outside their downtime.
	period := duty.Period(config.Proofs, w.chain.Head().Time) + 1
	w.sealUntil(duty.End(config.Proofs, period))
	asked := messages.Load()
	missing, err := validator.Missing(t.Context(), refs, period)
	if err != nil || len(missing) < many/2 {
		t.Fatalf("%d of %d proofs are missing: %v", len(missing), many, err)
	}
	if took := messages.Load() - asked; took > int64(1+2*many/50) {
		t.Fatalf("asking about %d slots took %d messages with calls", many, took)
	}
	var answered atomic.Int64
	type answer struct {
		marking events.Marking
		err     error
	}
	answers := make(chan answer, len(missing))
	for _, slot := range missing {
		go func() {
			m, err := validator.MarkMissing(t.Context(), slot, period, duty.LastMarking(config.Proofs, period))
			answers <- answer{m, err}
			answered.Add(1)
		}()
	}
	// A block takes what was sent before it is sealed, so we wait until that is enough.
	w.await("all are answered", func() bool {
		open := len(missing) - int(answered.Load())
		if sent := w.inPool("validator"); sent > 0 && sent >= min(8, open) {
			w.seal(1)
		}
		return open == 0
	})
	marked := 0
	for range missing {
		a := <-answers
		switch {
		case errors.Is(a.err, events.ErrTooEarly): // The pointer wrapped meanwhile.
		case a.err != nil:
			t.Fatal(a.err)
		default:
			marked, before = marked+1, before.Add(a.marking.Reward)
		}
	}
	t.Logf("%d of %d missing proofs marked in %d s", marked, len(missing), w.chain.Head().Time.Sub(duty.End(config.Proofs, period))/time.Second)
	if marked < len(missing)*3/4 {
		t.Fatalf("%d of %d were marked", marked, len(missing))
	}
	if got := tokensOf(t, validator); got != before {
		t.Fatalf("the validator has %s, by the markings it is %s", got, before)
	}
}

// inPool is the number of an account's transactions in the mempool.
func (w *world) inPool(name string) int {
	w.t.Helper()
	pending, err := w.client.PendingNonceAt(w.t.Context(), common.Address(w.account(name)))
	if err != nil {
		w.t.Fatalf("nonce: %v", err)
	}
	return int(pending - w.nonce(name))
}

// counting is an endpoint that counts the messages with calls of contracts. It does not count those
// about blocks and nonces, whose number depends on time.
func counting(t *testing.T, to string, messages *atomic.Int64) string {
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return // The caller has gone.
		}
		if bytes.Contains(body, []byte(`"eth_call"`)) {
			messages.Add(1)
		}
		in.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(out, in)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// occupyAll lets a host fill all slots of a request.
func (w *world) occupyAll(m *chain.Market, name string, r events.Request) (refs []events.SlotRef) {
	w.t.Helper()
	each := func(call func(context.Context, events.SlotCall) error) {
		w.drive(name, func(ctx context.Context) error {
			var all sync.WaitGroup
			errs := make([]error, r.Ask.Slots)
			for i := range r.Ask.Slots {
				all.Go(func() { errs[i] = call(ctx, callFor(r, i)) })
			}
			all.Wait()
			return errors.Join(errs...)
		})
	}
	each(func(ctx context.Context, c events.SlotCall) error {
		_, err := m.ReserveSlot(ctx, c)
		return err
	})
	each(func(ctx context.Context, c events.SlotCall) error {
		_, err := m.FillSlot(ctx, c, goodProof(1))
		return err
	})
	for i := range r.Ask.Slots {
		refs = append(refs, refOf(r, i))
	}
	return refs
}
