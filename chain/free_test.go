package chain_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// paidTo is a host whose rewards go to a recipient.
func (w *world) paidTo(name, dir string, recipient events.Address) *chain.Market {
	w.t.Helper()
	cfg := w.config(name)
	cfg.RewardRecipient = recipient
	m, err := w.dial(cfg, storetest.NewMemory(), dir)
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	return m
}

func (w *world) tokensOf(who events.Address) events.Amount {
	w.t.Helper()
	b, err := w.requester.BalanceOf(w.t.Context(), who)
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Tokens
}

// hosted is a slot of a request that nobody else fills, which is over and not yet paid, and what it
// earned.
func (w *world) hosted(m *chain.Market, name string) (call events.SlotCall, earned events.Amount) {
	w.t.Helper()
	r := w.request()
	call = callFor(r, 0)
	w.reserve(m, name, call)
	fill := w.fill(m, name, call)
	facts, err := m.Slot(w.t.Context(), r.ID, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sealUntil(facts.RequestExpiry.Add(time.Second))
	return call, events.NewAmount(1000 * uint64(facts.RequestExpiry.Sub(fill.FilledAt)/time.Second))
}

func (w *world) free(m *chain.Market, name string, call events.SlotCall) events.PayoutReceipt {
	w.t.Helper()
	var payout events.PayoutReceipt
	w.drive(name, func(ctx context.Context) (err error) {
		payout, err = m.FreeSlot(ctx, call)
		return err
	})
	return payout
}

// sendAs sends a call to the marketplace with another account's key, bypassing all our rules.
func (w *world) sendAs(key *ecdsa.PrivateKey, nonce uint64, data []byte) {
	w.t.Helper()
	to := common.Address(w.at.Marketplace)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, GasTipCap: big.NewInt(1_000_000_000),
		GasFeeCap: big.NewInt(100_000_000_000), Gas: 500_000, To: &to, Data: data,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.SendTransaction(w.t.Context(), tx); err != nil {
		w.t.Fatal(err)
	}
	w.seal(1)
	receipt, err := w.client.TransactionReceipt(w.t.Context(), tx.Hash())
	if err != nil || receipt.Status != types.ReceiptStatusSuccessful {
		w.t.Fatalf("the contract refused: %v", err)
	}
}

const ownCollateral = 10_000

func TestRewardGoesToItsRecipientAndTheCollateralComesHome(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	treasury, dir := w.account("treasury"), t.TempDir()
	m := w.paidTo("host", dir, treasury)
	call, earned := w.hosted(m, "host")
	before := w.tokensOf(m.Account())
	paid := w.free(m, "host", call)
	if paid.RewardRecipient != treasury || paid.Collateral != events.NewAmount(ownCollateral) ||
		paid.Paid != earned.Add(paid.Collateral) || paid.AlreadyFree {
		t.Fatalf("paid %+v, want %s for %s", paid, earned, treasury)
	}
	if got := w.tokensOf(treasury); got != earned {
		t.Errorf("the recipient got %s, want %s", got, earned)
	}
	if got := w.tokensOf(m.Account()); got != before.Add(events.NewAmount(ownCollateral)) {
		t.Errorf("the account went from %s to %s, want the collateral and nothing else", before, got)
	}

	// Asked again, it reports the recipient of that time: from its record, without a record, and
	// with another recipient configured since.
	paid.AlreadyFree = true
	for name, other := range map[string]struct {
		dir       string
		recipient events.Address
	}{
		"with its record":                     {dir, treasury},
		"without a record":                    {t.TempDir(), treasury},
		"for another recipient":               {dir, w.account("heir")},
		"for the account, without a record":   {t.TempDir(), events.Address{}},
		"for the account, named in so many":   {t.TempDir(), m.Account()},
		"for another one, without any record": {t.TempDir(), w.account("heir")},
	} {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = w.paidTo("host", other.dir, other.recipient)
		again, err := m.FreeSlot(t.Context(), call)
		if diff := cmp.Diff(paid, again, amounts); err != nil || diff != "" {
			t.Errorf("freed again %s: %v (-first +again):\n%s", name, err, diff)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRewardForTheOwnAccountByNameIsNoGift(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	m := w.paidTo("host", t.TempDir(), w.account("host"))
	defer func() { _ = m.Close() }()
	call, earned := w.hosted(m, "host")
	if paid := w.free(m, "host", call); !paid.RewardRecipient.Zero() || paid.Paid.Sub(paid.Collateral) != earned {
		t.Fatalf("paid %+v, want %s", paid, earned)
	}
}

func TestRecipientThatWouldKeepTheRewardsForEverIsRefused(t *testing.T) {
	w := newWorld(t)
	for name, recipient := range map[string]events.Address{"contract": w.at.Marketplace, "token": w.at.Token} {
		cfg := w.config("host")
		cfg.RewardRecipient = recipient
		if _, err := w.dial(cfg, storetest.NewMemory(), t.TempDir()); !errors.Is(err, chain.ErrConfig) {
			t.Errorf("the %s as the recipient: %v, want ErrConfig", name, err)
		}
	}
}

func TestPayoutOfAnotherProgramWithOurKeyIsFound(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call, earned := w.hosted(m, "host")
	treasury := w.account("treasury")
	w.sendAs(keyOf(w.name+"host"), w.nonce("host"), bindings.NewMarketplace().PackFreeSlotTo(
		call.Slot, common.Address(treasury), common.Address(m.Account())))
	paid := w.free(m, "host", call)
	if !paid.AlreadyFree || paid.RewardRecipient != treasury || paid.Collateral != events.NewAmount(ownCollateral) ||
		paid.Paid != earned.Add(paid.Collateral) || paid.TxHash.Zero() {
		t.Fatalf("paid %+v, want %s for %s", paid, earned, treasury)
	}
}

// The node has forgotten the transaction, or never had it: the slot's state still has the returned
// collateral, so that it does not count as lost.
func TestPayoutThatTheNodeForgotStillReturnsTheCollateral(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	call, _ := w.hosted(m, "host")
	w.free(m, "host", call)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	w.seal(5)
	cfg := w.config("host")
	cfg.DeployedAt = w.chain.Head().Number // Older logs are not searched.
	blank, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blank.Close() }()
	want := events.PayoutReceipt{
		AlreadyFree: true, Paid: events.NewAmount(ownCollateral), Collateral: events.NewAmount(ownCollateral),
	}
	got, err := blank.FreeSlot(t.Context(), call)
	if diff := cmp.Diff(want, got, amounts); err != nil || diff != "" {
		t.Fatalf("freed again: %v (-want +got):\n%s", err, diff)
	}
}

// dialed is a host with settings of its own.
func (w *world) dialed(name string, change func(*chain.Config)) *chain.Market {
	w.t.Helper()
	cfg := w.config(name)
	cfg.TakeOver = true // The account was a host's before, and the record is new.
	change(&cfg)
	m, err := w.dial(cfg, storetest.NewMemory(), w.t.TempDir())
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	w.t.Cleanup(func() { _ = m.Close() })
	return m
}

// freesFirstAt seals block by block until the host frees a slot, and returns the block at which it
// did.
func (w *world) freesFirstAt(m *chain.Market, name string, call events.SlotCall) events.Head {
	w.t.Helper()
	for range 50 {
		before, sent := w.chain.Head(), w.gate.sent()
		ctx, cancel := context.WithCancel(w.t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := m.FreeSlot(ctx, call)
			done <- err
		}()
		var err error
		ended := false
		w.await("the slot is freed, or refused", func() bool {
			select {
			case err = <-done:
				ended = true
			default:
			}
			return ended || w.waiting(name)
		})
		cancel()
		switch {
		case !ended:
			<-done
			return before
		case !errors.Is(err, events.ErrTooEarly) || w.gate.sent() != sent:
			w.t.Fatalf("free: %v, want ErrTooEarly and nothing sent", err)
		}
		w.seal(1)
	}
	w.t.Fatal("the slot was never freed")
	return events.Head{}
}

// endedJustNow is a slot of the account host in a request that is over since the newest
// block.
func (w *world) endedJustNow() events.SlotCall {
	w.t.Helper()
	m := w.newHost("host")
	call, _ := w.hosted(m, "host")
	if err := m.Close(); err != nil {
		w.t.Fatal(err)
	}
	return call
}

func TestNothingIsFreedBeforeTheEndHasItsConfirmations(t *testing.T) {
	w := newWorld(t)
	call := w.endedJustNow()
	m := w.dialed("host", func(cfg *chain.Config) { cfg.Confirmations = 5 })
	first := w.chain.Head().Number
	if at := w.freesFirstAt(m, "host", call); at.Number != first+4 {
		t.Fatalf("freed at block %d, the end came with block %d; want 5 confirmations", at.Number, first)
	}
}

func TestNothingIsFreedBeforeTheChainCallsTheEndFinal(t *testing.T) {
	w := newWorld(t)
	call := w.endedJustNow()
	m := w.dialed("host", func(cfg *chain.Config) { cfg.Finalized = true })
	first := w.chain.Head().Number
	const lag = 7
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Param(0) == `"finalized"` {
			r.Params[0] = json.RawMessage(fmt.Sprintf(`"0x%x"`, w.chain.Head().Number-lag))
		}
		return node(r)
	})
	if at := w.freesFirstAt(m, "host", call); at.Number != first+lag {
		t.Fatalf("freed at block %d, the end came with block %d and is final %d later", at.Number, first, lag)
	}
}

// fragile puts a request on the market that fails when one slot is given up.
func (w *world) fragile() events.Request {
	w.t.Helper()
	r := w.request()
	r.Ask.MaxSlotLoss = 0
	w.drive("client", func(ctx context.Context) (err error) {
		r.ID, err = w.requester.RequestStorage(ctx, r)
		return err
	})
	return r
}

// The request failed because another host left. Freeing our slot drops it from our list and moves
// no tokens; repeating it does nothing.
func TestASlotOfAFailedRequestIsDroppedOnce(t *testing.T) {
	w := newWorld(t)
	m, rival := w.newHost("host"), w.newHost("rival")
	r := w.fragile()
	call, other := callFor(r, 0), callFor(r, 1)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	w.reserve(rival, "rival", other)
	w.fill(rival, "rival", other)
	if _, err := m.FreeSlot(t.Context(), call); !errors.Is(err, events.ErrReverted) {
		t.Fatalf("the request runs: %v, want ErrReverted", err)
	}
	before := w.tokensOf(m.Account())
	w.sendAs(keyOf(w.name+"rival"), w.nonce("rival"), bindings.NewMarketplace().PackFreeSlot(other.Slot))
	// The request ended a second before the block that failed it.
	if paid := w.free(m, "host", call); !paid.Paid.IsZero() || !paid.Collateral.IsZero() || paid.AlreadyFree {
		t.Fatalf("dropped: %+v, want a transaction that moved nothing", paid)
	}
	if mine, err := m.MySlots(t.Context()); err != nil || len(mine) != 0 {
		t.Fatalf("own slots are %v (%v), want none", mine, err)
	}
	nonce := w.nonce("host")
	again := w.free(m, "host", call)
	if !again.AlreadyFree || !again.Paid.IsZero() || w.nonce("host") != nonce {
		t.Fatalf("dropped again: %+v, want nothing sent", again)
	}
	if after := w.tokensOf(m.Account()); after != before {
		t.Fatalf("the balance went from %s to %s", before, after)
	}
}

// A host that lost its record of a drop finds the slot Failed and not in its list.
func TestADropIsKnownWithoutARecord(t *testing.T) {
	w := newWorld(t)
	m, rival := w.newHost("host"), w.newHost("rival")
	r := w.fragile()
	call, other := callFor(r, 0), callFor(r, 1)
	w.reserve(m, "host", call)
	w.fill(m, "host", call)
	w.reserve(rival, "rival", other)
	w.fill(rival, "rival", other)
	w.sendAs(keyOf(w.name+"rival"), w.nonce("rival"), bindings.NewMarketplace().PackFreeSlot(other.Slot))
	w.free(m, "host", call)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	blank := w.host("host", t.TempDir(), storetest.NewMemory())
	nonce := w.nonce("host")
	again, err := blank.FreeSlot(t.Context(), call)
	if err != nil || !again.AlreadyFree || !again.Paid.IsZero() || w.nonce("host") != nonce {
		t.Fatalf("dropped again: %+v, %v; want nothing sent", again, err)
	}
}
