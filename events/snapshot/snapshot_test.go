package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

const (
	queue  = "slotqueue-0x01"
	kept   = "slotqueueSnapshot-0x01"
	schema = "test/1"
)

var codec = events.NewCodec(snapshot.Table())

var streams = events.Streams{{Category: "slotqueue", MayTruncate: true}, events.OnePerHost("capacity")}

// fill appends n events to the queue's stream and returns the id of its nth
// revision.
func fill(t testing.TB, store events.Store, n int) func(revision uint64) snapshot.Event {
	t.Helper()
	id := func(i uint64) events.EventID { return events.NewEventID(queue, "fill", int(i)) }
	for i := range uint64(n) {
		e := events.NewEvent{ID: id(i), Type: "Filled", Data: fmt.Appendf(nil, "%d", i)}
		if _, err := store.Append(t.Context(), queue, events.ExpectNext(i), []events.NewEvent{e}); err != nil {
			t.Fatal(err)
		}
	}
	return func(revision uint64) snapshot.Event {
		return snapshot.Event{Stream: queue, Revision: revision, ID: id(revision)}
	}
}

func writer(store events.Store) snapshot.Writer {
	return snapshot.Writer{Store: store, Codec: codec, Stream: kept, Meta: events.Metadata{Epoch: 3}}
}

func reader(store events.Store) snapshot.Reader {
	return snapshot.Reader{Store: store, Codec: codec, Stream: kept, Schema: schema, Of: queue}
}

// state returns the pieces of a state that differs by its seed.
func state(seed byte, pieces, size int) [][]byte {
	out := make([][]byte, pieces)
	for i := range out {
		out[i] = bytes.Repeat([]byte{seed, byte(i), byte(i >> 8)}, size/3+1)[:size]
	}
	return out
}

func save(t testing.TB, store events.Store, last snapshot.Event, pieces [][]byte) *snapshot.Event {
	t.Helper()
	before, err := writer(store).Save(t.Context(),
		snapshot.Snapshot{Schema: schema, Last: last, Pieces: pieces}, events.Unix(5))
	if err != nil {
		t.Fatal(err)
	}
	return before
}

func load(t testing.TB, r snapshot.Reader) (pieces [][]byte, found snapshot.Found) {
	t.Helper()
	found, err := r.Load(t.Context(), func(p [][]byte) error {
		pieces = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pieces, found
}

// appends notes the appends to the snapshots, and fails after a number of them.
type appends struct {
	events.Store
	batches [][]events.NewEvent
	most    int // fails after so many; 0: never
}

var errDisk = errors.New("the disk is gone")

func (a *appends) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if stream == kept {
		if a.most > 0 && len(a.batches) >= a.most {
			return events.AppendResult{}, errDisk
		}
		a.batches = append(a.batches, batch)
	}
	return a.Store.Append(ctx, stream, e, batch)
}

func TestASnapshotIsReadAsItWasWritten(t *testing.T) {
	for _, tc := range []struct{ pieces, size, batches int }{
		{1, 0, 1},
		{1, 10, 1},
		{3, 10, 1},
		{1, events.MaxPieceBytes, 1},
		{5, events.MaxPieceBytes, 5},
		{90, events.MaxPieceBytes / 16, 5},
	} {
		store := &appends{Store: storetest.NewMemory()}
		at := fill(t, store, 10)
		want := state(1, tc.pieces, tc.size)
		if before := save(t, store, at(7), want); before != nil {
			t.Errorf("%+v: there was no snapshot before, not %v", tc, before)
		}
		got, found := load(t, reader(store))
		if !found.Usable || found.Last != at(7) || len(found.Ignored) > 0 || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%+v: found %+v", tc, found)
		}
		if len(store.batches) != tc.batches {
			t.Errorf("%+v: %d appends, want %d", tc, len(store.batches), tc.batches)
		}
		for _, batch := range store.batches {
			size := 0
			for _, e := range batch {
				size += e.Size()
			}
			if size > events.PreferredAppendBytes {
				t.Errorf("%+v: an append of %d bytes", tc, size)
			}
		}
	}
}

