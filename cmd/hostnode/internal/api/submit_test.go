package api

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
)

func TestACommandToATruncatedQueueIsDecidedOnAllOfIt(t *testing.T) {
	store, codec, at := events.NewMemory(), catalog.Codec(), events.Unix(1_700_000_000)
	stream := events.SlotQueueStream(events.Address{1})
	w := writer{store: store, meta: events.Metadata{Causation: "operator"}}
	ask := func(c slotqueue.Command) (stored uint64) {
		t.Helper()
		if err := submit(t.Context(), w, stream, queue, c); err != nil {
			t.Fatal(err)
		}
		_, stored, err := load(t.Context(), store, codec, stream, queue)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	ask(slotqueue.Pause{At: at, Reason: "maintenance"})
	for n := range uint64(2) { // Nothing of the pause can be read behind the second.
		ask(slotqueue.Queue{At: at, RequestID: events.RequestID{byte(n)}, SlotIndices: []uint64{0}})
		state, stored, err := load(t.Context(), store, codec, stream, queue)
		if err != nil || stored != n+2 {
			t.Fatalf("%d events, %v", stored, err)
		}
		var last events.Recorded
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
	if err := snapshot.Truncate(t.Context(), store, stream, 2); err != nil {
		t.Fatal(err)
	}
	if n := ask(slotqueue.Pause{At: at, Reason: "again"}); n != 3 {
		t.Fatalf("a pause of a paused queue led to an event: %d", n)
	}
	if n := ask(slotqueue.Resume{At: at, Reason: "done"}); n != 4 {
		t.Fatalf("the queue did not know that it was paused: %d events", n)
	}
}
