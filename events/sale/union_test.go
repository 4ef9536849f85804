package sale

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// union is every message of the schema that is a sale's event, by its name.
func union(t *testing.T) map[protoreflect.FullName]Event {
	t.Helper()
	all := map[protoreflect.FullName]Event{}
	descriptors := messages.File_hostnode_messages_proto.Messages()
	for i := range descriptors.Len() {
		name := descriptors.Get(i).FullName()
		goType, err := protoregistry.GlobalTypes.FindMessageByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := goType.New().Interface().(Event); ok {
			all[name] = e
		}
	}
	if len(all) == 0 {
		t.Fatal("the schema has no event of a sale")
	}
	return all
}

func TestTheTableHasEveryEventOfTheUnionAndNoOther(t *testing.T) {
	rest := union(t)
	for _, entry := range Table() {
		name := entry.Example.ProtoReflect().Descriptor().FullName()
		if _, known := rest[name]; !known {
			t.Errorf("%s is in the table, but not in the union (or twice in the table)", name)
		}
		if entry.Name != string(name.Name()) {
			t.Errorf("%s is stored as %q", name, entry.Name)
		}
		delete(rest, name)
	}
	for name := range rest {
		t.Errorf("%s is in the union, but not in the table", name)
	}
}

func TestEveryEventOfTheUnionIsEvolvedAndTold(t *testing.T) {
	examples := map[protoreflect.FullName]Event{}
	for _, entry := range Table() {
		examples[entry.Example.ProtoReflect().Descriptor().FullName()] = entry.Example.(Event)
	}
	for name := range union(t) {
		e, ok := examples[name]
		if !ok {
			t.Errorf("%s has no example", name)
			continue
		}
		for _, st := range stands() {
			s, _ := live(t, st.life...)
			Evolve(s, e)
		}
		if Sentence(e) == "" { // All panic on what they do not know, in whatever state.
			t.Errorf("%s has no sentence", name)
		}
	}
}

func TestEveryEventOfTheUnionIsEmittedBySomeDecision(t *testing.T) {
	rest := union(t)
	for _, st := range stands() {
		s, told := live(t, st.life...)
		for _, c := range trials() {
			if batch, err := Decide(s, c.command); err == nil {
				told = append(told, batch...)
			}
		}
		for _, e := range told {
			delete(rest, e.ProtoReflect().Descriptor().FullName())
		}
	}
	for name := range rest {
		t.Errorf("no command in any state leads to %s", name)
	}
}

// A complete example survives being stored, and none of its fields is left
// out, so that a forgotten field shows here.
func TestExamplesAreCompleteAndSurviveBeingStored(t *testing.T) {
	codec := events.NewCodec(Table())
	for entry := range codec.Entries() {
		name, version, data, err := codec.Encode(entry.Example)
		if err != nil {
			t.Errorf("%s: %v", entry.Name, err)
			continue
		}
		back, err := codec.Decode(events.Recorded{
			Type: name, Data: data, Meta: events.Metadata{Version: version},
		})
		if err != nil || !proto.Equal(back, entry.Example) {
			t.Errorf("%s comes back as %v, error %v; stored as %s", entry.Name, back, err, data)
		}
	}
}
