package slotqueue

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// union is the names of all messages that are events of the queue.
func union(t *testing.T) map[protoreflect.FullName]bool {
	t.Helper()
	found := map[protoreflect.FullName]bool{}
	list := (&messages.SlotTaken{}).ProtoReflect().Descriptor().ParentFile().Messages()
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

func TestCodecAndEvolveKnowEveryEvent(t *testing.T) {
	codec := events.NewCodec(Table())
	missing := union(t)
	s := New(Limits{})
	for _, entry := range Table() { // The examples tell a story in this order.
		e := entry.Example.(Event)
		full := e.ProtoReflect().Descriptor().FullName()
		if entry.Name != string(full.Name()) || entry.Version != 1 {
			t.Fatalf("%s is stored as %s version %d", full, entry.Name, entry.Version)
		}
		name, version, data, err := codec.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry.Example, back, protocmp.Transform()); diff != "" {
			t.Fatalf("%s does not survive the codec (-want +got):\n%s", entry.Name, diff)
		}
		before := s.Snapshot()
		s = Evolve(s, e)
		if difference(before, s.Snapshot()) == "" {
			t.Fatalf("Evolve takes no notice of %T", e)
		}
		if err := s.Check(); err != nil {
			t.Fatalf("after %T: %v", e, err)
		}
		delete(missing, full)
	}
	if len(missing) > 0 {
		t.Fatalf("the table does not know %v", missing)
	}
}

func TestCodecRefusesWhatSaysNothing(t *testing.T) {
	codec := events.NewCodec(Table())
	id := request(1).String()
	tests := map[string]proto.Message{
		"no slots queued":       &messages.SlotsQueued{RequestId: id, Profitability: "1", Collateral: "1"},
		"no slots removed":      &messages.SlotRemoved{RequestId: id},
		"no slots refused":      &messages.SlotsRefused{RequestId: id, Criterion: "price"},
		"refused for no reason": &messages.SlotsRefused{RequestId: id, SlotIndices: []uint64{1}},
		"an id that is none":    &messages.SlotTaken{RequestId: "0x12"},
	}
	for name, m := range tests {
		if _, _, _, err := codec.Encode(m); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, events.ErrMalformed)
		}
	}
}

// Each event about slots is told, with all of them.
func TestWhateverHappensToASlotIsTold(t *testing.T) {
	for _, entry := range Table() {
		told, ofSlots := Tell(entry.Example.(Event))
		about, is := entry.Example.(interface{ GetRequestId() string })
		switch {
		case ofSlots != is:
			t.Errorf("%s: is it about slots: %v", entry.Name, ofSlots)
		case is && (told.Request.String() != about.GetRequestId() || len(told.Indices) == 0 || told.Where == "" ||
			!strings.HasSuffix(told.Sentence, ".")):
			t.Errorf("%s is told as %+v", entry.Name, told)
		}
	}
}