func TestTheTwoNewestSnapshotsCanBeReadAndOlderOnesVanish(t *testing.T) {
	store := storetest.NewMemory()
	at := fill(t, store, 50)
	var before *snapshot.Event
	for i := range 12 { // They grow and shrink.
		before = save(t, store, at(uint64(i)), state(byte(i), 1+i*i%7, 20))
		visible := map[uint64]bool{}
		for r, err := range store.ReadStream(t.Context(), kept, events.ReadStream{}) {
			if err != nil {
				t.Fatal(err)
			}
			m, err := codec.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			visible[m.(*messages.SnapshotPart).GetRevision()] = true
		}
		want := map[uint64]bool{uint64(i): true}
		if i > 0 {
			want[uint64(i-1)] = true
		}
		if diff := cmp.Diff(want, visible); diff != "" {
			t.Fatalf("after snapshot %d (-want +got):\n%s", i, diff)
		}
	}
	if before == nil || *before != at(10) {
		t.Fatalf("the one before the last is %v", before)
	}
	refuse := 0
	found, err := reader(store).Load(t.Context(), func([][]byte) error {
		if refuse++; refuse == 1 {
			return errDisk
		}
		return nil
	})
	if err != nil || !found.Usable || found.Last != at(10) || len(found.Ignored) != 1 ||
		!errors.Is(found.Ignored[0], errDisk) {
		t.Fatalf("when the newest is refused: %+v, %v", found, err)
	}
}

func TestAnUnfinishedSnapshotLeavesTheOneBeforeItReadable(t *testing.T) {
	for most := range 6 {
		store := &appends{Store: storetest.NewMemory()}
		at := fill(t, store, 20)
		save(t, store, at(1), state(1, 4, events.MaxPieceBytes))
		save(t, store, at(2), state(2, 1, 5))
		for range 2 { // Twice in a row.
			store.most = len(store.batches) + most
			if most == 0 {
				store.most = len(store.batches)
			}
			_, err := writer(store).Save(t.Context(), snapshot.Snapshot{
				Schema: schema, Last: at(9), Pieces: state(9, 6, events.MaxPieceBytes),
			}, events.Unix(5))
			if !errors.Is(err, errDisk) {
				t.Fatalf("after %d appends: %v", most, err)
			}
			got, found := load(t, reader(store))
			if !found.Usable || found.Last != at(2) || !bytes.Equal(got[0], state(2, 1, 5)[0]) {
				t.Fatalf("after %d appends: %+v", most, found)
			}
			if torn := len(found.Ignored) > 0; torn != (most > 0) {
				t.Fatalf("after %d appends %v was ignored", most, found.Ignored)
			}
		}
		store.most = 0
		if before := save(t, store, at(10), state(10, 2, 5)); before == nil || *before != at(2) {
			t.Fatalf("after %d appends the whole one before is %v", most, before)
		}
		if _, found := load(t, reader(store)); found.Last != at(10) {
			t.Fatalf("after %d appends: %+v", most, found)
		}
	}
}

