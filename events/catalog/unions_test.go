package catalog_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheCatalogHasEveryEventOfEveryUnion(t *testing.T) {
	var stored []string
	for e := range catalog.Codec().Entries() {
		stored = append(stored, string(e.Example.ProtoReflect().Descriptor().Name()))
	}
	slices.Sort(stored)
	unions := housetest.Sealed(t, "../../messages", "saleEvent", "capacityEvent", "queueEvent", "marketEvent",
		"hostEvent", "validatorEvent", "sectorEvent", "txEvent", "proofsEvent", "snapshotEvent")
	if diff := cmp.Diff(unions, slices.Compact(stored)); diff != "" {
		t.Fatalf("the events of the unions, and those in the catalog (-unions +catalog):\n%s", diff)
	}
}
