package shell

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func TestTheRecordIsBackWhenTheLastFailingCallIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, moved := NewStoreWatch(fakeTime{}, quietLog(), noYield), 0
		r.Notify(func() { moved++ })
		first, second := r.Call(t.Context(), "sale-1"), r.Call(t.Context(), "sale-2")
		began := time.Now()
		for _, c := range []*StoreCall{first, second, first} {
			c.Failed(errDiskBusy)
			time.Sleep(time.Second)
		}
		want := StoreStatus{Away: true, Since: began, Reason: errDiskBusy.Error()}
		if diff := cmp.Diff(want, r.Now()); diff != "" || moved != 1 {
			t.Fatalf("told %d times: %s", moved, diff)
		}
		first.End()
		waited := make(chan error)
		go func() { waited <- r.Wait(t.Context(), "test") }()
		synctest.Wait()
		if !r.Away() || len(waited) != 0 {
			t.Fatal("the record is back, though a call fails")
		}
		second.End()
		if err := <-waited; err != nil || r.Away() || moved != 2 {
			t.Fatalf("not back (%v), told %d times", err, moved)
		}
		r.Call(t.Context(), "sale-3").End() // Calls that never failed change nothing.
		if err := r.Wait(t.Context(), "test"); err != nil || moved != 2 {
			t.Fatalf("%v, told %d times", err, moved)
		}
	})
}

func TestACallWithoutAnAnswerCountsAsFailingUntilItHasOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answer := NewStoreWatch(fakeTime{}, quietLog(), noYield), make(chan error)
		c := r.Call(t.Context(), "sale-1")
		done := make(chan error)
		go func() {
			done <- c.Repeat(func() error { return <-answer })
			c.End()
		}()
		time.Sleep(answerPatience - time.Millisecond)
		if r.Away() {
			t.Fatal("away before its time")
		}
		time.Sleep(2 * time.Millisecond)
		if s := r.Now(); !s.Away || s.Reason != errNoAnswer.Error() {
			t.Fatalf("%+v", s)
		}
		answer <- nil
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(2 * answerPatience)
		if r.Away() {
			t.Fatal("answered, and still away")
		}
	})
}

func TestAnAnswerThatCanNeverBeAnotherEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, final := range []error{
			events.ErrWrongRevision, events.ErrTooLarge, events.ErrMalformed, events.ErrClosed,
			events.ErrStreamDeleted, events.ErrDamaged, events.ErrNewerEvent, events.ErrUnknownEvent,
		} {
			r := NewStoreWatch(fakeTime{}, quietLog(), noYield)
			if err := r.Call(t.Context(), "").Repeat(func() error { return final }); !errors.Is(err, final) || r.Away() {
				t.Errorf("%v: ended with %v", final, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := NewStoreWatch(fakeTime{}, quietLog(), noYield).Call(ctx, "").Repeat(func() error { return errDiskBusy })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of its context: %v", err)
		}
	})
}

// brokenReads fails the next reads, as many as are left.
type brokenReads struct {
	events.Store
	left int
}

func (s *brokenReads) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if s.left--; s.left >= 0 {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, errDiskBusy) }
	}
	return s.Store.ReadStream(ctx, stream, q)
}

func TestAStreamThatCannotBeReadForNowIsReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		memory, got := storetest.NewMemory(), &answers{}
		tellNumbers(newCounter(memory).run(rt), got, 2)
		synctest.Wait()
		j := newCounter(&brokenReads{memory, 3})
		j.OnBroken = func(_ *Turn, err error) { t.Errorf("broken: %v", err) }
		tellNumbers(j.run(rt), got, 4)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if sums, errs := got.sums(); len(sums) != 2 || sums[1] != 6 || errs[1] != nil {
			t.Fatalf("answered %v, %v", sums, errs)
		}
	})
}

