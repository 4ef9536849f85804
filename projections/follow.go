package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

const (
	// firstPause is how long a projector waits before it asks a store again
	// that does not answer; each further pause is twice as long, up to
	// longestPause, which is how late the views may be when the store is back.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	// probeEvery is how often a following projector asks whether the store
	// answers: a subscription resumes by itself after an outage, but is silent
	// during it.
	probeEvery = 5 * time.Second
)

// watchful is a store that notices outages of its server itself, and reports
// them at once.
type watchful interface {
	// Away reports whether the server does not answer, since when, and why.
	Away() (since time.Time, reason string, away bool)
	// Changed is closed when that changes; take it before calling Away.
	Changed() <-chan struct{}
}

var errEnded = errors.New("the subscription ended for no reason")

// Follow reads new events as they become durable, until Close. While the store
// does not answer it waits; Status says since when. So it does while the store denies
// access: a changed password is wrong until its file is, too. It may be called once.
func (p *Projector) Follow(ctx context.Context) {
	ctx, p.follow = context.WithCancel(ctx)
	stop := p.follow
	p.mu.Lock()
	p.status.Following = true
	p.mu.Unlock()
	p.done.Go(func() { p.probe(ctx) })
	p.done.Go(func() {
		why := p.insist(ctx, p.subscribe, events.ErrAway, events.ErrDenied)
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

// subscribe follows the store until an error, which it always returns.
func (p *Projector) subscribe(ctx context.Context) error {
	for r, err := range p.store.Subscribe(ctx, p.AsOf()) {
		if err != nil {
			return err
		}
		p.apply(r)
		p.denied.Store(false)
		p.noteAway(nil)
	}
	return errEnded
}

// probe finds out whether the store answers: it is told, or it asks now and then.
func (p *Projector) probe(ctx context.Context) {
	if store, ok := p.store.(watchful); ok {
		p.watch(ctx, store)
		return
	}
	for retry.Sleep(ctx, probeEvery) == nil {
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

// insist repeats read while it ends with one of the errors that pass, with growing
// pauses, until ctx ends.
func (p *Projector) insist(ctx context.Context, read func(context.Context) error, pass ...error) error {
	pause := firstPause
	for {
		before := p.AsOf()
		err := read(ctx)
		if err == nil {
			p.noteAway(nil)
			return nil
		}
		if !slices.ContainsFunc(pass, func(one error) bool { return errors.Is(err, one) }) {
			return err
		}
		p.denied.Store(errors.Is(err, events.ErrDenied))
		p.noteAway(err)
		if p.AsOf() > before {
			pause = firstPause
		}
		if over := retry.Sleep(ctx, pause); over != nil {
			return fmt.Errorf("%w, and before that: %w", over, err)
		}
		pause = min(2*pause, longestPause)
	}
}

// noteAway notes that the store does not answer, or with nil that it does.
func (p *Projector) noteAway(why error) { p.note(p.cfg.Now(), why) }

func (p *Projector) note(since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case why == nil && p.denied.Load(): // A store that answers may still deny the events.
	case why == nil:
		p.status.Away, p.status.AwaySince = "", time.Time{}
	case p.status.Away == "":
		p.status.AwaySince = since.UTC()
		fallthrough
	default:
		p.status.Away = why.Error()
	}
}
