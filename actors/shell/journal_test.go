package shell

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func held() *slowStore {
	return &slowStore{Store: storetest.NewMemory(), gate: make(chan func(func() error) error)}
}

func sizes(s *slowStore) (n []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batch := range s.asked {
		n = append(n, len(batch))
	}
	return n
}

func TestCommandsThatComeDuringAnAppendGoOutAsOne(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		r := newCounter(store).run(rt)
		tellNumbers(r, got, 2)
		synctest.Wait()
		tellNumbers(r, got, 4, 6, 8)
		synctest.Wait()
		if sums, _ := got.sums(); len(sums) != 0 {
			t.Fatalf("answered %v before anything was durable", sums)
		}
		store.gate <- commits
		synctest.Wait()
		if sums, _ := got.sums(); !cmp.Equal(sums, []uint64{2}) {
			t.Fatalf("answered %v after the first append", sums)
		}
		store.gate <- commits
		synctest.Wait()
		if diff := cmp.Diff([]int{1, 3}, sizes(store)); diff != "" {
			t.Fatalf("appends: %s", diff)
		}
		if sums, _ := got.sums(); !cmp.Equal(sums, []uint64{2, 20, 20, 20}) {
			t.Fatalf("answered %v, want the durable sum", sums)
		}
	})
}

func TestEachEventOfABatchIsSeenWithItsOwnState(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store := held()
		var seen []uint64
		j := newCounter(store)
		j.Each = func(messages.CapacityEvent) { seen = append(seen, j.Durable) }
		r := j.run(rt)
		tellNumbers(r, &answers{}, 2)
		synctest.Wait()
		tellNumbers(r, &answers{}, 4, 6, 8)
		for range 2 {
			store.gate <- commits
			synctest.Wait()
		}
		if diff := cmp.Diff([]uint64{2, 6, 12, 20}, seen); diff != "" {
			t.Fatalf("the states of the events: %s", diff)
		}
	})
}

func TestAnAnswerThatRestsOnAnAppendWaitsForIt(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		r := newCounter(store).run(rt)
		synctest.Wait()
		tellNumbers(r, got, 0, 1) // Nothing in flight: these rest on nothing.
		synctest.Wait()
		if _, errs := got.sums(); len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], errOdd) {
			t.Fatalf("answered %v at once", errs)
		}
		tellNumbers(r, got, 2, 1, 0)
		synctest.Wait()
		if sums, _ := got.sums(); len(sums) != 2 {
			t.Fatalf("%d answers, though an append is in flight", len(sums))
		}
		store.gate <- commits
		synctest.Wait()
		sums, errs := got.sums()
		if len(sums) != 5 || sums[2] != 2 || !errors.Is(errs[3], errOdd) || sums[4] != 2 {
			t.Fatalf("answered %v, %v", sums, errs)
		}
		if n := sizes(store); len(n) != 1 {
			t.Fatalf("answers alone were appended: %v", n)
		}
	})
}

func TestTemporaryFailureIsTriedAgainWithTheSameIds(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		r := newCounter(store).run(rt)
		tellNumbers(r, got, 2)
		store.gate <- failsForNow
		store.gate <- losesTheAnswer
		store.gate <- commits
		synctest.Wait()
		if sums, errs := got.sums(); !cmp.Equal(sums, []uint64{2}) || errs[0] != nil {
			t.Fatalf("answered %v, %v", sums, errs)
		}
		if diff := cmp.Diff(store.asked[0], store.asked[2]); diff != "" {
			t.Fatalf("the third try differs: %s", diff)
		}
		if n := stored(t, store); n != 1 {
			t.Fatalf("%d events are stored", n)
		}
	})
}

func stored(t *testing.T, store events.Store) (n int) {
	t.Helper()
	for _, err := range store.ReadStream(context.Background(), counted, events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestWhenSomebodyElseWroteAllIsRefusedAndReadAnew(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		j := newCounter(store)
		r := j.run(rt)
		tellNumbers(r, got, 2)
		synctest.Wait()
		tellNumbers(r, got, 4, 6)
		synctest.Wait()
		writeElse(t, store, 100)
		store.gate <- commits
		synctest.Wait()
		_, errs := got.sums()
		if len(errs) != 3 {
			t.Fatalf("%d answers", len(errs))
		}
		for _, err := range errs {
			if !errors.Is(err, ErrReloading) {
				t.Fatalf("answered %v, want that it reloads", err)
			}
		}
		tellNumbers(r, got, 2)
		store.gate <- commits
		synctest.Wait()
		if sums, errs := got.sums(); errs[3] != nil || sums[3] != 102 {
			t.Fatalf("after the reload: %d, %v", sums[3], errs[3])
		}
	})
}

