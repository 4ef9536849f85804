//go:build !race

package demo

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/projections"
)

// leaving is a store that goes away and comes back. While it is away it can be read if readable
// is set, but takes no appends, like a leader that is cut off from the others.
type leaving struct {
	events.Store
	away     atomic.Bool
	readable bool
}

func (l *leaving) silent() bool { return l.away.Load() && !l.readable }

func (l *leaving) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if l.away.Load() {
		return events.AppendResult{}, events.ErrAway
	}
	return l.Store.Append(ctx, stream, expected, batch)
}

func (l *leaving) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if l.silent() {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, events.ErrAway) }
	}
	return l.Store.ReadStream(ctx, stream, q)
}

func (l *leaving) Head(ctx context.Context) (events.Position, error) {
	if l.silent() {
		return 0, events.ErrAway
	}
	return l.Store.Head(ctx)
}

// The store goes away when the start knows that the host may begin, before it has appended
// anything.
func TestAStoreThatGoesAwayWhileTheHostBootsCostsNoProof(t *testing.T) {
	if testing.Short() {
		t.Skip("two sales of three periods, with all their proofs")
	}
	for name, readable := range map[string]bool{"it answers nothing": false, "it takes nothing": true} {
		t.Run(name, func(t *testing.T) { bootsWithout(t, readable) })
	}
}

func bootsWithout(t *testing.T, readable bool) {
	s := setFor(t, 3, func(c *client) string { return c.url })
	id := s.begin(t)
	poll(t, func(ctx context.Context) bool {
		st, err := s.node.Host.Status(ctx)
		proving := 0
		for _, one := range st.Sales {
			if one.State.Phase == sale.Proving {
				proving++
			}
		}
		return err == nil && proving == 3
	})
	s.halt()
	check(t, s.node.Stop(t.Context()))

	store := &leaving{Store: s.store, readable: readable}
	store.away.Store(true)
	var told atomic.Pointer[health.OutageFacts]
	told.Store(&health.OutageFacts{})
	options := s.options
	options.Store, options.Proves = store, func(f health.OutageFacts) { told.Store(&f) }
	begun := make(chan *node.Node, 1)
	go func() {
		n, err := node.Start(t.Context(), options)
		if err != nil {
			t.Error(err)
		}
		begun <- n
	}()
	poll(t, func(context.Context) bool { return told.Load().Proves })
	s.run(t, devchain.FixedPace(300*time.Millisecond))
	poll(t, func(context.Context) bool { return told.Load().Proofs >= 4 })
	s.halt()
	store.away.Store(false)
	s.node = <-begun
	s.run(t, pacer(s.local, longestHold, s.progress))
	s.over(t, id)
	if got := s.phases(t); got["Finished"] != 3 {
		t.Errorf("sales ended as %v, want 3 finished", got)
	}
	views, err := projections.Open(t.Context(), s.store, projections.Config{})
	check(t, err)
	defer views.Close()
	for _, row := range views.Sales().Sales {
		if row.Proofs.Missed > 0 {
			t.Errorf("slot %d missed %d proofs of %d", row.SlotIndex, row.Proofs.Missed, row.Proofs.Submitted)
		}
	}
}
