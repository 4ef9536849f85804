package catalog_test

import (
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
)

// quarantined is the record of a host whose queue cannot judge an offer, until an operator
// has it tried again.
func quarantined(t *testing.T) (list []events.Recorded) {
	t.Helper()
	store := storetest.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		world := sim.NewWorld(events.NewAmount(1 << 40))
		log := logrus.New()
		log.SetOutput(io.Discard)
		host, err := actors.Start(t.Context(), actors.Config{
			Node: "hostnode", Version: "history", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
			FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, SnapshotEvery: -1,
			MinFill: 30 * time.Second, MaxSlotsPerRequest: 256, Quota: 1 << 30,
			Cores: actors.Cores{DecideQueue: func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
				if _, ok := c.(slotqueue.Queue); ok && broken.Load() {
					panic("a bug in the queue")
				}
				return slotqueue.Decide(s, c)
			}},
		}, world.Ports(store), logrus.NewEntry(log))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := host.Ledger(t.Context(), capacity.Create{
			At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
				Size: 4 * events.BlockSize, Duration: time.Hour, MinPrice: events.NewAmount(1),
				Collateral: events.NewAmount(1 << 38), Enabled: true,
			},
		}); err != nil {
			t.Fatal(err)
		}
		world.Post(sim.Offer(1, 1))
		for n := range 480 {
			if n == 20 {
				status, err := host.Status(t.Context())
				if err != nil || len(status.Quarantined) != 1 {
					t.Fatalf("quarantined: %+v, %v", status.Quarantined, err)
				}
				broken.Store(false)
				if err := host.TryAgain(t.Context(), status.Quarantined[0].Subject); err != nil {
					t.Fatal(err)
				}
			}
			world.Mine(1)
			synctest.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if err := host.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // Lets the actor library's last timers expire.
	})
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	for _, name := range []string{"WorkQuarantined", "QuarantineEnded", "SaleSettled"} {
		if !slices.ContainsFunc(list, func(e events.Recorded) bool { return e.Type == name }) {
			t.Fatalf("the run has no %s", name)
		}
	}
	return list
}
