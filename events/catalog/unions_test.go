package catalog_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

func TestTheCatalogHasEveryEventOfEveryUnion(t *testing.T) {
	var stored []string
	for e := range catalog.Codec().Entries() {
		stored = append(stored, string(e.Example.ProtoReflect().Descriptor().Name()))
	}
	slices.Sort(stored)
	unions := housetest.Sealed(t, "../../messages", "Event")
	if diff := cmp.Diff(unions, slices.Compact(stored)); diff != "" {
		t.Fatalf("the events of the unions, and those in the catalog (-unions +catalog):\n%s", diff)
	}
}

// An event of a union that folds in no machine, or in two, is in a row that was made from another core.
func TestEachMachineFoldsWhatItStoresAndNothingElse(t *testing.T) {
	for _, m := range catalog.Machines() {
		for _, other := range catalog.Machines() {
			for _, e := range other.Table() {
				if folds := m.New().Fold(e.Example); folds != (m.Category == other.Category) {
					t.Errorf("%s folds %s of %s: %t", m.Category, e.Name, other.Category, folds)
				}
			}
		}
		if of, known := catalog.Of(m.Category + "-0x01"); !known || of.Category != m.Category {
			t.Errorf("two machines have the category %s", m.Category)
		}
	}
}

// A message that is no event and part of none is an event that its union was not given, or is left over.
func TestEveryMessageIsAnEventOrPartOfOneOrOfASnapshot(t *testing.T) {
	used := map[protoreflect.Name]bool{}
	var use func(protoreflect.MessageDescriptor)
	use = func(m protoreflect.MessageDescriptor) {
		if used[m.Name()] {
			return
		}
		used[m.Name()] = true
		for i := range m.Fields().Len() {
			if of := m.Fields().Get(i).Message(); of != nil {
				use(of)
			}
		}
	}
	for e := range catalog.Codec().Entries() {
		use(e.Example.ProtoReflect().Descriptor())
	}
	for _, state := range []proto.Message{&messages.HostState{}, &messages.LedgerState{}, &messages.QueueState{}} {
		use(state.ProtoReflect().Descriptor())
	}
	all := (&messages.SaleStarted{}).ProtoReflect().Descriptor().ParentFile().Messages()
	for i := range all.Len() {
		if name := all.Get(i).Name(); !used[name] {
			t.Errorf("%s: give it to its union in messages/unions.go, and its machine to events/catalog", name)
		}
	}
}
