package witness_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/witness"
)

type bench struct {
	*testing.T
	path  string
	inner *swapped
	store *witness.Store
}

// swapped is a server whose database is replaced while it runs.
type swapped struct{ *storetest.Memory }

func newBench(t *testing.T) *bench {
	b := &bench{T: t, path: filepath.Join(t.TempDir(), "seen"), inner: &swapped{storetest.NewMemory()}}
	b.open()
	return b
}

func (b *bench) open() {
	b.Helper()
	s, unread, err := witness.New(b.Context(), b.inner, b.path)
	if err != nil || unread != 0 {
		b.Fatalf("%d lines unread: %v", unread, err)
	}
	b.store = s
}

func (b *bench) put(stream string, at uint64, kind, data string) error {
	id := events.NewEventID(stream, fmt.Sprintf("%s %d", data, at), 0)
	_, err := b.store.Append(b.Context(), stream, events.ExpectNext(at),
		[]events.NewEvent{{ID: id, Type: kind, Data: []byte(data)}})
	return err
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// copied is a backup of the first n events.
func (b *bench) copied(n int) *storetest.Memory {
	b.Helper()
	c := storetest.NewMemory()
	if n == 0 { // A read takes it for no limit.
		return c
	}
	for e, err := range b.inner.ReadAll(b.Context(), 0, n) {
		b.must(err)
		_, err := c.Append(b.Context(), e.Stream, events.ExpectNext(e.Revision),
			[]events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data}})
		b.must(err)
	}
	return c
}

func (b *bench) filled() {
	b.Helper()
	b.must(b.put("host-x", 0, "Started", `{}`))
	b.must(b.put("capacity-x", 0, "AvailabilityCreated", `{"availabilityId":"0x01","totalSize":"5","enabled":true}`))
	b.must(b.put("sale-x-y", 0, "Started", `{}`))
	b.must(b.put("capacity-x", 1, "ReservationCreated", `{"reservationId":"0x02","slotId":"0x03"}`))
	b.must(b.put("host-x", 1, "Heartbeat", `{}`))
}

func short(stream string, had, has uint64) events.ShortStream {
	return events.ShortStream{Stream: stream, Had: had, Has: has}
}

func TestAStartNamesWhatTheStoreLacks(t *testing.T) {
	const offer = "0x01: 5 bytes for  s at , collateral , enabled"
	for n, want := range map[int]events.WentBack{
		5: {},
		4: {Streams: []events.ShortStream{short("host-x", 2, 1)}},
		3: {
			Streams:      []events.ShortStream{short("host-x", 2, 1), short("capacity-x", 2, 1)},
			Reservations: []string{"slot 0x03"},
		},
		0: {
			Streams: []events.ShortStream{short("host-x", 2, 0), short("capacity-x", 2, 0), short("sale-x-y", 1, 0)},
			Offers:  []string{offer}, Reservations: []string{"slot 0x03"},
		},
	} {
		t.Run(fmt.Sprintf("%d of 5 events", n), func(t *testing.T) {
			b := newBench(t)
			b.filled()
			b.inner.Memory = b.copied(n)
			b.open()
			got := b.store.Lost()
			if got.Ends.IsZero() != (n == 0 || got.None()) || got.Seen.IsZero() != got.None() {
				t.Fatalf("it ends at %s, seen at %s", got.Ends, got.Seen)
			}
			got.Ends, got.Seen = want.Ends, want.Seen
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			if n == 5 {
				return
			}
			b.must(b.put("host-x", uint64(min(n, 1)), "Started", `{"again":1}`))
			b.open()
			if b.store.Lost().None() {
				t.Fatal("a start that recorded nothing has forgotten what was lost")
			}
			b.must(b.store.Settle())
			b.must(b.put("host-x", uint64(min(n, 1))+1, "Heartbeat", `{"again":2}`))
			b.open()
			if lost := b.store.Lost(); !lost.None() {
				t.Fatalf("lost once more: %+v", lost)
			}
		})
	}
}

