package actors_test

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// counting counts the calls that read the chain.
type counting struct {
	port.Market
	reads atomic.Int64
}

func (c *counting) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	c.reads.Add(1)
	return c.Market.Request(ctx, id)
}

func (c *counting) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	c.reads.Add(1)
	return c.Market.Slot(ctx, id, index)
}

func (c *counting) Balance(ctx context.Context, paid ...events.Head) (events.Balance, error) {
	c.reads.Add(1)
	return c.Market.Balance(ctx, paid...)
}

func TestAFloodOfRequestsFillsTheQueueAndNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 requests")
	}
	inWorld(t, func(r *rig) {
		const flood, room = 10_000, 500
		c := &counting{Market: r.ports.Market}
		r.ports.Market = c
		s := r.disturb()
		s.download = withheld
		r.cfg.MaxQueued, r.cfg.MaxWorkers = room, 2
		r.start()
		r.offer(64 * events.BlockSize)
		requests := make([]events.Request, flood)
		for i := range requests {
			requests[i] = long(0, 1)
			binary.BigEndian.PutUint64(requests[i].ID[8:], uint64(i)+1)
			requests[i].Ask.PricePerBytePerSecond = events.NewAmount(uint64(1 + i%50))
		}
		r.world.PostAll(requests)
		synctest.Wait()
		view, err := r.host.ViewQueue(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		if len(view.Items) != room || len(view.Taken) != 2 {
			r.Fatalf("%d queued and %d taken, want %d and 2", len(view.Items), len(view.Taken), room)
		}
		for _, it := range view.Items { // The best pay 50, and there are 200 of each price.
			if best := view.Items[0].Profitability; it.Profitability.MulSaturating(50).Less(best.MulSaturating(47)) {
				r.Fatalf("a bad one stayed: %+v", it)
			}
		}
		if got := c.reads.Load(); got > 2*4+10 {
			r.Fatalf("%d requests led to %d calls to the chain", flood, got)
		}
	})
}
