package capacity

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// union is the names of all messages that are events of the ledger.
func union(t *testing.T) map[protoreflect.FullName]bool {
	t.Helper()
	found := map[protoreflect.FullName]bool{}
	list := (&messages.QuotaSet{}).ProtoReflect().Descriptor().ParentFile().Messages()
	for i := range list.Len() {
		name := list.Get(i).FullName()
		kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ours := kind.New().Interface().(Event); ours {
			found[name] = true
		}
	}
	return found
}

// roundTrip stores an event and reads it back.
func roundTrip(t testing.TB, codec *events.Codec, e Event) Event {
	t.Helper()
	name, version, data, err := codec.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil {
		t.Fatal(err)
	}
	return m.(Event)
}

func TestCodecAndEvolveKnowEveryEvent(t *testing.T) {
	codec := events.NewCodec(Table())
	missing := union(t)
	s := New()
	var last Event
	fold := func(e Event) {
		before := s.Snapshot()
		s = Evolve(s, e)
		if difference(before, s.Snapshot()) == "" {
			t.Fatalf("Evolve takes no notice of %T", e)
		}
		if err := s.Check(); err != nil {
			t.Fatalf("after %T: %v", e, err)
		}
	}
	for _, entry := range Table() {
		e := entry.Example.(Event)
		full := e.ProtoReflect().Descriptor().FullName()
		if entry.Name != string(full.Name()) || entry.Version != 1 {
			t.Fatalf("%s is stored as %s version %d", full, entry.Name, entry.Version)
		}
		if diff := cmp.Diff(e, roundTrip(t, codec, e), protocmp.Transform()); diff != "" {
			t.Fatalf("%s does not survive the codec (-want +got):\n%s", entry.Name, diff)
		}
		delete(missing, full)
		if _, deleted := e.(*messages.AvailabilityDeleted); deleted {
			last = e // The examples are a valid history if the deletion comes last.
			continue
		}
		fold(e)
	}
	fold(last)
	if len(missing) > 0 {
		t.Fatalf("the table does not know %v", missing)
	}
}

func TestCodecRefusesWhatNoFoldCanAdd(t *testing.T) {
	codec := events.NewCodec(Table())
	const over = uint64(MaxQuota) + 1
	example := func(name string, change func(m proto.Message)) proto.Message {
		for _, entry := range Table() {
			if entry.Name == name {
				change(entry.Example)
				return entry.Example
			}
		}
		t.Fatalf("no example of %s", name)
		return nil
	}
	tests := map[string]proto.Message{
		"a quota beyond the limit": example("QuotaSet", func(m proto.Message) {
			m.(*messages.QuotaSet).Bytes = over
		}),
		"an offer of nothing": example("AvailabilityCreated", func(m proto.Message) {
			m.(*messages.AvailabilityCreated).TotalSize = 0
		}),
		"an offer beyond the limit": example("AvailabilityUpdated", func(m proto.Message) {
			m.(*messages.AvailabilityUpdated).TotalSize = over
		}),
		"an id that is none": example("AvailabilityDeleted", func(m proto.Message) {
			m.(*messages.AvailabilityDeleted).AvailabilityId = "0x12"
		}),
		"a reservation of nothing": example("ReservationCreated", func(m proto.Message) {
			m.(*messages.ReservationCreated).Bytes = 0
		}),
		"overhead beyond the limit": example("ReservationCreated", func(m proto.Message) {
			m.(*messages.ReservationCreated).Overhead = over
		}),
		"attempt zero": example("ReservationCreated", func(m proto.Message) {
			m.(*messages.ReservationCreated).Attempt = 0
		}),
		"a reservation without end": example("ReservationCreated", func(m proto.Message) {
			m.(*messages.ReservationCreated).ValidUntil = nil
		}),
		"a grant of nothing": example("BytesReleased", func(m proto.Message) {
			m.(*messages.BytesReleased).Bytes = 0
		}),
		"a negative amount": example("ReservationDeleted", func(m proto.Message) {
			m.(*messages.ReservationDeleted).CollateralLost = "-1"
		}),
		"sector zero": example("SectorDepositSettled", func(m proto.Message) {
			m.(*messages.SectorDepositSettled).Sector = 0
		}),
		"a sector of nothing": &messages.SectorSpaceHeld{Sector: 1, Deposit: "0"},
		"a sector beyond the limit": example("SectorSpaceHeld", func(m proto.Message) {
			m.(*messages.SectorSpaceHeld).Tree = over
		}),
		"a part that nobody knows": example("SectorSpaceReleased", func(m proto.Message) {
			m.(*messages.SectorSpaceReleased).Part = "cache"
		}),
		"a part without bytes": example("SectorSpaceReleased", func(m proto.Message) {
			m.(*messages.SectorSpaceReleased).Bytes = 0
		}),
	}
	for name, m := range tests {
		if _, _, _, err := codec.Encode(m); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, events.ErrMalformed)
		}
	}
}
