package actors

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file alerts operators when the event store, the chain or a member has been away for a while. Each
// incident is told once, until all is well again.

const (
	// watchEvery is how often the event store and the chain are checked, by the machine's
	// clock.
	watchEvery = 15 * time.Second
	// AwayAlertAfter is how long the event store may be away before an alert is raised: a
	// restart takes less.
	AwayAlertAfter = time.Minute
	// SilentAlertAfter is the same for a chain without new blocks; silentAlertBlocks is for a
	// chain with a long block time.
	SilentAlertAfter  = 2 * time.Minute
	silentAlertBlocks = 20
)

// keepWatch runs watch until ctx ends, also after a panic.
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

// watch alerts when the event store or the chain has been away for long, from the beginning of
// the start.
func (e *env) watch(ctx context.Context) {
	var record, silent health.Incident
	members := []*lasting{
		{code: "no-owner"}, {code: "owner-silent"}, {code: "member-silent"}, {code: "certificate-ends"},
	}
	last, moved := e.View.Now(), e.Clock.Now()
	for {
		e.Yield(ctx, "watch")
		now := e.Clock.Now()
		if head := e.View.Now(); head.Hash != last.Hash {
			last, moved = head, now
		} else if last.Hash == (events.Hash{}) && (e.recordAway.Load() || e.StoreWatch.Away()) {
			moved = now // Nobody looks at the chain before the record is read.
		}
		r := e.StoreWatch.Now()
		record.Is(r.Away && now.Sub(r.Since) >= AwayAlertAfter, func() {
			e.RaiseCause("record-away", events.SlotID{}, health.Facts{Stage: health.Running, Record: r})
		})
		silent.Is(now.Sub(moved) >= max(SilentAlertAfter, silentAlertBlocks*e.BlockTime()), func() {
			e.RaiseCause("chain-silent", events.SlotID{},
				health.Facts{Chain: health.ChainFacts{SilentSince: moved, Head: last}})
		})
		e.watchMembers(members)
		if shell.Sleep(ctx, e.Clock, watchEvery) != nil {
			return
		}
	}
}

// lasting is a cause that is told when it has lasted.
type lasting struct {
	health.Incident
	code  string
	since time.Time
}

// watchMembers alerts when nobody has had the term for a while, or a member has been silent: the next
// owner takes the term within seconds, and a member may be started again.
func (e *env) watchMembers(causes []*lasting) {
	f := health.Facts{Stage: health.Running, Members: e.membersFacts()}
	for _, l := range causes {
		_, so := health.CauseOf(l.code, f)
		if !so {
			l.since = time.Time{}
		} else if l.since.IsZero() {
			l.since = e.Clock.Now()
		}
		l.Is(so && e.Clock.Now().Sub(l.since) >= AwayAlertAfter, func() { e.RaiseCause(l.code, events.SlotID{}, f) })
	}
}
