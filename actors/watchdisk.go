package actors

import (
	"context"
	"errors"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file watches how much room the disk has.

// roomEvery is how often the room is measured, by the machine's clock.
const roomEvery = 15 * time.Second

// watchRoom measures the room again and again, alerts when the disk is full, and wakes the
// queue when it is no longer so.
func (e *env) watchRoom(wake func(queue.Wake)) func(context.Context) {
	var full health.Incident
	look := func() {
		free, err := e.Repo.Room()
		if err != nil && !errors.Is(err, events.ErrDiskFull) {
			e.Log.Warnf("could not measure the room on the disk: %v", err)
		}
		if e.Room.Set(e.Clock.Now(), free, err) {
			wake(queue.Wake{Reason: "the disk has room", Criteria: []string{slotqueue.CriterionDisk}})
		}
		d, was := e.Room.Now(), full.Told
		full.Is(d.Full, func() {
			e.RaiseCause("disk-full", events.SlotID{}, health.Facts{Disk: d})
		})
		if was && !full.Told {
			e.Log.Infof("the disk has room again: %d bytes", d.Free)
		}
	}
	return func(ctx context.Context) {
		for {
			e.Yield(ctx, "room")
			_ = e.RT.Guarded("room", func() error { // It is tried again.
				look()
				return nil
			})
			if shell.Sleep(ctx, e.Clock, roomEvery) != nil {
				return
			}
		}
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
