package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

const (
	// firstPause is how long a projector leaves a store alone that does not
	// answer; each further pause is twice as long, up to longestPause, which is
	// how late the views may be when the store is back.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	// probeEvery is how often a following projector asks a store whether it is
	// there: a subscription resumes by itself after an outage and is only silent
	// during it.
	probeEvery = 5 * time.Second
)

// watchful is a store that knows itself whether its server answers, and tells
// it at once.
type watchful interface {
	// Away says since when the server does not answer, and why.
	Away() (since time.Time, reason string, away bool)
	// Changed is closed when that changes; it is taken before Away is asked.
	Changed() <-chan struct{}
}

var errEnded = errors.New("the subscription ended for no reason")

// Follow reads new events as they become durable, until Close. While the store
// is away it waits; Status says since when. It may be called once.
func (p *Projector) Follow(ctx context.Context) {
	ctx, p.follow = context.WithCancel(ctx)
	stop := p.follow
	p.mu.Lock()
	p.status.Following = true
	p.mu.Unlock()
	p.done.Go(func() { p.probe(ctx) })
	p.done.Go(func() {
		why := p.insist(ctx, p.subscribe)
		p.mu.Lock()
		p.status.Following = false
		if ctx.Err() == nil {
			p.status.Error = "read events for the views: " + why.Error()
		}
		stopped := p.status.Error
		p.mu.Unlock()
		if stopped != "" && p.cfg.OnStopped != nil {
			p.cfg.OnStopped(stopped)
		}
		stop()
	})
}

// subscribe follows the store until something is wrong; it always returns an error.
func (p *Projector) subscribe(ctx context.Context) error {
	for r, err := range p.store.Subscribe(ctx, p.AsOf()) {
		if err != nil {
			return err
		}
		p.apply(r)
		p.noteAway(nil)
	}
	return errEnded
}

// probe learns whether the store is there: it is told, or it asks now and then.
func (p *Projector) probe(ctx context.Context) {
	if store, ok := p.store.(watchful); ok {
		p.watch(ctx, store)
		return
	}
	for sleep(ctx, probeEvery) == nil {
		_, err := p.store.Head(ctx)
		if err == nil || errors.Is(err, events.ErrAway) {
			p.noteAway(err)
		} // Whatever else there may be, the subscription ends with it.
	}
}

func (p *Projector) watch(ctx context.Context, store watchful) {
	for ctx.Err() == nil {
		changed := store.Changed()
		if since, reason, away := store.Away(); away {
			p.note(since, errors.New(reason))
		} else {
			p.noteAway(nil)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// insist calls read again for as long as the store is away, with growing
// pauses, until ctx ends.
func (p *Projector) insist(ctx context.Context, read func(context.Context) error) error {
	pause := firstPause
	for {
		before := p.AsOf()
		err := read(ctx)
		if err == nil {
			p.noteAway(nil)
			return nil
		}
		if !errors.Is(err, events.ErrAway) {
			return err
		}
		p.noteAway(err)
		if p.AsOf() > before {
			pause = firstPause
		}
		if over := sleep(ctx, pause); over != nil {
			return fmt.Errorf("%w, and before that: %w", over, err)
		}
		pause = min(2*pause, longestPause)
	}
}

// noteAway remembers that the store is away, or with nil that it is not.
func (p *Projector) noteAway(why error) { p.note(p.cfg.Now(), why) }

func (p *Projector) note(since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case why == nil:
		p.status.Away, p.status.AwaySince = "", time.Time{}
	case p.status.Away == "":
		p.status.AwaySince = since.UTC()
		fallthrough
	default:
		p.status.Away = why.Error()
	}
}

// sleep returns nil after a pause, or why ctx ended before.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
