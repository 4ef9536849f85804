package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Until says whether an event still belongs to what is looked at. A fold ends
// before the first event that does not, whatever comes behind it, so that what
// it shows was so at some moment.
type Until func(events.Recorded) bool

// UntilPosition is everything up to the event at a position, or the last one
// before it.
func UntilPosition(p events.Position) Until {
	return func(r events.Recorded) bool { return r.Position <= p }
}

// UntilTime is everything that the store had written at a point in time: what
// a host could know then. It goes by events.Recorded.Recorded, the clock of the
// store's machine, and not by the time in the event, which is of the chain for
// some and of the host's machine for others, and which runs back where the
// chain was reorganised.
func UntilTime(t time.Time) Until {
	return func(r events.Recorded) bool { return !r.Recorded.After(t) }
}

// ViewsAt are the views as they were. It reads the store from the first event
// and holds nothing but the views, so it takes as long as a rebuild, and as
// much memory. A nil until means the end of the store. Views.AsOf and
// Views.RecordedAt say which event was the last.
//
// Errors are the store's, also events.ErrAway: unlike a Projector it does not
// wait.
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