func TestAFailureForGoodRefusesAllThatWasDecided(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		r := newCounter(store).run(rt)
		tellNumbers(r, got, 2)
		synctest.Wait()
		tellNumbers(r, got, 4)
		synctest.Wait()
		store.gate <- func(func() error) error { return events.ErrTooLarge }
		synctest.Wait()
		_, errs := got.sums()
		if len(errs) != 2 || !errors.Is(errs[0], events.ErrTooLarge) || !errors.Is(errs[1], events.ErrTooLarge) {
			t.Fatalf("answered %v", errs)
		}
		tellNumbers(r, got, 6)
		store.gate <- commits
		synctest.Wait()
		if sums, _ := got.sums(); sums[2] != 6 {
			t.Fatalf("the sum is %d, want it without what was refused", sums[2])
		}
	})
}

func TestCommandsAndLooksWaitForTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		memory, got := storetest.NewMemory(), &answers{}
		first := newCounter(memory).run(rt)
		tellNumbers(first, got, 2)
		synctest.Wait()
		store := heldStore{memory, make(chan struct{})}
		second := newCounter(store).run(rt)
		looked := []uint64{}
		second.Tell(counterQuery{func(sum uint64) { looked = append(looked, sum) }})
		tellNumbers(second, got, 4)
		synctest.Wait()
		if sums, _ := got.sums(); len(sums) != 1 || len(looked) != 0 {
			t.Fatalf("answered %v, looked at %v before the record was read", sums, looked)
		}
		close(store.open)
		synctest.Wait()
		if sums, _ := got.sums(); len(sums) != 2 || sums[1] != 6 || !cmp.Equal(looked, []uint64{2}) {
			t.Fatalf("answered %v, looked at %v", sums, looked)
		}
	})
}

func TestTwoJournalsOfOneActorTakeWhatIsTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		memory, got := storetest.NewMemory(), &answers{}
		one, two := newCounter(memory), newCounter(memory)
		two.Stream = "capacity-0x0000000000000000000000000000000000000002"
		rt.Root("both", behaviorFunc(func(a *Turn, msg any) {
			if _, is := msg.(Started); is {
				two.Load(a)
				one.Load(a)
				one.Submit(a, 2, "test", got.take)
				two.Submit(a, 4, "test", got.take)
			}
			_ = one.Handle(a, msg) || two.Handle(a, msg)
		}))
		synctest.Wait()
		if sums, _ := got.sums(); len(sums) != 2 || one.Durable != 2 || two.Durable != 4 || two.Stored != 1 {
			t.Fatalf("answered %v; the sums are %d and %d", sums, one.Durable, two.Durable)
		}
	})
}

func TestTooManyWaitingCommandsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		got := &answers{}
		j := newCounter(heldStore{storetest.NewMemory(), make(chan struct{})})
		j.backlog = make([]command[uint64, uint64, messages.CapacityEvent], maxWaiting-1)
		r := j.run(rt)
		tellNumbers(r, got, 2, 4)
		synctest.Wait()
		if _, errs := got.sums(); len(errs) != 1 || !errors.Is(errs[0], ErrOverloaded) {
			t.Fatalf("answered %v, want one refusal", errs)
		}
	})
}

func TestARecordThatCannotBeReadIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		memory := storetest.NewMemory()
		if _, err := memory.Append(t.Context(), counted, events.NoStream(), []events.NewEvent{{
			ID: events.NewEventID(counted, "other", 0), Type: "FromTheFuture", Data: []byte("{}"),
		}}); err != nil {
			t.Fatal(err)
		}
		j := newCounter(memory)
		var broken error
		j.OnBroken = func(_ *Turn, err error) { broken = err }
		j.run(rt)
		synctest.Wait()
		if !errors.Is(broken, events.ErrUnknownEvent) {
			t.Fatalf("told %v", broken)
		}
	})
}

func TestAPauseBetweenTriesIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		tellNumbers(newCounter(store).run(rt), got, 2)
		began := time.Now()
		for range 10 {
			store.gate <- failsForNow
		}
		store.gate <- commits
		synctest.Wait()
		took := time.Since(began)
		if sums, _ := got.sums(); len(sums) != 1 || took < 5*time.Second || took > 10*appendRetryMost {
			t.Fatalf("%d answers after %s", len(sums), took)
		}
	})
}

func TestTheEventThatLedToACommandIsNamedAndIsNoPartOfTheIds(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var ids []events.EventID
		for name, by := range map[string]events.EventID{"": {}, "07000000-0000-0000-0000-000000000000": {7}} {
			store := &slowStore{Store: storetest.NewMemory()}
			newCounter(store).run(rt).Tell(counterCommand{
				n: 2, by: by, reply: func(Result[uint64, messages.CapacityEvent]) {},
			})
			synctest.Wait()
			stored := store.asked[0][0]
			if stored.Meta.Cause != "test" || stored.Meta.Causation != name {
				t.Errorf("by %s: metadata %s", by, stored.Meta.Marshal())
			}
			ids = append(ids, stored.ID)
		}
		if ids[0] != ids[1] {
			t.Errorf("one decision has the ids %s", ids)
		}
	})
}
