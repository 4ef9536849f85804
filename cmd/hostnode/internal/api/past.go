package api

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// At implements Backend. It builds the views of that time from the events,
// which takes as long as a rebuild.
func (r *reader) At(ctx context.Context, when When) (Backend, error) {
	if when.HasRevision {
		return nil, fmt.Errorf("%w: %d is a revision of a stream; the whole record has positions (@%d) and times",
			problem.ErrBadRequest, when.Revision, when.Revision)
	}
	until := when.until()
	views, err := projections.ViewsAt(ctx, r.store, r.scope(), until)
	if err != nil {
		return nil, err
	}
	if until != nil && views.AsOf() == 0 {
		return nil, r.before(ctx, when)
	}
	if head, err := r.store.Head(ctx); err != nil {
		return nil, err
	} else if when.Position > head {
		return nil, fmt.Errorf("%w: log position %d; the last one is %d", replay.ErrBeyond, when.Position, head)
	}
	past := &pastReader{*r}
	past.views, past.projector, past.past, past.recorded = views, nil, until, views.RecordedAt().UTC()
	if past.Account.Zero() {
		past.Account = hostOf(views)
	}
	return past, nil
}

// before says when the first event was recorded.
func (r *reader) before(ctx context.Context, when When) error {
	for first, err := range events.ReadPrefixed(ctx, r.store, 0, r.scope().Prefixes()) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %s; the record begins at %s with log position %d", replay.ErrBefore, when,
			first.Recorded.UTC().Format(health.SinceFormat), first.Position)
	}
	return fmt.Errorf("%w: %s; the record is empty", replay.ErrBefore, when)
}

// pastReader is a reader of what was.
type pastReader struct{ reader }

// Status implements Past.
func (r *pastReader) Status(context.Context) (Status, error) {
	s := r.status()
	s.Reason = "this is how it was"
	if s.Queue.Paused {
		s.Reason += "; the queue was paused: " + s.Queue.PausedFor
	}
	s.Hint = "what only a running host knows, its balance and its troubles, is not in the record"
	return s, nil
}
