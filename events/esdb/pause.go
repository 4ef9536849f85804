package esdb

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// steady is how long a link lives whose server is not about to be lost at once.
	steady = time.Second
	// restShare is which part of the time that it has tried already a search, or a call,
	// rests before it tries again: so little is lost when the server is back, whether
	// an election took a second or an outage an hour.
	restShare = 50
)

// rest pauses before another try, longer the longer there have been tries.
func (s *Store) rest(ctx context.Context, since time.Time) {
	s.pause(ctx, min(max(time.Since(since)/restShare, s.cfg.MinPause), s.cfg.MaxPause))
}

// pause waits for about d, or until ctx ends or the store is closed. Chance
// keeps many hosts from coming back at the same moment.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}
