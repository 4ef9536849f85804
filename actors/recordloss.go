package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file handles a record that has lost events: the event store was restored from an older
// backup, is empty, or is another one. As after every start, the host learns from the chain and
// the disk what it hosts, and proves it. What cannot be recovered is named in an alert, and
// nothing is sold until an operator wants it: the queue is paused as by an operator.

// maxNamedLost is how many lost streams, offers and reservations are recorded by name.
const maxNamedLost = 1_000

// recordLoss is a record that may have lost events.
type recordLoss struct {
	*shell.Base
	*health.Alerts
	record  *hostRecord
	witness port.Witness // nil: there is none
	queue   *shell.Part
	// recorded: the loss is recorded, and the queue is paused in its own stream.
	recorded atomic.Bool
}

// alert raises an alert when the record has lost events.
func (l *recordLoss) alert() {
	if l.witness == nil || l.witness.Lost().None() {
		return
	}
	l.Raise(health.AlertWentBack, events.SlotID{}, 0, describeLoss(l.witness.Lost()),
		"what the chain knows is found again, and proofs go out. Look at what is lost with `hostnode audit`, put on "+
			"offer again what is missing in `hostnode availability list`, then sell again: hostnode drain --resume")
}

// unrecorded reports whether a loss of events is not recorded yet; until then the queue
// takes nothing.
func (l *recordLoss) unrecorded() bool {
	return l.witness != nil && !l.recorded.Load() && !l.witness.Lost().None()
}

// pauseQueue pauses a queue that has just been started, if events were lost. Once the pause
// is in the queue's record, the loss is recorded too.
func (l *recordLoss) pauseQueue() {
	if !l.unrecorded() {
		return
	}
	lost := l.witness.Lost()
	asked := shell.Ask[struct{}](l.queue, queue.Command{
		Cmd: slotqueue.Pause{At: l.Clock.Now(), Reason: describeLoss(lost)}, Cause: "start",
	})
	l.RT.Do("went back", func(ctx context.Context) {
		l.Yield(ctx, "went back")
		_, err := asked.Wait(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, shell.ErrPartDown): // Its next start pauses it.
		case errors.Is(err, shell.ErrReloading):
			l.pauseQueue()
		case err != nil: // Without the pause it would sell.
			l.Log.Errorf("events were lost, and the queue could not be paused for it, will try again: %v", err)
			l.Clock.After(l.RetryAfter, l.pauseQueue)
		default:
			l.store(lost)
		}
	})
}

func (l *recordLoss) store(lost events.WentBack) {
	l.recorded.Store(true)
	l.record.writeLater(lossOf(lost, l.Clock.Now(), l.Epoch), func() {
		if err := l.witness.Settle(); err != nil {
			l.Log.Errorf("the alert about lost events will be repeated at the next start: %v", err)
		}
		l.RT.Do("loss", func(ctx context.Context) { l.watch(ctx, lost) })
	})
}

// lookAgainEvery is how often it is looked whether what is recorded as lost is there after all.
const lookAgainEvery = 30 * time.Second

// watch takes a loss back when what was lost is there after all: the server that answered at the start did not know
// better. What has been written anew is not what was lost.
func (l *recordLoss) watch(ctx context.Context, lost events.WentBack) {
	for !l.witness.Lost().None() {
		if shell.Sleep(ctx, l.Clock, lookAgainEvery) != nil {
			return
		}
		l.Yield(ctx, "loss")
		if err := l.witness.LookAgain(ctx); err != nil {
			l.Log.Debugf("look again for what the event store lacked: %v", err)
		}
	}
	err := l.Retry(ctx, "loss", func(error) {}, never, func(ctx context.Context) error {
		shown, err := shell.Ask[slotqueue.Snapshot](l.queue, queue.Show{}).Wait(ctx)
		if err != nil || !shown.Stopped || shown.StoppedFor != describeLoss(lost) { // Something else may keep it.
			return err
		}
		_, err = shell.Ask[struct{}](l.queue, queue.Command{
			Cmd: slotqueue.Resume{At: l.Clock.Now(), Reason: "what the event store lacked is there"}, Cause: "start",
		}).Wait(ctx)
		return err
	})
	if err != nil {
		return
	}
	l.Log.Warn("what the event store lacked at the start is there after all: nothing was lost")
	l.Clear(health.AlertWentBack, events.SlotID{}, "what the event store lacked is there")
	back := lossOf(lost, l.Clock.Now(), l.Epoch)
	back.TakenBack = true
	l.record.writeLater(back, func() {})
}

// lossOf makes the event that records a loss.
func lossOf(lost events.WentBack, now time.Time, epoch uint64) *messages.RecordWentBack {
	m := &messages.RecordWentBack{
		At: events.TimeToMessage(now), Epoch: epoch,
		Ends: events.TimeToMessage(lost.Ends), Seen: events.TimeToMessage(lost.Seen),
		Offers:       lost.Offers[:min(maxNamedLost, len(lost.Offers))],
		Reservations: lost.Reservations[:min(maxNamedLost, len(lost.Reservations))],
	}
	named := lost.Streams[:min(maxNamedLost, len(lost.Streams))]
	m.More = uint64(len(lost.Streams) - len(named))
	for _, short := range named {
		m.Streams = append(m.Streams, &messages.ShortStream{Stream: short.Stream, Had: short.Had, Has: short.Has})
	}
	return m
}

// describeLoss says in a sentence what was lost.
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
