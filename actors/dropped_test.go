package actors_test

import (
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// A host that died before the queue had heard of the end of a failed sale takes the slot again
// at its next start. The contract goes on naming its host, and has let go of it.
func TestADroppedSlotIsNotAdoptedOnceMore(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		request := longer(1, 3)
		r.world.Post(request)
		r.mineUntil("all prove", func() bool { return r.count("RequestStarted") == 3 })
		for i := range uint64(2) {
			if err := r.world.TakeBack(events.SlotIDOf(request.ID, i)); err != nil {
				r.Fatal(err)
			}
		}
		synctest.Wait()
		r.mineUntil("all are settled", func() bool { return r.count("SaleSettled") == 3 })
		r.mine(4)
		r.host.Kill()
		r.store = r.withoutReleases()
		r.ports.Store = r.store
		r.start()
		// A freed slot may be offered, taken and released once more.
		r.mineUntil("the queue has heard of all", func() bool { return r.count("SlotReleased") >= 3 })
		r.mine(4)
		if n := r.count("SaleStarted"); n != 3 {
			r.Fatalf("%d sales were started for three slots; the record: %v", n, r.names())
		}
		r.clean()
	})
}

// withoutReleases is a copy of the record in which the queue has not heard of any release.
func (r *rig) withoutReleases() *storetest.Memory {
	r.Helper()
	older, deaf, began := storetest.NewMemory(), "", 0
	for e, err := range r.store.ReadAll(r.Context(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if e.Type == "SaleStarted" {
			began++
		}
		if e.Type == "SlotReleased" && began == 3 { // Earlier ones are of slots that were taken again.
			deaf = e.Stream
		}
		if events.IsSystem(e.Stream) || e.Stream == deaf {
			continue
		}
		_, err := older.Append(r.Context(), e.Stream, events.ExpectNext(e.Revision),
			[]events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta}})
		if err != nil {
			r.Fatal(err)
		}
	}
	return older
}
