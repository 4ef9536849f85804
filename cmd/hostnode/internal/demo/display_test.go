package demo

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

func TestEveryPhaseButProvingStandsSomewhereOnTheBar(t *testing.T) {
	for _, p := range sale.Phases() {
		long := p == sale.Unknown || p == sale.Proving || p == sale.ProvingSimulated
		if _, known := saleScale.states[p.String()]; known == long {
			t.Errorf("%s has a place on the bar: %t, want %t", p, known, !long)
		}
	}
}

func TestWorkThatTakesAWhileSaysHowFarItIsAndHowLongItWillTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		say := newDisplay(&out, false).steps("Client: codes big.bin")
		for done := range events.Bytes(101) {
			say(done<<20, 100<<20)
			<-time.After(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 9 || !strings.HasSuffix(lines[1], "Client: codes big.bin: 20 % of 100 MiB, about 1m20s left") {
			t.Fatalf("it said\n%s", out.String())
		}
	})
}
