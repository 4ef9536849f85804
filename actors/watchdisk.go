package actors

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file watches whether the disk is there, and how much room it has.

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

// promised is how much the sales that still fetch their data may write.
func (s *supervisor) promised() (sum events.Bytes) {
	for _, ag := range s.agents {
		if ag.far == "" && (ag.starting || ag.state.Stored == 0 && !ag.state.Ended()) {
			size := ag.asked().Ask.SlotSize
			sum += size + s.Overhead(size)
		}
	}
	return sum
}

// Room is how much room the disk had when it was measured last.
func (h *Host) Room() health.DiskStatus { return h.env.Room.Now() }
