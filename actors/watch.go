package actors

import (
	"context"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file alerts operators when the event store, the chain or a member has been away for a while, or the disk is away
// or full. Each incident is told once, until all is well again.

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
	members := []*sustained{
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

// sustained is a cause that is told when it has lasted.
type sustained struct {
	health.Incident
	code  string
	since time.Time
}

// watchMembers alerts when nobody has had the term for a while, or a member has been silent: the next
// owner takes the term within seconds, and a member may be started again.
func (e *env) watchMembers(causes []*sustained) {
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

// membersFacts is what this member knows of the others, by the record and by the cluster.
func (e *env) membersFacts() (f health.MembersFacts) {
	if e.Cluster == nil {
		return f
	}
	now, _ := e.owner.state()
	term, lasts := membership.Owner(now)
	f.Member, f.TermSince = e.Member, term.Ended
	if lasts {
		f.Owner, f.TermSince = term.Member, term.Since
	}
	seen := e.Cluster.Seen()
	for _, p := range now.Members() {
		if p.Stopped.IsZero() && !slices.Contains(seen, p.Member) {
			f.Silent = append(f.Silent, health.SilentMember{Member: p.Member, Heard: p.Heard})
		}
	}
	if told, ok := e.Cluster.(interface{ MayOwn() []events.Member }); ok {
		f.MayOwn, f.MayOwnKnown = told.MayOwn(), true
	}
	if told, ok := e.Cluster.(interface{ LeaseAway() (time.Time, error) }); ok {
		if since, why := told.LeaseAway(); why != nil {
			f.LeaseAway, f.LeaseAwaySince = why.Error(), since
		}
	}
	if shown, ok := e.Cluster.(interface {
		CertificateEnds() (file string, at time.Time)
	}); ok {
		if file, at := shown.CertificateEnds(); file != "" && at.Sub(e.Clock.Now()) < e.CertificateWarning {
			f.Certificate, f.CertificateEnds = file, at
		}
	}
	return f
}

// roomEvery is how often the room is measured, by the machine's clock.
const roomEvery = 15 * time.Second

// diskBack says what the disk has that was away at the start.
type diskBack struct{ stored []events.StoredSlot }

// watchRoom measures the room again and again, alerts when the disk is full or away, and wakes the
// queue when it is no longer so. unread says that the disk was away when the host began.
func (e *env) watchRoom(unread bool, wake func(queue.Wake)) func(context.Context) {
	var full, away health.Incident
	sectors := e.watchSectorFiles()
	look := func(ctx context.Context) error {
		sectors()
		free, err := e.Repo.Room()
		if err != nil && !shell.IsOneOf(err, events.ErrDiskFull, events.ErrDiskAway) {
			e.Log.Warnf("could not measure the room on the disk: %v", err)
		}
		if e.Room.Set(e.Clock.Now(), free, err) {
			wake(queue.Wake{Reason: "the disk has room", Criteria: []string{slotqueue.CriterionDisk}})
		}
		d, was := e.Room.Now(), full.Told || away.Told
		full.Is(d.Full && !d.Away, func() {
			e.RaiseCause("disk-full", events.SlotID{}, health.Facts{Disk: d})
		})
		away.Is(d.Away, func() {
			e.RaiseCause("disk-away", events.SlotID{}, health.Facts{Disk: d})
		})
		if was && !full.Told && !away.Told {
			e.Log.Infof("the disk is there and has room again: %d bytes", d.Free)
		}
		if !unread || d.Away {
			return nil
		}
		stored, err := e.Repo.Stored(ctx)
		if err == nil {
			unread = false
			e.root.Tell(diskBack{stored})
		}
		return err
	}
	return func(ctx context.Context) {
		for {
			e.Yield(ctx, "room")
			_ = e.RT.Guarded("room", func() error { return look(ctx) }) // It is tried again.
			if shell.Sleep(ctx, e.Clock, roomEvery) != nil {
				return
			}
		}
	}
}

// watchSectorFiles returns what alerts when the files of sectors go away that were there. Until then the part is down.
func (e *env) watchSectorFiles() (look func()) {
	p := e.Ports.Sectors
	if p == nil || e.Config.Sectors.FilesElsewhere {
		return func() {}
	}
	var away health.Incident
	seen := false
	return func() {
		err := p.Files.Here()
		if seen = seen || err == nil; !seen {
			return
		}
		why := ""
		if err != nil {
			why = err.Error()
		}
		e.Room.SetSectors(why)
		away.Is(why != "", func() {
			e.RaiseCause("sectors-disk-away", events.SlotID{}, health.Facts{Disk: e.Room.Now()})
		})
	}
}
