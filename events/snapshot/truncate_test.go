package snapshot_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestOnlyAStreamThatNoAuditRestsOnIsTruncated(t *testing.T) {
	store := storetest.NewMemory()
	me := events.Address{1}
	audited := []string{
		events.HostStream(me), events.MarketStream(1, me), events.CapacityStream(me), events.TxStream(me),
		events.LedgerStream(me, "north"), events.SnapshotStream(events.LedgerStream(me, "north")),
		events.SaleStream(me, events.SlotID{1}), events.SnapshotStream(events.SlotQueueStream(me)),
		events.MetadataStream(events.SlotQueueStream(me)), "$ce-slotqueue", "sector-1", "",
	}
	for _, stream := range audited {
		if err := snapshot.Truncate(t.Context(), store, streams, stream, 1); !errors.Is(err, snapshot.ErrNeverTruncated) {
			t.Errorf("truncate %q: %v", stream, err)
		}
	}
	if head, err := store.Head(t.Context()); head != 0 || err != nil {
		t.Fatalf("something was written: position %d, %v", head, err)
	}
}

func revisions(t *testing.T, tail iter.Seq2[events.Recorded, error]) (list []uint64, err error) {
	t.Helper()
	for r, err := range tail {
		if err != nil {
			return list, err
		}
		list = append(list, r.Revision)
	}
	return list, nil
}

func TestTruncatingHidesAndNeverShowsAgain(t *testing.T) {
	store := storetest.NewMemory()
	fill(t, store, 10)
	acl := events.StreamMetadata{ACL: &events.ACL{Read: []string{"auditor"}}}
	_, err := store.Append(t.Context(), events.MetadataStream(queue), events.NoStream(), []events.NewEvent{{
		ID: events.EventID{1}, Type: events.TypeMetadata, Data: acl.Marshal(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ before, first, writes uint64 }{{0, 0, 0}, {4, 4, 1}, {2, 4, 0}, {4, 4, 0}, {9, 9, 1}} {
		head, _ := store.Head(t.Context())
		if err := snapshot.Truncate(t.Context(), store, streams, queue, step.before); err != nil {
			t.Fatal(err)
		}
		after, _ := store.Head(t.Context())
		list, err := revisions(t, store.ReadStream(t.Context(), queue, events.ReadStream{}))
		if err != nil || list[0] != step.first || uint64(after-head) != step.writes {
			t.Fatalf("truncated before %d: %v, %v, %d writes", step.before, list, err, after-head)
		}
	}
	for r, err := range store.ReadStream(t.Context(), events.MetadataStream(queue), events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m, err := events.ParseStreamMetadata(r.Data); err != nil || m.ACL == nil || m.TruncateBefore != 9 {
			t.Fatalf("the metadata is %s, %v", r.Data, err)
		}
	}
}

// scavenged is a store that has removed hidden events.
type scavenged struct{ events.Store }

func (s scavenged) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range s.Store.ReadAll(ctx, after, limit) {
			if hidden := err == nil && r.Stream == queue && r.Revision < 6; !hidden && !yield(r, err) {
				return
			}
		}
	}
}

func TestATailHasNoGap(t *testing.T) {
	store := storetest.NewMemory()
	fill(t, store, 10)
	if err := snapshot.Truncate(t.Context(), store, streams, queue, 6); err != nil {
		t.Fatal(err)
	}
	for from := range uint64(12) {
		list, err := revisions(t, snapshot.Tail(t.Context(), store, queue, from))
		if err != nil || len(list) != max(10-int(from), 0) {
			t.Fatalf("from %d: %v, %v", from, list, err)
		}
		for i, r := range list {
			if r != from+uint64(i) {
				t.Fatalf("from %d: %v", from, list)
			}
		}
		_, err = revisions(t, snapshot.Tail(t.Context(), scavenged{store}, queue, from))
		if errors.Is(err, snapshot.ErrTruncated) != (from < 6) {
			t.Fatalf("from %d, with nothing hidden in the log: %v", from, err)
		}
	}
	if list, err := revisions(t, snapshot.Tail(t.Context(), store, "slotqueue-none", 0)); len(list) > 0 || err != nil {
		t.Fatalf("a stream that does not exist: %v, %v", list, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := revisions(t, snapshot.Tail(t.Context(), store, queue, 0)); !errors.Is(err, events.ErrClosed) {
		t.Fatalf("%v", err)
	}
}
