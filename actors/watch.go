package actors

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
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

// watch alerts an operator of what does not pass by itself.
type watch struct {
	*chainview.Chain
	*health.Alerts
	record             *hostRecord
	cluster            port.Cluster // nil: the host is this process
	certificateWarning time.Duration
	recordAway         atomic.Bool // the start waits for the event store
}

// keep watches until ctx ends, also after a panic.
func (w *watch) keep(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.RT.Guarded("watch", func() error {
			w.look(ctx)
			return nil
		})
		if err != nil {
			_ = shell.Sleep(ctx, w.Clock, watchEvery)
		}
	}
}

// look alerts when the event store or the chain has been away for long, from the beginning of
// the start.
func (w *watch) look(ctx context.Context) {
	var away, silent health.Incident
	ofMembers := []*sustained{
		{code: "no-owner"}, {code: "owner-silent"}, {code: "member-silent"}, {code: "certificate-ends"},
	}
	last, moved := w.View.Now(), w.Clock.Now()
	for {
		w.Yield(ctx, "watch")
		now := w.Clock.Now()
		moves := false
		if head := w.View.Now(); head.Hash != last.Hash {
			last, moved, moves = head, now, true
		} else if last.Hash == (events.Hash{}) && (w.recordAway.Load() || w.StoreWatch.Away()) {
			moved = now // Nobody looks at the chain before the record is read.
		}
		r := w.StoreWatch.Now()
		away.Lasts(r.Away && now.Sub(r.Since) >= AwayAlertAfter, !r.Away, func() {
			w.RaiseCause("record-away", events.SlotID{}, health.Facts{Stage: health.Running, Record: r})
		}, func() { w.ClearCause("record-away", "the event store answers") })
		silent.Lasts(now.Sub(moved) >= max(SilentAlertAfter, silentAlertBlocks*w.BlockTime()), moves, func() {
			w.RaiseCause("chain-silent", events.SlotID{},
				health.Facts{Chain: health.ChainFacts{SilentSince: moved, Head: last}})
		}, func() {
			w.ClearCause("chain-silent", "blocks come")
			w.ClearCause("chain-away", "the chain answers")
		})
		w.watchMembers(ofMembers)
		if shell.Sleep(ctx, w.Clock, watchEvery) != nil {
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
func (w *watch) watchMembers(causes []*sustained) {
	f := health.Facts{Stage: health.Running, Members: w.members()}
	for _, l := range causes {
		_, so := health.CauseOf(l.code, f)
		if !so {
			l.since = time.Time{}
		} else if l.since.IsZero() {
			l.since = w.Clock.Now()
		}
		l.Lasts(so && w.Clock.Now().Sub(l.since) >= AwayAlertAfter, !so,
			func() { w.RaiseCause(l.code, events.SlotID{}, f) }, func() { w.ClearCause(l.code, "it is no longer so") })
	}
}

// members is what this member knows of the others, by the record and by the cluster.
func (w *watch) members() (f health.MembersFacts) {
	if w.cluster == nil {
		return f
	}
	now, _ := w.record.state()
	term, lasts := membership.Owner(now)
	f.Member, f.TermSince = w.Member, term.Ended
	if lasts {
		f.Owner, f.TermSince = term.Member, term.Since
	}
	seen := w.cluster.Seen()
	for _, p := range now.Members() {
		if p.Stopped.IsZero() && !slices.Contains(seen, p.Member) {
			f.Silent = append(f.Silent, health.SilentMember{Member: p.Member, Heard: p.Heard})
		}
	}
	if told, ok := w.cluster.(interface{ MayOwn() []events.Member }); ok {
		f.MayOwn, f.MayOwnKnown = told.MayOwn(), true
	}
	if told, ok := w.cluster.(interface{ LeaseAway() (time.Time, error) }); ok {
		if since, why := told.LeaseAway(); why != nil {
			f.LeaseAway, f.LeaseAwaySince = why.Error(), since
		}
	}
	if shown, ok := w.cluster.(interface {
		CertificateEnds() (file string, at time.Time)
	}); ok {
		if file, at := shown.CertificateEnds(); file != "" && at.Sub(w.Clock.Now()) < w.certificateWarning {
			f.Certificate, f.CertificateEnds = file, at
		}
	}
	return f
}

// roomEvery is how often the room is measured, by the machine's clock.
const roomEvery = 15 * time.Second

// diskBack says what the disk has that was away at the start.
type diskBack struct{ stored []events.StoredSlot }

// diskWatch measures the room on the disk, alerts when it is full or away, and wakes the queue when it is no longer so.
type diskWatch struct {
	*shell.Base
	*health.Alerts
	room        *admission.DiskRoom
	repo        port.Repo
	sectors     port.SectorStore // nil: this machine has no files of sectors
	root, queue *shell.Part

	unread                  bool // the disk was away when the host began
	full, away, sectorsAway health.Incident
	sectorsSeen             bool
}

// run looks again and again.
func (w *diskWatch) run(ctx context.Context) {
	for {
		w.Yield(ctx, "room")
		_ = w.RT.Guarded("room", func() error { return w.look(ctx) }) // It is tried again.
		if shell.Sleep(ctx, w.Clock, roomEvery) != nil {
			return
		}
	}
}

func (w *diskWatch) look(ctx context.Context) error {
	if w.sectors != nil {
		w.lookAtSectors()
	}
	free, err := w.repo.Room()
	if err != nil && !shell.IsOneOf(err, events.ErrDiskFull, events.ErrDiskAway) {
		w.Log.Warnf("could not measure the room on the disk: %v", err)
	}
	if w.room.Set(w.Clock.Now(), free, err) {
		w.queue.Tell(queue.Wake{Reason: "the disk has room", Criteria: []string{slotqueue.CriterionDisk}})
	}
	d, was := w.room.Now(), w.full.Told || w.away.Told
	w.full.Lasts(d.Full && !d.Away, d.Known && !d.Full,
		func() { w.RaiseCause("disk-full", events.SlotID{}, health.Facts{Disk: d}) },
		func() { w.ClearCause("disk-full", "the disk has room") })
	w.away.Lasts(d.Away, d.Known && !d.Away,
		func() { w.RaiseCause("disk-away", events.SlotID{}, health.Facts{Disk: d}) },
		func() { w.ClearCause("disk-away", "the disk is there") })
	if was && !w.full.Told && !w.away.Told {
		w.Log.Infof("the disk is there and has room again: %d bytes", d.Free)
	}
	if !w.unread || d.Away {
		return nil
	}
	stored, err := w.repo.Stored(ctx)
	if err == nil {
		w.unread = false
		w.root.Tell(diskBack{stored})
	}
	return err
}

// lookAtSectors alerts when the files of sectors go away that were there. Until then the part is down.
func (w *diskWatch) lookAtSectors() {
	err := w.sectors.Here()
	if w.sectorsSeen = w.sectorsSeen || err == nil; !w.sectorsSeen {
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	w.room.SetSectors(why)
	w.sectorsAway.Lasts(why != "", true, func() {
		w.RaiseCause("sectors-disk-away", events.SlotID{}, health.Facts{Disk: w.room.Now()})
	}, func() { w.ClearCause("sectors-disk-away", "the disk is there") })
}
