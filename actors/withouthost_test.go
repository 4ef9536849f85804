package actors_test

import (
	"testing"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestACommandToATruncatedQueueIsDecidedOnAllOfIt(t *testing.T) {
	store, codec, at := storetest.NewMemory(), catalog.Codec(), events.Unix(1_700_000_000)
	stream := events.SlotQueueStream(events.Address{1})
	record := actors.NewRecord(store, events.Address{1}, "", 1, "here")
	whole := func() (state slotqueue.State, stored uint64) {
		t.Helper()
		state = slotqueue.New(slotqueue.Limits{})
		for r, err := range snapshot.Tail(t.Context(), store, stream, 0) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := shell.DecodeAs[slotqueue.Event](codec, r)
			if err != nil {
				t.Fatal(err)
			}
			state, stored = slotqueue.Evolve(state, e), r.Revision+1
		}
		return state, stored
	}
	ask := func(c slotqueue.Command) uint64 {
		t.Helper()
		if err := record.Queue(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, stored := whole()
		return stored
	}
	ask(slotqueue.Pause{At: at, Reason: "maintenance"})
	for n := range uint64(2) { // After the second, nothing of the pause can be read.
		ask(slotqueue.Queue{At: at, RequestID: events.RequestID{byte(n)}, SlotIndices: []uint64{0}})
		state, stored := whole()
		if stored != n+2 {
			t.Fatalf("%d events", stored)
		}
		var last events.Recorded
		var err error
		for last, err = range store.ReadStream(t.Context(), stream, events.ReadStream{From: stored - 1}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err = snapshot.Writer{Store: store, Codec: codec, Stream: events.SnapshotStream(stream)}.Save(
			t.Context(), snapshot.Snapshot{
				Schema: slotqueue.StateSchema, Pieces: state.Pieces(),
				Last: snapshot.Event{Stream: stream, Revision: last.Revision, ID: last.ID},
			}, at)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := snapshot.Truncate(t.Context(), store, catalog.Streams(), stream, 2); err != nil {
		t.Fatal(err)
	}
	if n := ask(slotqueue.Pause{At: at, Reason: "again"}); n != 3 {
		t.Fatalf("a pause of a paused queue led to an event: %d", n)
	}
	if n := ask(slotqueue.Resume{At: at, Reason: "done"}); n != 4 {
		t.Fatalf("the queue did not know that it was paused: %d events", n)
	}
}
