package actors

import (
	"context"
	"errors"
	"sync"

	"github.com/hostnode/hostnode/actors/shell"
)

// This file writes words into the host's stream in the background, in their order.

// words are those of the host's stream that wait to be written, in their order.
type words struct {
	mu      sync.Mutex
	waiting []word
	writing bool
}

type word struct {
	event  hostWord
	stored func()
}

// say writes a word into the host's stream in the background, after those before it.
func (e *env) say(m hostWord, stored func()) {
	e.words.mu.Lock()
	defer e.words.mu.Unlock()
	e.words.waiting = append(e.words.waiting, word{m, stored})
	if !e.words.writing {
		e.words.writing = true
		e.RT.Do("host's stream", e.writeWords)
	}
}

func (e *env) writeWords(ctx context.Context) {
	for {
		e.Turn(ctx, "host's stream")
		e.words.mu.Lock()
		if len(e.words.waiting) == 0 {
			e.words.writing = false
			e.words.mu.Unlock()
			return
		}
		next := e.words.waiting[0]
		e.words.waiting = e.words.waiting[1:]
		e.words.mu.Unlock()
		err := e.RT.Guarded("host's stream", func() error { return e.sayHost(ctx, next.event) })
		switch {
		case ctx.Err() != nil: // It stays `writing`: nothing is written any more.
			return
		case errors.Is(err, shell.ErrTakenOver):
			e.owner.lost(err)
			return
		case err != nil:
			e.Log.Errorf("a word of the host's stream could not be recorded: %v", err)
		default:
			next.stored()
		}
	}
}
