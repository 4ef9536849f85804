package actors

import (
	"context"
	"errors"
	"sync"

	"github.com/hostnode/hostnode/actors/shell"
)

// This file writes events into the host's stream in the background, in their order.

// hostWrites are the events that wait to be written into the host's stream, in their order.
type hostWrites struct {
	mu      sync.Mutex
	waiting []hostWrite
	writing bool
}

type hostWrite struct {
	event  hostEvent
	stored func()
}

// recordHost writes an event into the host's stream in the background, after those before it,
// and calls stored when it is durable.
func (e *env) recordHost(m hostEvent, stored func()) {
	e.hostWrites.mu.Lock()
	defer e.hostWrites.mu.Unlock()
	e.hostWrites.waiting = append(e.hostWrites.waiting, hostWrite{m, stored})
	if !e.hostWrites.writing {
		e.hostWrites.writing = true
		e.RT.Do("host's stream", e.writeQueued)
	}
}

func (e *env) writeQueued(ctx context.Context) {
	for {
		e.Yield(ctx, "host's stream")
		e.hostWrites.mu.Lock()
		if len(e.hostWrites.waiting) == 0 {
			e.hostWrites.writing = false
			e.hostWrites.mu.Unlock()
			return
		}
		next := e.hostWrites.waiting[0]
		e.hostWrites.waiting = e.hostWrites.waiting[1:]
		e.hostWrites.mu.Unlock()
		err := e.RT.Guarded("host's stream", func() error { return e.writeHost(ctx, next.event) })
		switch {
		case ctx.Err() != nil: // writing stays set, so nothing is written any more.
			return
		case errors.Is(err, shell.ErrTakenOver):
			e.owner.lost(err)
			return
		case err != nil:
			e.Log.Errorf("an event of the host's stream could not be recorded: %v", err)
		default:
			next.stored()
		}
	}
}
