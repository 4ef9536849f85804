package catalog_test

import (
	"io"
	"path/filepath"
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
	"github.com/hostnode/hostnode/events/witness"
)

// wentBack is the record of a host that began on a copy from before it had an offer.
func wentBack(t *testing.T) (list []events.Recorded) {
	t.Helper()
	store, path := storetest.NewMemory(), filepath.Join(t.TempDir(), "acknowledged")
	synctest.Test(t, func(t *testing.T) {
		world := sim.NewWorld(events.NewAmount(1 << 40))
		log := logrus.New()
		log.SetOutput(io.Discard)
		for _, first := range []bool{true, false} {
			watched, _, err := witness.New(t.Context(), store, path)
			if err != nil {
				t.Fatal(err)
			}
			ports := world.Ports(watched)
			ports.Witness = watched
			host, err := actors.Start(t.Context(), actors.Config{
				Node: "hostnode", Version: "history", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
				FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, SnapshotEvery: -1, Quota: 1 << 30,
			}, ports, logrus.NewEntry(log))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if first {
				if err := host.Ledger(t.Context(), capacity.Create{
					At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
						Size: 4 * events.BlockSize, Duration: time.Hour, MinPrice: events.NewAmount(1),
						Collateral: events.NewAmount(1 << 38), Enabled: true,
					},
				}); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				world.Mine(1)
				synctest.Wait()
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if err := host.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if first {
				store = before(t, store, "AvailabilityCreated")
			}
		}
		time.Sleep(time.Minute) // Lets the actor library's last timers expire.
	})
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	if !slices.ContainsFunc(list, func(e events.Recorded) bool { return e.Type == "RecordWentBack" }) {
		t.Fatal("the run has no RecordWentBack")
	}
	return list
}

// before is a copy of a store up to the first event of a type.
func before(t *testing.T, store *storetest.Memory, kind string) *storetest.Memory {
	t.Helper()
	older := storetest.NewMemory()
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == kind {
			break
		}
		_, err := older.Append(t.Context(), e.Stream, events.ExpectNext(e.Revision),
			[]events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return older
}
