package projections

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// TestViewsAreAsTheyWere compares the views as of every position, and as of the time at which
// that event was written, with the live views of that time.
func TestViewsAreAsTheyWere(t *testing.T) {
	store := storetest.NewMemory()
	clock := time.Unix(1_800_000_000, 0).UTC()
	store.Clock = func() time.Time { clock = clock.Add(time.Second); return clock }
	w := history.New(t, store, me)
	w.Start()
	w.Offer(2)
	w.Life(1, 1)
	live := NewViews(Scope{})
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		live.Apply(r)
		for name, until := range map[string]Until{
			"position": UntilPosition(r.Position), "time": UntilTime(r.Recorded),
		} {
			then, err := ViewsAt(ctx, store, Scope{}, until)
			if err != nil {
				t.Fatal(err)
			}
			// All events of an append have the same time.
			if name == "position" && then.AsOf() != r.Position || !then.RecordedAt().Equal(r.Recorded) {
				t.Fatalf("%s: as of %d at %s, not %d at %s",
					name, then.AsOf(), then.RecordedAt(), r.Position, r.Recorded)
			}
			if name == "position" {
				same(t, live, then)
			}
		}
	}
	now, err := ViewsAt(ctx, store, Scope{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, live, now)
	none, err := ViewsAt(ctx, store, Scope{}, UntilTime(time.Unix(0, 0)))
	if err != nil || none.AsOf() != 0 || !none.RecordedAt().IsZero() {
		t.Fatalf("as of %d, error %v", none.AsOf(), err)
	}
}

func TestATimelineIsAsItWas(t *testing.T) {
	store, w := aDay(t)
	slot := events.SlotIDOf(w.Request(2).ID, 1)
	whole, err := ReadTimeline(ctx, store, me, slot, nil)
	if err != nil {
		t.Fatal(err)
	}
	fifth := whole.Moments[4].Position
	then, err := ReadTimeline(ctx, store, me, slot, UntilPosition(fifth))
	if err != nil || len(then.Moments) != 5 || then.AsOf != fifth || then.PaysAtMost == "" || whole.PaysAtMost != "" {
		t.Fatalf("%d moments as of %d, pays %q, at the end %q, error %v", len(then.Moments), then.AsOf, then.PaysAtMost,
			whole.PaysAtMost, err)
	}
}
