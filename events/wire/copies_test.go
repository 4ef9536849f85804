package wire_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// copies is a store that copies what is appended, as a database does, and keeps it until it is
// released.
type copies struct {
	events.Store
	holds atomic.Int64
	most  atomic.Int64
	let   chan struct{}
}

func (c *copies) Append(
	_ context.Context, _ string, _ events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	for _, e := range batch {
		now := c.holds.Add(2 * int64(len(e.Data)))
		defer c.holds.Add(-2 * int64(len(e.Data)))
		c.most.Store(max(c.most.Load(), now))
	}
	<-c.let
	return events.AppendResult{Exists: true, Position: 1}, nil
}

func TestTheCopyThatTheStoreMakesIsCounted(t *testing.T) {
	const clients = 12
	store := &copies{Store: storetest.NewMemory(), let: make(chan struct{})}
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Store, cfg.Limits.BusyTime, cfg.Limits.AppendTime = store, time.Hour, time.Hour
	})
	options, event := encode(t, appendOptions("a-1")), encode(t, largeEvent())
	results := make(chan error, clients)
	for range clients {
		s.begins(t, options, event, results)
	}
	until(t, "the store has all that fits", func() bool { return store.holds.Load() > oneWay-3*events.MaxEventBytes })
	close(store.let)
	for range clients {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if most := store.most.Load(); most > oneWay {
		t.Errorf("events and their copies took %d bytes, the limit is %d", most, oneWay)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}
