package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file is what a start does on a record that lacks what it had: the server was
// restored from an older backup, its database is empty, or it is another one. What the
// chain and the disk know is found as after every start, and what is owed is proven. What
// cannot be known again is named, and nothing is sold until a person wants it: the queue
// is paused as an operator pauses it.

// maxNamedLost is how many streams, offers and reservations the record names.
const maxNamedLost = 1_000

// alertRecordLoss tells of a record that lacks what it had, in the record too.
func (s *supervisor) alertRecordLoss() {
	if s.Witness == nil || s.Witness.Lost().None() {
		return
	}
	s.Raise(health.AlertWentBack, events.SlotID{}, 0, describeLoss(s.Witness.Lost()),
		"what the chain knows is found again, and proofs go out. Look at what is lost with `hostnode audit`, put on "+
			"offer again what is missing in `hostnode availability list`, then sell again: hostnode drain --resume")
}

// lossUnrecorded says that the queue takes nothing, because what the record lacks is not recorded yet.
func (e *env) lossUnrecorded() bool {
	return e.Witness != nil && !e.lossRecorded.Load() && !e.Witness.Lost().None()
}

// pauseAfterLoss pauses a queue that has just been started, until what is lost is recorded: then
// it is paused by its record.
func (s *supervisor) pauseAfterLoss() {
	if !s.lossUnrecorded() {
		return
	}
	lost := s.Witness.Lost()
	asked := shell.Ask[struct{}](s.queue, queue.Command{
		Cmd: slotqueue.Pause{At: s.Clock.Now(), Reason: describeLoss(lost)}, Cause: "start",
	})
	s.RT.Do("went back", func(ctx context.Context) {
		s.Yield(ctx, "went back")
		_, err := asked.Wait(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, shell.ErrPartDown): // Its next start holds it.
		case errors.Is(err, shell.ErrReloading):
			s.pauseAfterLoss()
		case err != nil: // It would sell until then.
			s.Log.Errorf("the queue could not be paused for a record that went back, and is asked again: %v", err)
			s.Clock.After(s.RetryAfter, s.pauseAfterLoss)
		default:
			s.recordLoss(lost)
		}
	})
}

func (s *supervisor) recordLoss(lost events.WentBack) {
	s.lossRecorded.Store(true)
	s.recordHost(lossOf(lost, s.Clock.Now(), s.Epoch), func() {
		if err := s.Witness.Settle(); err != nil {
			s.Log.Errorf("that the record went back is told again at the next start: %v", err)
		}
	})
}

// lossOf is how a loss is recorded.
func lossOf(lost events.WentBack, now time.Time, epoch uint64) *messages.RecordWentBack {
	m := &messages.RecordWentBack{
		At: events.TimeToMessage(now), Epoch: epoch,
		Ends: events.TimeToMessage(lost.Ends), Seen: events.TimeToMessage(lost.Seen),
		Offers:       lost.Offers[:min(maxNamedLost, len(lost.Offers))],
		Reservations: lost.Reservations[:min(maxNamedLost, len(lost.Reservations))],
	}
	for i, short := range lost.Streams {
		if i == maxNamedLost {
			m.More = uint64(len(lost.Streams) - i)
			break
		}
		m.Streams = append(m.Streams, &messages.ShortStream{Stream: short.Stream, Had: short.Had, Has: short.Has})
	}
	return m
}

// describeLoss says in a sentence what a store lacks.
func describeLoss(lost events.WentBack) string {
	ends := "it is empty"
	if !lost.Ends.IsZero() {
		ends = "it ends at " + lost.Ends.UTC().Format(health.SinceFormat)
	}
	first := lost.Streams[0]
	text := fmt.Sprintf("the event store is older than this host: %s, and the host wrote until %s. %d streams lack "+
		"events, among them %s with %d of %d; %d offers and %d reservations made or changed since are lost",
		ends, lost.Seen.UTC().Format(health.SinceFormat), len(lost.Streams), first.Stream, first.Has, first.Had,
		len(lost.Offers), len(lost.Reservations))
	for _, offer := range lost.Offers[:min(shell.MaxNamedStreams, len(lost.Offers))] {
		text += "; offer " + offer
	}
	return text
}
