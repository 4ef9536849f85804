package projections

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// Requests that nothing on offer fits are in a row until one fits, or until what is on offer has changed in that
// which they failed. A request that is judged again counts once, and checkpoints keep the row.
func TestRefusedRequestsAreInARowUntilOneFitsOrMayFit(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	refuse := func(criterion string, numbers ...uint64) {
		for _, n := range numbers {
			w.AskQueue(slotqueue.Queue{
				At: w.Now, RequestID: w.Request(n).ID, SlotIndices: []uint64{1},
				Refusal: &slotqueue.Refusal{Criterion: criterion, Reason: w.Now.String()},
			})
		}
	}
	row := func() (all []string) {
		t.Helper()
		for _, q := range reloaded(t, built(t, store)).Queues().Queues {
			for _, r := range q.RefusedInARow {
				all = append(all, r.Criterion)
			}
		}
		return all
	}
	expect := func(want ...string) {
		t.Helper()
		if got := row(); !slices.Equal(got, want) {
			t.Fatalf("in a row: %v, want %v", got, want)
		}
	}
	price, size, client := string(capacity.Price), string(capacity.Size), slotqueue.CriterionClient
	refuse(price, 1, 2)
	refuse(client, 3) // It says nothing of what is on offer.
	expect(price, price)
	refuse(size, 1) // Judged again.
	expect(price, size)
	w.Enqueue(w.Request(4))
	expect()
	refuse(price, 5, 6)
	refuse(string(capacity.Overhead), 7)
	w.MustLedger(capacity.Create{At: w.Now, ID: events.AvailabilityID{0xbb}, Now: capacity.Offer{
		Size: events.BlockSize, Duration: time.Hour, MinPrice: events.NewAmount(1), Collateral: events.NewAmount(1),
		Enabled: true,
	}})
	expect(string(capacity.Overhead))
	for n := range uint64(MaxInARow) {
		refuse(price, 10+n)
	}
	if all := row(); len(all) != MaxInARow || slices.Contains(all, string(capacity.Overhead)) {
		t.Fatalf("in a row: %v", all)
	}
}
