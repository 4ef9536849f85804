package machines_test

import (
	"fmt"
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
		if m.API.Reads == nil || m.Commands == nil || len(m.Categories) == 0 {
			t.Errorf("nobody can ask about %v", m.Categories)
		}
		for _, category := range m.Categories {
			if listed[category] {
				t.Errorf("%s has two rows here", category)
			}
			listed[category] = true
			if !recorded[category] {
				t.Errorf("%s has no row in events/catalog", category)
			}
			if _, viewed := projections.Of(category); !viewed {
				t.Errorf("%s has no row in projections/catalog", category)
			}
		}
		for _, c := range m.API.Calls {
			if other := paths[api.Place(c)]; other != "" {
				t.Errorf("%s of %v is a call of %s, too", api.Place(c), m.Categories, other)
			}
			paths[api.Place(c)] = fmt.Sprint(m.Categories)
		}
	}
	for _, m := range projections.Machines() {
		if !listed[m.Category] {
			t.Errorf("%s has no row here", m.Category)
		}
	}
}
