package chain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

// member is one of several processes that own an account in turn: it has an outbox, a way to the record and
// a node of its own.
type member struct {
	*guarded
	dir   string
	store *refusing
	gate  *gate
}

// refusing is a way to the record that may refuse appends.
type refusing struct {
	*storetest.Memory
	mu  sync.Mutex
	why func(batch []events.NewEvent) error
}

func (s *refusing) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.mu.Lock()
	why := s.why
	s.mu.Unlock()
	if why != nil {
		if err := why(batch); err != nil {
			return events.AppendResult{}, err
		}
	}
	return s.Memory.Append(ctx, stream, expected, batch)
}

func (s *refusing) refuses(why func([]events.NewEvent) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = why
}

func allAppends([]events.NewEvent) error { return events.ErrAway }

// attempts refuses events of transactions that are about to be sent.
func attempts(batch []events.NewEvent) error {
	if slices.ContainsFunc(batch, func(e events.NewEvent) bool { return e.Type == "TxSent" }) {
		return events.ErrAway
	}
	return nil
}

const leftAlone = 4 // blocks

// newMember is a member that owns the account now. dir is its outbox; its node may have a fault from the
// beginning.
func (w *world) newMember(dir string, record *storetest.Memory, faults ...nodetest.Fault) *member {
	w.t.Helper()
	m := &member{dir: dir, store: &refusing{Memory: record}, gate: newGate(w.t, w.chain.Attach())}
	for _, fault := range faults {
		m.gate.has(fault)
	}
	m.guarded = w.must(w.beginsWith(m.store, m.dir, func(cfg *chain.Config) {
		cfg.RecordFirst, cfg.UnknownNonceBlocks = true, leftAlone
		cfg.Endpoint = m.gate.server.URL
	}))
	return m
}

// cutOff is what a crash looks like to others, except that it can be undone: the member reaches neither the record
// nor the chain.
func (w *world) cutOff(m *member) {
	m.store.refuses(allAppends)
	m.gate.set(true, false)
	w.markets = slices.DeleteFunc(w.markets, func(o *chain.Market) bool { return o == m.Market })
}

// reserving reserves in the background.
func (w *world) reserving(m *member, call events.SlotCall) chan error {
	return later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
}

// sendingOf is historyOf without the beginnings of owners.
func sendingOf(t *testing.T, record *storetest.Memory, who events.Address) []string {
	t.Helper()
	return slices.DeleteFunc(historyOf(t, record, who), func(name string) bool { return name == "TxCountObserved" })
}

// attemptsIn are the hashes of the recorded attempts.
func attemptsIn(record *storetest.Memory, who events.Address) (map[string]bool, error) {
	codec, all := events.NewCodec(transactions.Table()), map[string]bool{}
	for e, err := range record.ReadStream(context.Background(), events.TxStream(who), events.ReadStream{}) {
		if err != nil {
			return nil, err
		}
		m, err := codec.Decode(e)
		if err != nil {
			return nil, err
		}
		if sent, ok := m.(*messages.TxSent); ok {
			all[sent.GetTxHash()] = true
		}
	}
	return all, nil
}

func TestWithRecordFirstEachAttemptIsInTheRecordBeforeANodeHasIt(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	record := storetest.NewMemory()
	m := w.newMember(t.TempDir(), record)
	m.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_sendRawTransaction" {
			hash := events.Hash(decodeTx(r.Param(0)).Hash()).String()
			if recorded, err := attemptsIn(record, m.Account()); err != nil || !recorded[hash] {
				t.Errorf("%s is sent and not recorded: %v", hash, err)
			}
		}
		return node(r)
	})
	call, period := w.duePeriod(m.Market)
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(2))
		return err
	})
	if n := m.gate.sent(); n < 4 { // Reserve, approve, fill, proof.
		t.Fatalf("%d transactions were sent", n)
	}
}

func TestWithRecordFirstAnAttemptThatTheRecordRefusesIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	record := storetest.NewMemory()
	m := w.newMember(t.TempDir(), record)
	r := w.request()
	w.reserve(m.Market, "host", callFor(r, 0))
	sent := m.gate.sent()
	m.store.refuses(attempts)
	call := callFor(r, 1)
	done := w.reserving(m, call)
	w.await("it is to be recorded", func() bool { _, why := m.RecordAway(); return why != nil })
	for range 3 {
		w.sealStep()
	}
	if n := m.gate.sent() - sent; n != 0 {
		t.Fatalf("%d were sent", n)
	}
	m.store.refuses(nil)
	if err := w.sealUntilDone(done); err != nil || w.nonce("host") != 2 {
		t.Fatalf("afterwards: %v, %d transactions", err, w.nonce("host"))
	}
}

func TestWhileTheStoreIsAwayAProofGoesOutAndAReservationWaits(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	record := storetest.NewMemory()
	m := w.newMember(t.TempDir(), record)
	call, period := w.duePeriod(m.Market)
	w.await("the record is complete", func() bool { return len(sendingOf(t, record, m.Account())) == 9 })
	r := w.request()
	m.store.refuses(allAppends)
	done := w.reserving(m, callFor(r, 0))
	w.await("the store is away", func() bool { _, why := m.RecordAway(); return why != nil })
	before := w.nonce("host")
	w.drive("host", func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(2))
		return err
	})
	for range 3 {
		w.sealStep()
	}
	if n := w.nonce("host") - before; n != 1 || w.waiting("host") {
		t.Fatalf("%d transactions were mined, want the proof", n)
	}
	late := callFor(r, 1)
	late.Deadline = w.chain.Head().Time.Add(8 * time.Second)
	err := w.sealUntilDone(w.reserving(m, late))
	if !errors.Is(err, events.ErrDeadlinePassed) || !strings.Contains(err.Error(), "event store") {
		t.Fatalf("one that waited too long: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := m.Submit(ctx, tx.Call{Key: "free:x", To: common.Address{1}, Gas: 30_000})
		gaveUp <- err
	}()
	w.await("it is heard", func() bool { return strings.Contains(outboxOf(t, m), "free:x") })
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) || !errors.Is(err, events.ErrAway) {
		t.Fatalf("who gave up is told %v", err)
	}
	m.store.refuses(nil)
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
}

