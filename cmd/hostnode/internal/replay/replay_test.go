package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/prover/commd"
)

var (
	me   = events.Address{0xaa}
	slot = events.SlotID{0x51, 0x07}
)

// streams has one stream for each machine, with the examples of its codec table.
func streams() map[string]string {
	return map[string]string{
		"SaleStarted": events.SaleStream(me, slot), "QuotaSet": events.CapacityStream(me),
		"SlotsQueued": events.SlotQueueStream(me), "HostStarted": events.HostStream(me),
		"TxIntended": events.TxStream(me), "BlocksScanned": events.MarketStream(1337, events.Address{2}),
		"ValidationStarted": events.ValidatorStream(me), "SectorStart": events.SectorStream(me, 1),
		"NodeJoined": events.NodeStream(me, "north"), "ContentRequested": events.ContentStream(me, events.ContentLink{1}),
		"PieceQueued": events.CargoStream(me), "DealOffered": events.DealStream(me, commd.CID(commd.Node{1})),
		"AlertRaised": events.AlertStream(me),
	}
}

// store has every event of the catalog once, in the order of a codec table, in
// the stream of its machine.
func store(t testing.TB) *storetest.Memory {
	t.Helper()
	s := storetest.NewMemory()
	for _, stream := range streams() {
		put(t, s, stream, machineEvents(stream)...)
	}
	return s
}

// machineEvents are the examples that fold in a stream.
func machineEvents(stream string) []proto.Message {
	var all []proto.Message
	for e := range catalog.Codec().Entries() {
		probe := storetest.NewMemory()
		put(nil, probe, stream, e.Example)
		r, err := replay.Stream(context.Background(), probe, stream, nil, false)
		if err == nil && r.Unread == 0 {
			all = append(all, e.Example)
		}
	}
	return all
}

