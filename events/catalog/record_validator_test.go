package catalog_test

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/validation"
)

// overtaken is a validator's port on a market where another validator is faster once.
type overtaken struct {
	port.Validation
	world *sim.World
	once  *atomic.Bool
}

func (o overtaken) MarkMissing(
	ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time,
) (events.Marking, error) {
	if o.once.CompareAndSwap(false, true) {
		if err := o.world.Mark(slot.Slot, period); err != nil {
			return events.Marking{}, err
		}
	}
	return o.Validation.MarkMissing(ctx, slot, period, deadline)
}

// validated is the record of a host that only validates: two slots of another host
// miss their proofs, and another validator is faster once.
func validated(t *testing.T) (list []events.Recorded) {
	t.Helper()
	store := storetest.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		world := sim.NewWorld(events.NewAmount(1 << 40))
		ports := world.Ports(store)
		ports.Validation = overtaken{world.Validation(), world, &atomic.Bool{}}
		log := logrus.New()
		log.SetOutput(io.Discard)
		host, err := actors.Start(t.Context(), actors.Config{
			Node: "hostnode", Version: "history", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
			FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, SnapshotEvery: -1,
			Validator: validation.Settings{MaxSlots: 1000},
		}, ports, logrus.NewEntry(log))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		request := sim.Offer(1, 2)
		request.Ask.MaxSlotLoss, request.Ask.Duration, request.Expiry = 2, 4000*time.Second, 3900*time.Second
		world.Post(request)
		for i := range request.Ask.Slots {
			if err := world.Rival(events.SlotIDOf(request.ID, i)); err != nil {
				t.Fatal(err)
			}
		}
		for range 200 {
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
	var names []string
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list, names = append(list, e), append(names, e.Type)
	}
	list = withoutSnapshots(list)
	for _, name := range []string{"ValidationStarted", "ProofMarked", "MarkingFailed"} {
		if !slices.Contains(names, name) {
			t.Fatalf("no %s in %v", name, names)
		}
	}
	if !clean(t, list) {
		t.Fatal("the audit of the record finds something")
	}
	return list
}

// The audit finds nothing wrong with a validator's record.
func TestTheRecordOfAValidatorIsInOrder(t *testing.T) { validated(t) }