// The event store goes away between the choice of a nonce and its record; a proof must not wait for that.
func TestACallThatWaitsForTheRecordMakesWayForAProof(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 10_000_000)
	record := storetest.NewMemory()
	m := w.newMember(t.TempDir(), record)
	call, period := w.duePeriod(m.Market)
	p := &pool{takes: everything}
	m.gate.has(p.answer)
	r := w.request()
	held := make(chan struct{})
	m.store.refuses(func(batch []events.NewEvent) error {
		if attempts(batch) != nil {
			<-held // The answer takes its time, so that the store does not count as away.
			return events.ErrAway
		}
		return nil
	})
	nonce := w.nonce("host")
	done := w.reserving(m, callFor(r, 0))
	w.await("it has a nonce", func() bool { return strings.Contains(outboxOf(t, m), `"nonce":`+quoted(nonce)) })
	proof := later(w, func(ctx context.Context) (events.Receipt, error) {
		return m.SubmitProof(ctx, call, period, goodProof(2))
	})
	w.await("the proof has the next one", func() bool {
		return strings.Contains(outboxOf(t, m), `"nonce":`+quoted(nonce+1))
	})
	close(held)
	if err := w.sealUntilDone(proof); err != nil {
		t.Fatal(err)
	}
	if err := w.sealUntilDone(done); !errors.Is(err, events.ErrAway) {
		t.Fatalf("the reservation ends with %v", err)
	}
	for _, sent := range p.seen(nonce) {
		if len(sent.Data()) > 0 {
			t.Fatal("the reservation was sent and not recorded")
		}
	}
	m.store.refuses(nil)
	w.reserve(m.Market, "host", callFor(r, 0))
	if failed := m.Failure(); failed != nil {
		t.Fatal(failed)
	}
}

func TestADeposedOwnerSendsNothingAnyMore(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	record := storetest.NewMemory()
	old := w.newMember(t.TempDir(), record)
	r := w.request()
	w.reserve(old.Market, "host", callFor(r, 0))
	w.await("the record is complete", func() bool { return len(sendingOf(t, record, old.Account())) == 3 })
	fresh := w.newMember(t.TempDir(), record)
	w.reserve(fresh.Market, "host", callFor(r, 1))
	sent := old.gate.sent()
	if _, err := old.ReserveSlot(t.Context(), callFor(w.request(), 0)); !errors.Is(err, tx.ErrTakenOver) {
		t.Fatalf("the deposed owner answers %v", err)
	}
	<-old.Failed()
	if n := old.gate.sent() - sent; n != 0 || !errors.Is(old.Failure(), tx.ErrTakenOver) {
		t.Fatalf("it sent %d and failed with %v", n, old.Failure())
	}
	w.end(old.guarded)
	// It may own the account again later: nothing is refused for good.
	again := w.newMember(old.dir, record)
	w.reserve(again.Market, "host", callFor(w.request(), 0))
	if n := w.nonce("host"); n != 3 {
		t.Fatalf("%d transactions were mined, want 3", n)
	}
	if diff := cmp.Diff([]int{0, 0, 0}, []int{len(old.told()), len(fresh.told()), len(again.told())}); diff != "" {
		t.Fatalf("another user of the account was seen: %s", diff)
	}
}

// The new owner has sent nothing yet.
func TestADeposedOwnerLearnsItEvenFromAnIdleOne(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	record := storetest.NewMemory()
	old := w.newMember(t.TempDir(), record)
	r := w.request()
	w.reserve(old.Market, "host", callFor(r, 0))
	w.await("the record is complete", func() bool { return len(sendingOf(t, record, old.Account())) == 3 })
	fresh := w.newMember(t.TempDir(), record)
	w.await("it has begun", func() bool { return len(eventsOf(t, record, old.Account())) == 5 })
	sent := old.gate.sent()
	if _, err := old.ReserveSlot(t.Context(), callFor(r, 1)); !errors.Is(err, tx.ErrTakenOver) || old.gate.sent() != sent {
		t.Fatalf("the deposed owner answers %v and sent %d", err, old.gate.sent()-sent)
	}
	w.reserve(fresh.Market, "host", callFor(r, 1))
}

func TestTheNextOwnerSendsWhatTheLastOneOnlyRecorded(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	record := storetest.NewMemory()
	old := w.newMember(t.TempDir(), record)
	call := callFor(w.request(), 0)
	old.gate.set(false, true) // What it sends is lost.
	done := w.reserving(old, call)
	w.await("it was sent", func() bool { return old.gate.sent() > 0 })
	w.cutOff(old)
	fresh := w.newMember(t.TempDir(), record)
	w.reserve(fresh.Market, "host", call)
	if n := w.nonce("host"); n != 1 || len(fresh.told()) != 0 {
		t.Fatalf("%d transactions were mined, told %v", n, fresh.told())
	}
	if diff := cmp.Diff(wholeTransaction(), sendingOf(t, record, fresh.Account())); diff != "" {
		t.Fatal(diff)
	}
	old.gate.set(false, false)
	old.store.refuses(nil)
	<-old.Failed()
	if err := <-done; err != nil && !errors.Is(err, tx.ErrTakenOver) { // It was mined, whichever process sent it.
		t.Fatalf("the last owner answers %v", err)
	}
}