func TestAStoreThatGoesBackUnderItsHostTakesNothing(t *testing.T) {
	for name, notice := range map[string]func(b *bench) error{
		"an append to a stream that is short": func(b *bench) error { return b.put("host-x", 2, "Heartbeat", `{}`) },
		"a look at the head": func(b *bench) error {
			_, err := b.store.Head(b.Context())
			return err
		},
		"an append after one that lies before what was there": func(b *bench) error {
			b.must(b.put("sale-x-y", 1, "Filled", `{}`)) // It fits, and is the newest now.
			_, err := b.store.Head(b.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.filled()
			whole := b.inner.Memory
			b.inner.Memory = b.copied(3)
			if err := notice(b); !errors.Is(err, events.ErrAway) || !errors.Is(err, events.ErrWentBack) {
				t.Fatalf("%v, want it told that the store went back", err)
			}
			if err := b.put("market-x", 0, "BlocksScanned", `{}`); !errors.Is(err, events.ErrWentBack) {
				t.Fatalf("an append to another stream: %v", err)
			}
			if _, err := b.store.Head(b.Context()); !errors.Is(err, events.ErrWentBack) {
				t.Fatalf("the head: %v", err)
			}
			b.inner.Memory = whole
			if _, err := b.store.Head(b.Context()); err != nil {
				t.Fatalf("the right store is back: %v", err)
			}
		})
	}
}

func TestALineThatIsNoneIsPassedOver(t *testing.T) {
	b := newBench(t)
	b.filled()
	raw, err := os.ReadFile(b.path)
	b.must(err)
	b.must(os.WriteFile(b.path, append([]byte("garbage\n"), raw[:len(raw)-9]...), 0o600))
	b.inner.Memory = b.copied(3)
	s, unread, err := witness.New(t.Context(), b.inner, b.path)
	if err != nil || unread != 2 || len(s.Lost().Streams) != 1 {
		t.Fatalf("%d unread, %+v: %v", unread, s.Lost(), err)
	}
}

// TestWhatIsThereAfterALossIsRemembered: it may be lost as well.
func TestWhatIsThereAfterALossIsRemembered(t *testing.T) {
	b := newBench(t)
	b.filled()
	b.inner.Memory = b.copied(3)
	b.open()
	b.must(b.store.Settle())
	b.inner.Memory = storetest.NewMemory()
	b.open()
	if lost := b.store.Lost(); len(lost.Offers) != 1 || len(lost.Streams) != 3 || len(lost.Reservations) != 0 {
		t.Fatalf("lost: %+v", lost)
	}
}

// TestALossThatWasNoneIsTakenBack: the events are there as they were written, and not written anew.
func TestALossThatWasNoneIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		then func(b *bench, whole *storetest.Memory)
		none bool
	}{
		"they are there": {func(b *bench, whole *storetest.Memory) { b.inner.Memory = whole }, true},
		"they are not":   {func(*bench, *storetest.Memory) {}, false},
		"written anew": {func(b *bench, _ *storetest.Memory) {
			b.must(b.put("sale-x-z", 0, "Started", `{}`))
			b.must(b.put("capacity-x", 1, "ReservationCreated", `{"reservationId":"0x02","slotId":"0x03"}`))
			b.must(b.put("host-x", 1, "Heartbeat", `{}`))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.filled()
			whole := b.inner.Memory
			b.inner.Memory = b.copied(3)
			b.open()
			b.must(b.store.Settle())
			c.then(b, whole)
			b.must(b.store.LookAgain(t.Context()))
			if b.store.Lost().None() != c.none {
				t.Fatalf("lost: %+v", b.store.Lost())
			}
			if !c.none {
				return
			}
			b.must(b.put("host-x", 2, "Heartbeat", `{"again":1}`))
			b.inner.Memory = b.copied(3)
			b.open()
			if lost := b.store.Lost(); len(lost.Streams) != 2 || len(lost.Reservations) != 1 {
				t.Errorf("what was there is not remembered: %+v", lost)
			}
		})
	}
}
