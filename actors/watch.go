package actors

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file tells operators of what went wrong: with a sale, when it is in the record,
// and with what the host depends on, when it has been away for a while. Each incident
// is told once; it is over when all is well again.

const (
	// watchEvery is how often, by the machine's clock, it is looked whether the event
	// store and the chain are there.
	watchEvery = 15 * time.Second
	// AwayAlertAfter is how long the event store may be away before somebody is called: a
	// restart takes less.
	AwayAlertAfter = time.Minute
	// SilentAlertAfter is the same for the chain, and silentAlertBlocks for a chain
	// whose blocks are far apart.
	SilentAlertAfter  = 2 * time.Minute
	silentAlertBlocks = 20
)

// keepWatch watches until ctx ends.
func (e *env) keepWatch(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.RT.Guarded("watch", func() error {
			e.watch(ctx)
			return nil
		})
		if err != nil {
			_ = shell.Sleep(ctx, e.Clock, watchEvery)
		}
	}
}

// watch tells when the event store or the chain has been away for long, from the moment on
// in which the host begins to start.
func (e *env) watch(ctx context.Context) {
	var record, silent health.Incident
	last, moved := e.View.Now(), e.Clock.Now()
	for {
		e.Yield(ctx, "watch")
		now := e.Clock.Now()
		if head := e.View.Now(); head.Hash != last.Hash {
			last, moved = head, now
		}
		r := e.Record.Now()
		record.Is(r.Away && now.Sub(r.Since) >= AwayAlertAfter, func() {
			e.RaiseCause("record-away", events.SlotID{}, health.Facts{Stage: health.Running, Record: r})
		})
		silent.Is(now.Sub(moved) >= max(SilentAlertAfter, silentAlertBlocks*e.BlockTime()), func() {
			e.RaiseCause("chain-silent", events.SlotID{},
				health.Facts{Chain: health.ChainFacts{SilentSince: moved, Head: last}})
		})
		if shell.Sleep(ctx, e.Clock, watchEvery) != nil {
			return
		}
	}
}
