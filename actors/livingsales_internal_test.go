package actors

import (
	"context"
	"iter"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestAListOfLivingSalesIsOfTheStoreItWasMadeIn(t *testing.T) {
	here, there := storetest.NewMemory(), storetest.NewMemory()
	codec := catalog.Codec()
	begin := func(store events.Store, slot byte, n int) {
		t.Helper()
		stream := events.SaleStream(snapshotHost, events.SlotID{slot})
		var m proto.Message
		for e := range codec.Entries() {
			if e.Name == "SaleStarted" {
				m = e.Example
			}
		}
		name, version, data, err := codec.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Append(t.Context(), stream, events.ExpectNext(uint64(n)), []events.NewEvent{{
			ID: events.NewEventID(stream, "test", n), Type: name, Data: data, Meta: events.Metadata{Version: version},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	begin(here, 1, 0)
	begin(there, 2, 0) // The same events in another order.
	begin(there, 1, 0)
	e := bareBase(here)
	s, err := readLivingSales(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]events.Store{"here": here, "there": there} {
		e.Store = store
		if err := saverOf(e, s).save(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := LivingSales(t.Context(), store, snapshotHost)
		if want := map[string]int{"here": 1, "there": 2}[name]; err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// selecting is a store that filters events itself, and counts those that it hands out.
type selecting struct {
	events.Store
	handed *int
}

func (s selecting) ReadPrefixed(
	ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range events.ReadPrefixed(ctx, s.Store, after, prefixes) {
			if *s.handed++; !yield(r, err) {
				return
			}
		}
	}
}

// TestAStartReadsNothingOfOthersOnItsServer: a shared server may have many times as many events of others.
func TestAStartReadsNothingOfOthersOnItsServer(t *testing.T) {
	store, other := storetest.NewMemory(), events.Address{0xee}
	for i, stream := range []string{
		events.SaleStream(snapshotHost, events.SlotID{1}), events.HostStream(snapshotHost),
		events.SaleStream(other, events.SlotID{1}), events.HostStream(other), "theirs-1",
	} {
		_, err := store.Append(t.Context(), stream, events.NoStream(), []events.NewEvent{{
			ID: events.EventID{byte(i + 1)}, Type: "Something", Data: []byte(`{}`),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	handed := 0
	s, err := readLivingSales(t.Context(), bareBase(selecting{store, &handed}))
	if err != nil || handed != 2 || s.read != 5 || s.last.Position != 2 {
		t.Fatalf("%d events were read; up to %d, the last is at %d: %v", handed, s.read, s.last.Position, err)
	}
}

func TestAListThatMissesASaleIsNotSaved(t *testing.T) {
	store := storetest.NewMemory()
	stream := events.SaleStream(snapshotHost, events.SlotID{1})
	_, err := store.Append(t.Context(), stream, events.NoStream(), []events.NewEvent{{
		ID: events.EventID{1}, Type: "SaleStarted", Data: []byte(`{}`), Meta: events.Metadata{Version: 99},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := bareBase(store)
	s, err := readLivingSales(t.Context(), e)
	if err != nil || len(s.inOrder()) != 0 || !s.incomplete {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := saverOf(e, s).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if head, _ := store.Head(t.Context()); head != 1 {
		t.Fatalf("something was written: position %d", head)
	}
}
