package chain_test

import (
	"context"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
)

// The market of the real contracts obeys the port, like the simulation's.
func TestMarketObeysItsPort(t *testing.T) {
	porttest.Market(t, func(t *testing.T) porttest.MarketWorld {
		w := newWorld(t)
		m := w.newHost("host")
		rival := w.newHost("rival")
		proofs := byte(0)
		return porttest.MarketWorld{
			Market:     m,
			Post:       w.request,
			Drive:      func(call func(context.Context) error) error { return w.try("host", call) },
			Proof:      func(events.SlotID) events.Proof { proofs++; return goodProof(proofs) },
			WrongProof: events.Proof{},
			Warp:       func(to time.Time) { w.sealUntil(to) },
			Rival: func(c events.SlotCall) {
				w.reserve(rival, "rival", c)
				w.fill(rival, "rival", c)
			},
		}
	})
}