func TestAppendsStayBelowWhatEveryStoreTakes(t *testing.T) {
	for name, node := range map[string]string{"many": "n", "large": strings.Repeat("n", 10_000)} {
		bubble(t, func(t *testing.T, rt *Runtime) {
			store, got := held(), &answers{}
			j := newCounter(store)
			j.Meta = func(uint64, messages.CapacityEvent) events.Metadata { return events.Metadata{Node: node} }
			r := j.run(rt)
			const n = 10_000
			for range n {
				tellNumbers(r, got, 2)
			}
			synctest.Wait()
			for appended := 0; appended < n; {
				store.gate <- commits
				synctest.Wait()
				appended = stored(t, store)
			}
			bytes, most := 0, 0
			for _, batch := range store.asked {
				sum := 0
				for _, e := range batch {
					sum += e.Size()
				}
				bytes, most = max(bytes, sum), max(most, len(batch))
			}
			if bytes > events.PreferredAppendBytes || most > events.PreferredAppendEvents {
				t.Fatalf("%s: appends of up to %d bytes and %d events", name, bytes, most)
			}
			if bytes < events.PreferredAppendBytes/2 && most < events.PreferredAppendEvents {
				t.Fatalf("%s: appends of only %d bytes and %d events", name, bytes, most)
			}
		})
	}
}

func TestFewCommandsWaitWhileTheRecordIsAwayButThoseThatAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		j := newCounter(store)
		j.Keeps = func(n uint64) bool { return n == 4 }
		r := j.run(rt)
		tellNumbers(r, got, 2)
		store.gate <- failsForNow
		synctest.Wait()
		for range maxWaitingAway {
			tellNumbers(r, got, 2)
		}
		synctest.Wait()
		if _, errs := got.sums(); len(errs) != 0 {
			t.Fatalf("answered %v", errs)
		}
		tellNumbers(r, got, 2, 4)
		synctest.Wait()
		if _, errs := got.sums(); len(errs) != 1 || !errors.Is(errs[0], ErrStoreAway) {
			t.Fatalf("answered %v", errs)
		}
		store.gate <- commits
		store.gate <- commits
		synctest.Wait()
		sums, errs := got.sums()
		if want := uint64(2 + 2*maxWaitingAway + 4); len(sums) != 3+maxWaitingAway-1+1 || sums[len(sums)-1] != want {
			t.Fatalf("%d answers, the last %d (%v), want %d", len(sums), sums[len(sums)-1], errs[len(errs)-1], want)
		}
	})
}

func TestKeptCommandsAreDecidedAgainWhenSomebodyElseWrote(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store, got := held(), &answers{}
		j := newCounter(store)
		j.Keeps = func(n uint64) bool { return n == 4 }
		r := j.run(rt)
		tellNumbers(r, got, 2)
		synctest.Wait()
		tellNumbers(r, got, 4, 6)
		synctest.Wait()
		writeElse(t, store, 100)
		store.gate <- commits // It is refused; what is kept is appended next.
		store.gate <- commits
		synctest.Wait()
		sums, errs := got.sums()
		if len(sums) != 3 || !errors.Is(errs[0], ErrReloading) || !errors.Is(errs[1], ErrReloading) {
			t.Fatalf("answered %v, %v", sums, errs)
		}
		if sums[2] != 104 || errs[2] != nil {
			t.Fatalf("what is kept brought %d, %v; want it on top of what another process wrote", sums[2], errs[2])
		}
	})
}

// writeElse makes another process write to the counter's stream.
func writeElse(t *testing.T, store *slowStore, sum uint64) {
	t.Helper()
	name, version, data, err := newCounter(store).Codec.Encode(&messages.QuotaSet{Bytes: sum})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Store.Append(t.Context(), counted, events.NoStream(), []events.NewEvent{{
		ID: events.NewEventID(counted, "other", 0), Type: name, Data: data, Meta: events.Metadata{Version: version},
	}}); err != nil {
		t.Fatal(err)
	}
}