func TestWhatDoesNotFitIsIgnoredWithItsReason(t *testing.T) {
	empty := storetest.NewMemory()
	at := fill(t, empty, 10)
	other := at(5)
	other.ID[0]++
	elsewhere := at(5)
	elsewhere.Stream = "slotqueue-0x02"
	whole := at(5)
	whole.Position = 6
	moved := at(5)
	moved.Position = 7
	queued, log, old := reader(nil), reader(nil), reader(nil)
	log.Of, old.Schema = "", "test/2"
	for name, tc := range map[string]struct {
		last   snapshot.Event
		reader snapshot.Reader
		why    error
	}{
		"another schema":                 {at(5), old, snapshot.ErrSchema},
		"another event at its revision":  {other, queued, snapshot.ErrOtherRecord},
		"of a revision yet to come":      {at(10), queued, snapshot.ErrOtherRecord},
		"of another stream":              {elsewhere, queued, snapshot.ErrOtherRecord},
		"of the log instead of a stream": {whole, queued, snapshot.ErrOtherRecord},
		"of a stream instead of the log": {at(5), log, snapshot.ErrOtherRecord},
		"at another position":            {moved, log, snapshot.ErrOtherRecord},
		"of a stream that is unknown":    {snapshot.Event{Stream: "sale-1", ID: other.ID, Position: 6}, log, snapshot.ErrOtherRecord},
	} {
		here := storetest.NewMemory()
		fill(t, here, 10)
		save(t, here, tc.last, state(1, 2, 5))
		tc.reader.Store = here
		_, found := load(t, tc.reader)
		if found.Usable || len(found.Ignored) == 0 || !errors.Is(found.Ignored[0], tc.why) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	save(t, empty, whole, state(1, 2, 5))
	log.Store = empty
	if _, found := load(t, log); !found.Usable || found.Last != whole {
		t.Errorf("of the log, and where it says: %+v", found)
	}
}

// unplaced is a store that gives positions only when its log is read.
type unplaced struct {
	events.Store
	instead events.Position
}

func (s unplaced) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for e, err := range s.Store.ReadStream(ctx, stream, q) {
			e.Position = s.instead
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestWhereAStoreDoesNotSayThePositionTheIDMustDo(t *testing.T) {
	store := storetest.NewMemory()
	last := fill(t, store, 10)(5)
	last.Position = 6
	save(t, store, last, state(1, 1, 5))
	for position, usable := range map[events.Position]bool{0: true, events.EndPosition: true, 6: true, 7: false} {
		r := reader(unplaced{store, position})
		r.Of = ""
		if _, found := load(t, r); found.Usable != usable {
			t.Errorf("at position %d: %+v", position, found)
		}
	}
}

func TestForeignEventsInTheStreamAreIgnored(t *testing.T) {
	for _, foreign := range []events.NewEvent{
		{Type: "Filled", Data: []byte(`{}`)},
		{Type: "SnapshotPart", Data: []byte(`x`)},
		{Type: "SnapshotPart", Data: []byte(`{"part":1,"parts":1}`)},
	} {
		store := storetest.NewMemory()
		at := fill(t, store, 10)
		save(t, store, at(5), state(1, 1, 5))
		save(t, store, at(6), state(2, 1, 5))
		foreign.ID = events.NewEventID(kept, "foreign", 0)
		if _, err := store.Append(t.Context(), kept, events.Any(), []events.NewEvent{foreign}); err != nil {
			t.Fatal(err)
		}
		if _, found := load(t, reader(store)); found.Last != at(6) || len(found.Ignored) != 1 {
			t.Fatalf("behind %s: %+v", foreign.Data, found)
		}
		if before := save(t, store, at(7), state(3, 1, 5)); before == nil || *before != at(6) {
			t.Fatalf("behind %s the one before is %v", foreign.Data, before)
		}
	}
}

func TestASnapshotWithoutPiecesIsAMistake(t *testing.T) {
	store := storetest.NewMemory()
	at := fill(t, store, 1)
	_, err := writer(store).Save(t.Context(), snapshot.Snapshot{Schema: schema, Last: at(0)}, events.Unix(1))
	if !errors.Is(err, events.ErrMalformed) {
		t.Fatalf("%v", err)
	}
}

func TestTheTableRefusesPartsThatCannotBe(t *testing.T) {
	good := snapshot.Table()[0].Example.(*messages.SnapshotPart)
	for name, change := range map[string]func(*messages.SnapshotPart){
		"no parts":               func(p *messages.SnapshotPart) { p.Parts = 0 },
		"part of less":           func(p *messages.SnapshotPart) { p.Part, p.Parts = 3, 3 },
		"more than there may be": func(p *messages.SnapshotPart) { p.Parts = 1 << 31 },
		"no id":                  func(p *messages.SnapshotPart) { p.EventId = "x" },
		"no checksum":            func(p *messages.SnapshotPart) { p.Checksum = "" },
	} {
		bad := proto.CloneOf(good)
		change(bad)
		if _, _, _, err := codec.Encode(bad); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
