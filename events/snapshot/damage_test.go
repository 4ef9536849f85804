package snapshot_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
)

// copied is the store again, with one event of the snapshots changed.
func copied(t testing.TB, from events.Store, change func(n int, data []byte) []byte) events.Store {
	t.Helper()
	to := storetest.NewMemory()
	n := 0
	for r, err := range from.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		e := events.NewEvent{ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta}
		if r.Stream == kept {
			if e.Data = change(n, r.Data); e.Data == nil {
				continue
			}
			n++
		}
		if _, err := to.Append(t.Context(), r.Stream, events.Any(), []events.NewEvent{e}); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// Whatever bytes of a snapshot are damaged, whatever part is lost: what is
// loaded is one of the states that were saved, under its own last event.
func TestDamageNeverChangesWhatIsLoaded(t *testing.T) {
	store := storetest.NewMemory()
	at := fill(t, store, 10)
	saved := map[snapshot.Event][][]byte{at(3): state(3, 3, 40), at(8): state(8, 4, 40)}
	save(t, store, at(3), saved[at(3)])
	save(t, store, at(8), saved[at(8)])
	rapid.Check(t, func(r *rapid.T) {
		victim := rapid.IntRange(0, 6).Draw(r, "part")
		lost := rapid.IntRange(0, 9).Draw(r, "lost") == 0
		damaged := copied(t, store, func(n int, data []byte) []byte {
			if n != victim {
				return data
			}
			if lost {
				victim = -1
				return nil
			}
			data = bytes.Clone(data)
			for range rapid.IntRange(1, 3).Draw(r, "flips") {
				data[rapid.IntRange(0, len(data)-1).Draw(r, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
			}
			return data
		})
		got, found := load(t, reader(damaged))
		if !found.Usable {
			r.Fatalf("one damaged part cost both snapshots: %v", found.Ignored)
		}
		if !slices.EqualFunc(got, saved[found.Last], bytes.Equal) {
			r.Fatalf("loaded %x as the state up to %v", got, found.Last)
		}
	})
}

func TestAStoreThatDoesNotAnswerIsNoMissingSnapshot(t *testing.T) {
	store := storetest.NewMemory()
	at := fill(t, store, 10)
	save(t, store, at(3), state(3, 1, 4))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader(store).Load(t.Context(), nil); !errors.Is(err, events.ErrClosed) {
		t.Fatalf("%v", err)
	}
	_, err := writer(store).Save(t.Context(), snapshot.Snapshot{Schema: schema, Last: at(4), Pieces: state(1, 1, 1)}, events.Unix(1))
	if !errors.Is(err, events.ErrClosed) {
		t.Fatalf("%v", err)
	}
}
