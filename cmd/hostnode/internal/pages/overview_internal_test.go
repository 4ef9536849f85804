package pages

import (
	"testing"

	"github.com/hostnode/hostnode/projections"
)

func TestAPartOfTheSpaceKeepsItsColourWhenAnotherIsGone(t *testing.T) {
	all := spaceOf(projections.Ledger{Quota: 100, Stored: 1, Reserved: 2, Free: 3, Overhead: 4, Sectors: 5}).Parts
	some := spaceOf(projections.Ledger{Quota: 100, Free: 3, Pieces: 5}).Parts
	colours := map[string]int{}
	for _, p := range all {
		colours[p.Name] = p.Colour
	}
	if len(all) != 5 || len(some) != 2 {
		t.Fatalf("%+v, %+v", all, some)
	}
	for _, p := range some {
		if colour, known := colours[p.Name]; !known || colour != p.Colour {
			t.Errorf("%s has colour %d, and %d beside others", p.Name, p.Colour, colour)
		}
	}
}
