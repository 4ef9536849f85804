package projections

import (
	"context"
	"iter"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// choosing is a store that filters events itself, and counts those that it returns.
type choosing struct {
	events.Store
	handed *int
}

func (c choosing) ReadPrefixed(
	ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range events.ReadPrefixed(ctx, c.Store, after, prefixes) {
			if *c.handed++; !yield(r, err) {
				return
			}
		}
	}
}

func TestViewsOfOneHostAreReadFromItsStreamsAlone(t *testing.T) {
	store, _ := aDay(t)
	other := events.Address{0xee}
	w := history.New(t, store, other)
	w.Start()
	w.Stop()
	handed := 0
	p := open(t, choosing{store, &handed}, Config{Scope: Scope{Host: other}})
	if handed != 2 {
		t.Errorf("%d events were handed out for 2 of the host", handed)
	}
	if hosts := p.Hosts().Hosts; len(hosts) != 1 || hosts[0].Host != other.String() || hosts[0].Stops != 1 {
		t.Errorf("hosts %+v", hosts)
	}
	if head, err := store.Head(ctx); err != nil || p.AsOf() != head {
		t.Errorf("as of %d, not of the end at %d: %v", p.AsOf(), head, err)
	}
}

// Head is the end of a store with gaps.
func (g gaps) Head(ctx context.Context) (events.Position, error) {
	head, err := g.Store.Head(ctx)
	return head * gap, err
}
