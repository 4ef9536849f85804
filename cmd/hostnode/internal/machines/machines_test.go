package machines_test

import (
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/events/catalog"
	projections "github.com/hostnode/hostnode/projections/catalog"
)

func TestEachRowHasItsRecordItsViewAndPathsOfItsOwn(t *testing.T) {
	recorded, paths := map[string]bool{}, map[string]string{}
	for _, m := range catalog.Machines() {
		recorded[m.Category] = true
	}
	for _, c := range api.Calls() {
		paths[api.Place(c)] = "the host itself"
	}
	listed := map[string]bool{}
	for _, m := range machines.All {
		listed[m.Category] = true
		if m.API.Reads == nil || m.Commands == nil {
			t.Errorf("nobody can ask about %s", m.Category)
		}
		if !recorded[m.Category] {
			t.Errorf("%s has no row in events/catalog", m.Category)
		}
		if _, viewed := projections.Of(m.Category); !viewed {
			t.Errorf("%s has no row in projections/catalog", m.Category)
		}
		for _, c := range m.API.Calls {
			if other := paths[api.Place(c)]; other != "" {
				t.Errorf("%s of %s is a call of %s, too", api.Place(c), m.Category, other)
			}
			paths[api.Place(c)] = m.Category
		}
	}
	for _, m := range projections.Machines() {
		if !listed[m.Category] {
			t.Errorf("%s has no row here", m.Category)
		}
	}
}
