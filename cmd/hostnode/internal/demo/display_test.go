package demo

import (
	"testing"

	"github.com/hostnode/hostnode/events/sale"
)

func TestEveryPhaseButProvingStandsSomewhereOnTheBar(t *testing.T) {
	for _, p := range sale.Phases() {
		long := p == sale.Unknown || p == sale.Proving || p == sale.ProvingSimulated
		if _, known := stands[p.String()]; known == long {
			t.Errorf("%s has a place on the bar: %t, want %t", p, known, !long)
		}
	}
}
