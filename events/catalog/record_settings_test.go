package catalog_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/storetest"
)

// settingsChanged is the record of a host that starts three times, the last time with other settings.
func settingsChanged(t *testing.T) (list []events.Recorded) {
	t.Helper()
	store := storetest.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		world := sim.NewWorld(events.NewAmount(1 << 40))
		log := logrus.New()
		log.SetOutput(io.Discard)
		first := []membership.Given{
			{Setting: membership.Setting{Key: "alerts.webhook", Value: "https://alerts.example/***", Source: "file", Seal: "0123456789abcdef"}},
			{Setting: membership.Setting{Key: "sales.maxWorkers", Value: "5", Source: "flag"}, Default: "3"},
		}
		then := []membership.Given{
			{Setting: membership.Setting{Key: "alerts.webhook", Value: "https://alerts.example/***", Source: "file", Seal: "fedcba9876543210"}},
			{Setting: membership.Setting{Key: "sales.maxWorkers", Value: "3", Source: "default"}, Default: "3"},
		}
		for _, settings := range [][]membership.Given{first, first, then} {
			host, err := actors.Start(t.Context(), actors.Config{
				Node: "hostnode", Version: "history", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
				FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, SnapshotEvery: -1, Quota: 1 << 30,
				Settings: settings,
			}, world.Ports(store), logrus.NewEntry(log))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			world.Mine(1)
			synctest.Wait()
			if err := host.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // Lets the actor library's last timers expire.
		}
	})
	count := 0
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "SettingsChanged" {
			count++
		}
		list = append(list, e)
	}
	if count != 2 {
		t.Fatalf("the run has %d SettingsChanged", count)
	}
	return list
}
