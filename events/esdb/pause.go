package esdb

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// steady is how long a session must last to count as stable.
	steady = time.Second
	// backoffShare is the share of the time tried so far that a search, or a call, pauses
	// before the next try: so little time is lost when the server is back, whether an
	// election took a second or an outage an hour.
	backoffShare = 50
)

// backoff pauses before the next try; the longer the tries have lasted, the longer the pause.
func (s *Store) backoff(ctx context.Context, since time.Time) {
	s.pause(ctx, min(max(time.Since(since)/backoffShare, s.cfg.MinPause), s.cfg.MaxPause))
}

// pause waits for about d, or until ctx ends or the store is closed. The random
// part keeps many hosts from coming back at the same time.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}
