package catalog_test

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	record "github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/projections/catalog"
)

// joint are the machines whose streams say something of each other, and are one fold in package projections.
var joint = []string{
	events.CategoryCapacity, events.CategorySale, events.CategorySlotQueue, events.CategoryTx, events.CategoryHost,
	events.CategoryValidator, events.CategorySector,
}

// Both lists of machines have the same ones: what is in the record is shown and audited.
func TestEachMachineOfTheRecordIsShownAndJudged(t *testing.T) {
	shown := map[string]bool{}
	for _, category := range joint {
		shown[category] = true
	}
	for _, m := range catalog.Machines() {
		if shown[m.Category] || m.View == nil || m.Judge == nil || len(m.Rules) == 0 {
			t.Errorf("%s has two views, or no view, judge or rule in projections/catalog", m.Category)
		}
		shown[m.Category] = true
	}
	for _, m := range record.Machines() {
		if !shown[m.Category] && !m.Shared && !m.Passing {
			t.Errorf("%s is in events/catalog and has no row in projections/catalog", m.Category)
		}
		delete(shown, m.Category)
	}
	for category := range shown {
		t.Errorf("%s has a view, and no row in events/catalog", category)
	}
}
