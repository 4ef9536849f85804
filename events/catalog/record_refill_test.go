package catalog_test

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
)

// refilled is the record of a host whose slot the contract takes, and that fills it
// again with the data that is still there; it says now and then that it lives.
func refilled(t *testing.T) (list []events.Recorded) {
	t.Helper()
	store := storetest.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		world := sim.NewWorld(events.NewAmount(1 << 40))
		log := logrus.New()
		log.SetOutput(io.Discard)
		host, err := actors.Start(t.Context(), actors.Config{
			Node: "hostnode", Version: "history", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
			FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, SnapshotEvery: -1,
			MinFill: 30 * time.Second, MaxSlotsPerRequest: 256, Quota: 1 << 30,
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
		request := sim.Offer(1, 1)
		world.Post(request)
		for n := range 480 {
			if n == 60 {
				if err := world.TakeBack(events.SlotIDOf(request.ID, 0)); err != nil {
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
	count := map[string]int{}
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
		count[e.Type]++
	}
	if count["SlotForfeited"] != 1 || count["SlotFilled"] != 2 || count["SaleSettled"] != 2 || count["HostHeartbeat"] == 0 {
		t.Fatalf("the record holds %v", count)
	}
	return slices.Clip(withoutSnapshots(list))
}