func put(t testing.TB, s events.Store, stream string, list ...proto.Message) {
	for _, m := range list {
		name, version, data, err := catalog.Codec().Encode(m)
		if err != nil {
			panic(err)
		}
		id := events.NewEventID(stream, name, int(version))
		_, err = s.Append(context.Background(), stream, events.Any(), []events.NewEvent{{
			ID: id, Type: name, Data: data, Meta: events.Metadata{Version: version, Causation: "operator"},
		}})
		if err != nil && t != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryMachineHasAState(t *testing.T) {
	s := store(t)
	folded := 0
	for _, stream := range streams() {
		r, err := replay.Stream(t.Context(), s, stream, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.State.Facts) == 0 || r.Unread > 0 || r.Events != uint64(len(r.History)) || r.Revision != r.Last {
			t.Errorf("%s: %+v", stream, r)
		}
		for _, e := range r.History {
			if e.Sentence == "" || e.Cause != "operator" {
				t.Errorf("%s revision %d has no sentence or cause: %+v", stream, e.Revision, e)
			}
		}
		folded += len(r.History)
	}
	const unrecorded = 2 // Snapshots, and proofs on their way, are no part of the record.
	if all := slices.Collect(catalog.Codec().Entries()); folded < len(all)-unrecorded {
		t.Errorf("%d of %d kinds of events belong to a machine", folded, len(all))
	}
}

func TestResultsSurviveJSON(t *testing.T) {
	s := store(t)
	for _, stream := range streams() {
		r, err := replay.Stream(t.Context(), s, stream, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again replay.Result
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stream, diff)
		}
	}
}

// The state at revision n is that of a stream which has only the first n events.
func TestTheStateAtARevisionIsThatOfTheEventsUpToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for _, s := range streams() {
				if !yield(s) {
					return
				}
			}
		})).Draw(t, "stream")
		examples := machineEvents(stream)
		whole, part := storetest.NewMemory(), storetest.NewMemory()
		n := rapid.IntRange(1, 12).Draw(t, "events")
		at := rapid.IntRange(0, n-1).Draw(t, "at")
		for i := range n {
			m := rapid.SampledFrom(examples).Draw(t, "event")
			name, version, data, err := catalog.Codec().Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			e := []events.NewEvent{{
				ID: events.NewEventID(stream, name, i), Type: name, Data: data, Meta: events.Metadata{Version: version},
			}}
			for _, s := range []*storetest.Memory{whole, part} {
				if s == part && i > at {
					continue
				}
				if _, err := s.Append(context.Background(), stream, events.ExpectNext(uint64(i)), e); err != nil {
					t.Fatal(err)
				}
			}
		}
		until := func(r events.Recorded) bool { return r.Revision <= uint64(at) }
		then, err := replay.Stream(context.Background(), whole, stream, until, false)
		if err != nil {
			t.Fatal(err)
		}
		now, err := replay.Stream(context.Background(), part, stream, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if then.Last != uint64(n-1) || then.Revision != uint64(at) || then.Events != uint64(at+1) {
			t.Fatalf("after %d of %d: %+v", at, n, then)
		}
		if diff := cmp.Diff(now.State, then.State); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestAReplayIsBoundedByTimeAndPosition(t *testing.T) {
	s := storetest.NewMemory()
	stream := events.HostStream(me)
	put(t, s, stream, machineEvents(stream)...)
	var list []events.Recorded
	for r, err := range s.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	r, err := replay.Stream(t.Context(), s, stream, projections.UntilPosition(list[0].Position), false)
	if err != nil || r.Revision != 0 || r.Last != uint64(len(list)-1) {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = replay.Stream(t.Context(), s, stream, projections.UntilTime(list[0].Recorded.Add(-time.Second)), false)
	if !errors.Is(err, replay.ErrBefore) || !strings.Contains(err.Error(), "begins at") {
		t.Fatalf("error %v", err)
	}
	if _, err := replay.Stream(t.Context(), s, "host-nobody", nil, false); !errors.Is(err, replay.ErrUnknownStream) {
		t.Fatalf("error %v", err)
	}
}

func TestWhatCannotBeReadIsCounted(t *testing.T) {
	s := storetest.NewMemory()
	stream := events.HostStream(me)
	put(t, s, stream, machineEvents(stream)[0])
	_, err := s.Append(t.Context(), stream, events.Any(), []events.NewEvent{
		{ID: events.EventID{1}, Type: "HostPondered", Data: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, stream, machineEvents(events.CapacityStream(me))[0]) // Of another machine.
	r, err := replay.Stream(t.Context(), s, stream, nil, true)
	if err != nil || r.Unread != 2 || r.Events != 3 || !strings.Contains(r.History[1].Sentence, "cannot be read") {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestNamesOfStreamsMayBeCutShort(t *testing.T) {
	sale, other := events.SaleStream(me, slot), events.SaleStream(me, events.SlotID{0x51, 0x08})
	known := []string{
		events.HostStream(me), events.CapacityStream(me), sale, other, events.SlotQueueStream(me),
		events.SectorStream(me, 1), events.SectorStream(me, 12),
	}
	foreign, ledger := events.TxStream(events.Address{9}), events.LedgerStream(events.Address{9}, "north-2")
	for typed, want := range map[string]string{
		sale: sale, "capacity": events.CapacityStream(me), "host-0xaa": events.HostStream(me),
		"sector-1": events.SectorStream(me, 1), "sector-12": events.SectorStream(me, 12),
		"0x5107": sale, "5108": other, " slotq ": events.SlotQueueStream(me), "sale-0xaa00000000000000000000000000000000000000-0x5107": sale,
	} {
		if !events.HasPrefix(want, replay.Prefixes(strings.TrimSpace(typed))) {
			t.Errorf("%q is looked for among %q", typed, replay.Prefixes(typed))
		}
		if got, err := replay.Find(typed, known); err != nil || got != want {
			t.Errorf("%q is %q, %v", typed, got, err)
		}
	}
	for name, want := range map[string]bool{
		foreign: true, ledger: true, sale: true, "theirs-1": true, "$ce-host": true, events.MarketStream(1, me): true,
		"theirs": false, "capacity": false, "host-nobody": false, "sector-12": false, "": false,
	} {
		if replay.Whole(name) != want {
			t.Errorf("%q is whole: %t", name, !want)
		}
	}
	for typed, want := range map[string]error{
		"sale": replay.ErrAmbiguous, "0x51": replay.ErrAmbiguous, "capcity": replay.ErrUnknownStream,
		"": replay.ErrUnknownStream, "sale-0xaa-0x1": replay.ErrUnknownStream, "0x9": replay.ErrUnknownStream,
		events.CapacityStream(events.Address{9}) + "-North": replay.ErrUnknownStream,
	} {
		got, err := replay.Find(typed, known)
		if !errors.Is(err, want) {
			t.Errorf("%q is %q, %v; want %v", typed, got, err, want)
		}
	}
	if _, err := replay.Find("capcity", known); !strings.Contains(err.Error(), "nearest are "+events.CapacityStream(me)) {
		t.Errorf("the suggestion is %v", err)
	}
	if _, err := replay.Find("x", nil); !errors.Is(err, replay.ErrUnknownStream) {
		t.Errorf("in an empty record: %v", err)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("sale-0x51", "capacity-0xaa")
	f.Fuzz(func(t *testing.T, typed, known string) {
		got, err := replay.Find(typed, []string{known, known + "x"})
		if err == nil && got == "" {
			t.Fatalf("%q is nothing", typed)
		}
	})
}

// scavenged is a store that has removed the first event of all streams.
type scavenged struct{ events.Store }

func (s scavenged) ReadAll(ctx context.Context, _ events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return s.Store.ReadAll(ctx, 1, limit)
}

func TestAQueueBehindASnapshotIsReadFromTheLog(t *testing.T) {
	s := storetest.NewMemory()
	stream := events.SlotQueueStream(me)
	put(t, s, stream, machineEvents(stream)...)
	want, err := replay.Stream(t.Context(), s, stream, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), events.MetadataStream(stream), events.Any(), []events.NewEvent{{
		ID: events.EventID{1}, Type: events.TypeMetadata, Data: events.StreamMetadata{TruncateBefore: 1}.Marshal(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := replay.Stream(t.Context(), s, stream, nil, true)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	got, err = replay.Stream(t.Context(), scavenged{s}, stream, nil, true)
	if err != nil || got.Removed != 1 || got.Events != want.Events-1 {
		t.Fatalf("%d removed, %d events of %d: %v", got.Removed, got.Events, want.Events, err)
	}
}
