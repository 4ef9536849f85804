package chain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// besideOwner is a member that has the key and does not own the account.
func (w *world) besideOwner() (m *chain.Market, g *gate) {
	g = newGate(w.t, w.chain.Attach())
	cfg := w.config("host")
	cfg.RecordFirst, cfg.UnknownNonceBlocks, cfg.Endpoint = true, leftAlone, g.server.URL
	cfg.UsedElsewhere = func(u tx.ForeignUse) { w.t.Errorf("the member beside the owner tells %s", u) }
	return w.reader(cfg), g
}

// ownerAndProof is an owner that hosts a slot whose proof is due, and has another transaction in its pool.
func ownerAndProof(t *testing.T) (
	w *world, owner *member, record *storetest.Memory, call events.SlotCall, period uint64, reserved chan error,
) {
	t.Helper()
	w = newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	record = storetest.NewMemory()
	owner = w.newMember(t.TempDir(), record)
	r := w.request()
	call, period = w.duePeriod(owner.Market)
	w.chain.Hold(true)
	t.Cleanup(func() { w.chain.Hold(false) })
	reserved = w.reserving(owner, callFor(r, 0))
	w.await("the owner's transaction is in the pool", func() bool { return w.waiting("host") })
	return w, owner, record, call, period, reserved
}

// proveBeside sends the proof beside the owner, in the background.
func (w *world) proveBeside(m *chain.Market, dir string, call events.SlotCall, period uint64) chan error {
	return later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProofAnyway(ctx, dir, call, period, goodProof(2))
	})
}

func TestAProofIsSentBesideTheOwnerAndRecordedWhenItsSenderOwns(t *testing.T) {
	w, owner, record, call, period, reserved := ownerAndProof(t)
	before := w.nonce("host")
	beside, _ := w.besideOwner()
	dir := t.TempDir()
	proved := w.proveBeside(beside, dir, call, period)
	w.await("both are in the pool", func() bool { return w.chain.Pending() == 2 })
	w.chain.Hold(false)
	if err := errors.Join(w.sealUntilDone(reserved), w.sealUntilDone(proved)); err != nil {
		t.Fatal(err)
	}
	if n := w.nonce("host"); n != before+2 || owner.Failure() != nil {
		t.Fatalf("%d transactions were mined, the owner failed with %v", n-before, owner.Failure())
	}
	// The owner goes on, and sends what comes next.
	w.reserve(owner.Market, "host", callFor(w.request(), 1))
	w.end(owner.guarded)

	if taken, err := beside.TakenProofsAnyway(t.Context(), dir, call.Slot, period); err != nil || len(taken) != 1 {
		t.Fatalf("proofs that were sent beside the owner: %+v, %v", taken, err)
	}
	w.owns(beside, record, dir)
	taken, err := beside.TakenProofs(t.Context(), call.Slot, period)
	if err != nil || len(taken) != 1 || taken[0].Receipt.TxHash.Zero() {
		t.Fatalf("taken proofs: %+v, %v", taken, err)
	}
	w.await("it is in the record", func() bool {
		return slices.ContainsFunc(minedKeys(t, record, beside.Account()), func(key string) bool {
			return strings.HasPrefix(key, "proof:")
		})
	})
	w.reserve(beside, "host", callFor(w.request(), 2))
}

// The pools of their nodes do not know of each other, so both take the same nonce.
func TestTwoWithTheSameNonceAreBothMinedInTheEnd(t *testing.T) {
	w, owner, _, call, period, reserved := ownerAndProof(t)
	before := w.nonce("host")
	beside, g := w.besideOwner()
	p := &pool{takes: nothing}
	g.has(func(q rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if q.Method == "eth_getTransactionCount" && len(q.Params) == 2 {
			q.Params[1] = []byte(`"latest"`)
		}
		return p.answer(q, node)
	})
	proved := w.proveBeside(beside, t.TempDir(), call, period)
	w.await("it takes the same nonce", func() bool { return len(p.seen(before)) > 0 })
	g.has(nil)
	w.chain.Hold(false)
	if err := errors.Join(w.sealUntilDone(reserved), w.sealUntilDone(proved)); err != nil {
		t.Fatal(err)
	}
	if n := w.nonce("host"); n != before+2 || owner.Failure() != nil {
		t.Fatalf("%d transactions were mined, the owner failed with %v", n-before, owner.Failure())
	}
}

// A member that becomes the owner meanwhile ends what it sent beside the former one, and goes on with it.
func TestWhoSendsBesideTheOwnerMayBecomeTheOwner(t *testing.T) {
	w, owner, record, call, period, _ := ownerAndProof(t)
	beside, _ := w.besideOwner()
	dir := t.TempDir()
	proved := w.proveBeside(beside, dir, call, period)
	w.await("both are in the pool", func() bool { return w.chain.Pending() == 2 })
	w.cutOff(owner)
	w.owns(beside, record, dir)
	if err := <-proved; !errors.Is(err, events.ErrNotOwner) {
		t.Fatalf("the call under way ends with %v", err)
	}
	w.chain.Hold(false)
	again := later(w, func(ctx context.Context) (events.Receipt, error) {
		return beside.SubmitProof(ctx, call, period, goodProof(3))
	})
	if err := w.sealUntilDone(again); err != nil {
		t.Fatal(err)
	}
	// An owner needs no other way.
	if _, err := beside.SubmitProofAnyway(t.Context(), dir, call, period, goodProof(4)); err != nil {
		t.Fatal(err)
	}
	if n := w.chain.Pending(); n != 0 {
		t.Fatalf("%d more were sent", n)
	}
}
