package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Until reports whether an event still belongs to a view of the past. A fold
// ends before the first event that does not, whatever comes after it, so that
// what it shows was true at some time.
type Until func(events.Recorded) bool

// UntilPosition is everything up to the event at a position, or the last one
// before it.
func UntilPosition(p events.Position) Until {
	return func(r events.Recorded) bool { return r.Position <= p }
}

// UntilTime is everything that the store had written at a point in time, which
// is what a host could know then. It compares events.Recorded.Recorded, by the
// clock of the store's machine, and not the time in the event: some of those
// are chain time, others are the host's, and chain time goes back in a
// reorganisation.
func UntilTime(t time.Time) Until {
	return func(r events.Recorded) bool { return !r.Recorded.After(t) }
}

// ViewsAt returns the views as they were. It reads the store from the first
// event and holds only the views, so it takes as long, and as much memory, as a
// rebuild. A nil until means the end of the store. Views.AsOf and
// Views.RecordedAt tell which event was the last.
//
// Errors are the store's, including events.ErrAway: unlike a Projector it does
// not wait.
func ViewsAt(ctx context.Context, store events.Store, scope Scope, until Until) (*Views, error) {
	v := NewViews(scope)
	for r, err := range events.ReadPrefixed(ctx, store, 0, scope.Prefixes()) {
		if err != nil {
			return nil, fmt.Errorf("read events for the views: %w", err)
		}
		if until != nil && !until(r) {
			break
		}
		v.Apply(r)
	}
	return v, nil
}
