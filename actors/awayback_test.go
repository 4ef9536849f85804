package actors_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

// sells is what hostnode status says, with this state of the record, of a host that has space on offer and funds.
func sells(record shell.StoreStatus) bool {
	some := events.NewAmount(uint64(events.BlockSize)) // What the smallest slot costs at the least.
	return health.Judge(health.Facts{
		Stage: health.Running, Record: record,
		Supply: health.Supply{
			Quota: 1, Allocated: 1,
			Offers: []health.Offered{{Enabled: true, Until: time.Now(), Free: events.BlockSize, Remaining: some}},
		},
		Funds: health.Funds{Known: true, Balance: events.Balance{Tokens: some, Wei: some}},
	}).Selling == health.Yes
}

// However long the outage was, nothing waits for the next try of a call whose pauses have grown
// long.
func TestTheHostSellsAgainWithinFiveSecondsAfterItsStoreIsBack(t *testing.T) {
	outages := []time.Duration{
		time.Second, 31 * time.Second, 97 * time.Second, 101 * time.Second, 100*time.Second + 700*time.Millisecond,
	}
	for how, name := range map[failure]string{refuses: "refuses", forgets: "forgets", hangs: "hangs"} {
		for _, outage := range outages {
			t.Run(fmt.Sprintf("%s for %s", name, outage), func(t *testing.T) {
				inWorld(t, func(r *rig) {
					s := r.flaky()
					r.start()
					r.offer(64 * events.BlockSize)
					r.mine(3)
					s.set(how)
					r.world.Post(sim.Offer(1, 1)) // Its log waits for the store.
					r.world.Mine(1)
					time.Sleep(outage)
					if a := r.away(); a.Away && sells(a) {
						r.Fatalf("it is said to sell while the status says %+v", a)
					}
					s.set(up)
					time.Sleep(5 * time.Second)
					synctest.Wait()
					if a := r.away(); !sells(a) || !r.has("SlotReserved")() {
						r.Fatalf("5 s after it came back the status says %+v, and the record holds %v", a, r.names())
					}
				})
			})
		}
	}
}

// What was not begun during the outage waits only for the store, not for a block.
func TestASaleGoesOnWithinFiveSecondsAfterItsStoreIsBack(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, script := r.flaky(), r.disturb()
		let := make(chan error)
		script.download = func(context.Context, events.DownloadJob) error { return <-let }
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it downloads", func() bool { return slices.Contains(script.noted(), "download") })
		s.set(refuses)
		r.mine(10)
		let <- errSource
		time.Sleep(97 * time.Second)
		s.set(up)
		close(let)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !r.has("SlotStored")() {
			r.Fatalf("5 s after the store came back: calls %v, the record holds %v", script.noted(), r.names())
		}
	})
}
