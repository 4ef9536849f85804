package actors

import (
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
	e := bareEnv(here)
	s, err := readLivingSales(t.Context(), e.Base)
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]events.Store{"here": here, "there": there} {
		e.Store = store
		if err := (&livingSalesSaver{env: e, living: s}).save(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := LivingSales(t.Context(), store, snapshotHost)
		if want := map[string]int{"here": 1, "there": 2}[name]; err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
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
	e := bareEnv(store)
	s, err := readLivingSales(t.Context(), e.Base)
	if err != nil || len(s.inOrder()) != 0 || !s.incomplete {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := (&livingSalesSaver{env: e, living: s}).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if head, _ := store.Head(t.Context()); head != 1 {
		t.Fatalf("something was written: position %d", head)
	}
}
