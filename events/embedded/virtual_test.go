package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// TestVerifyFindsWhatIsWrongBesideTheEvents changes heads and virtual streams.
func TestVerifyFindsWhatIsWrongBesideTheEvents(t *testing.T) {
	entry := func(stream string, n uint64, position events.Position) func(*testing.T, *pebble.DB) {
		return put(appendIndexKey(nil, stream, n), appendVirtualEntry(nil, position))
	}
	both := func(a, b func(*testing.T, *pebble.DB)) func(*testing.T, *pebble.DB) {
		return func(t *testing.T, db *pebble.DB) { a(t, db); b(t, db) }
	}
	limited := head{count: 10, metadata: 71, shown: shown{maxCount: 4}}
	changed := func(change func(*head)) func(*testing.T, *pebble.DB) {
		h := limited
		change(&h)
		return put(appendHeadKey(nil, "s-3"), appendHead(nil, h))
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T, *pebble.DB)
		want   Finding
		reason error
	}{
		{"a link to an event of another category", entry("$ce-s", 69, 71), Finding{Position: 70, Stream: "s-6", Revision: 9}, errVirtual},
		{"a link that is gone", drop(appendIndexKey(nil, "$bc-c", 69)), Finding{Stream: "$bc-c", Revision: 68}, errHead},
		{"links with a gap", drop(appendIndexKey(nil, "$bc-c", 5)), Finding{Position: 7, Stream: "$bc-c", Revision: 6}, errMissing},
		{
			"links in disorder", both(entry("$streams", 1, 3), entry("$streams", 2, 2)),
			Finding{Position: 2, Stream: "$streams", Revision: 2},
			errIndex,
		},
		{
			"a link that was never made", both(
				drop(appendIndexKey(nil, "$et-type", 69)), put(appendHeadKey(nil, "$et-type"), appendHead(nil, head{count: 69}))),
			Finding{Position: 70, Stream: "s-6", Revision: 9},
			errVirtual,
		},
		{
			"a link too many", both(
				both(entry("$streams", 7, 50), entry("$streams", 8, 71)), // The metadata is the first of its stream.
				put(appendHeadKey(nil, "$streams"), appendHead(nil, head{count: 9}))),
			Finding{Position: 50, Stream: "$streams", Revision: 7},
			errVirtual,
		},
		{"a link of the wrong size", put(appendIndexKey(nil, "$ce-s", 4), []byte{1}), Finding{Stream: "$ce-s", Revision: 4}, errLayout},
		{
			"a virtual stream of nothing", put(appendHeadKey(nil, "$ce-x"), appendHead(nil, head{count: 1})),
			Finding{Stream: "$ce-x"},
			errHead,
		},
		{
			"a head without its metadata", changed(func(h *head) { *h = head{count: 10} }),
			Finding{Position: 71, Stream: "$$s-3"},
			errMetadata,
		},
		{"a head with other metadata", changed(func(h *head) { h.shown.maxCount++ }), Finding{Stream: "s-3"}, errMetadata},
		{
			"a head with another's metadata", changed(func(h *head) { h.metadata = 70 }),
			Finding{Position: 71, Stream: "$$s-3"},
			errMetadata,
		},
		{"a head with metadata from nowhere", changed(func(h *head) { h.metadata = 700 }), Finding{Stream: "s-3"}, errMetadata},
		{
			"a stream that ends without a tombstone", changed(func(h *head) { h.ended = true }),
			Finding{Stream: "s-3", Revision: 9},
			errHead,
		},
		{
			"a tombstone that ends nothing", put(appendHeadKey(nil, "end-1"), appendHead(nil, head{count: 1})),
			Finding{Position: 72, Stream: "end-1"},
			errHead,
		},
		{"a head that is illegible", put(appendHeadKey(nil, "s-3"), []byte{9}), Finding{Position: 71, Stream: "$$s-3"}, errLayout},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
			defer mustClose(t, s)
			for n := range 70 {
				mustAppend(t, s, fmt.Sprintf("s-%d", n%7), n)
			}
			meta := events.NewEvent{ID: events.EventID{1}, Type: events.TypeMetadata, Data: []byte(`{"$maxCount":4}`)}
			if _, err := s.Append(t.Context(), "$$s-3", events.Any(), []events.NewEvent{meta}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Delete(t.Context(), "end-1", events.Any(), true); err != nil {
				t.Fatal(err)
			}
			if v, err := s.Verify(t.Context()); err != nil || !v.OK() || v.Links != 3*70+7+4 {
				t.Fatalf("before: %+v, %v", v, err)
			}
			c.change(t, s.db)
			v, err := s.Verify(t.Context())
			if err != nil || v.OK() {
				t.Fatalf("nothing was found: %+v, %v", v, err)
			}
			f := v.Findings[0]
			if !strings.Contains(f.Problem, c.reason.Error()) {
				t.Fatalf("found %v, want %v", v.Findings, c.reason)
			}
			if f.Problem, f.Through = "", 0; f != c.want {
				t.Fatalf("found %v, want %+v", v.Findings, c.want)
			}
		})
	}
}

func TestLinkToAnotherEventIsDamageToReaders(t *testing.T) {
	s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
	defer mustClose(t, s)
	mustAppend(t, s, "a-1", 1)
	mustAppend(t, s, "b-1", 2)
	put(appendIndexKey(nil, "$ce-a", 0), appendVirtualEntry(nil, 2))(t, s.db)
	_, err := collect(s.ReadStream(t.Context(), "$ce-a", events.ReadStream{}))
	if d := wantDamaged(t, err); d.Stream != "$ce-a" || d.Position != 2 {
		t.Fatalf("damage at %+v", d)
	}
}
