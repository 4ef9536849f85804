package projections

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
	"github.com/hostnode/hostnode/projections/machine"
)

// TestCountsAreThoseOfTheRows compares what is counted without making rows with the rows.
func TestCountsAreThoseOfTheRows(t *testing.T) {
	history.Check(t, func(t *rapid.T) *history.Writer {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Start()
		w.Offer(4)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			anyIncome(t, w)
		}
		v := NewViews(Scope{})
		stored := uint64(0)
		for r, err := range store.ReadAll(ctx, 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			v.Apply(r)
			if _, ours := v.wants(r.Stream); ours && !events.IsSystem(r.Stream) {
				stored++
			}
		}
		for _, m := range catalog.Machines() {
			want := map[string]int{}
			rows, _ := v.Of(m.Category)
			for _, row := range machine.Each(rows[me.String()]) {
				var state string
				if s, ok := row.(machine.Row); ok {
					_, state = s.Stands()
				}
				want[state]++
			}
			got := map[string]int{}
			for state, n := range v.States(me, m.Category) {
				got[state] = n.Rows
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s", m.Category, diff)
			}
		}
		folded := uint64(0)
		for _, n := range v.Tally(me).Events {
			folded += n
		}
		if _, skipped := v.Problems(); folded+skipped != stored {
			t.Fatalf("%d events of %d were counted", folded, stored)
		}
		owesAsListed(t, v, w.Now)
		return w
	})
}

func owesAsListed(t *rapid.T, v *Views, now time.Time) {
	open, late, next := v.Owes(me, now)
	wantOpen, wantLate, wantNext := 0, 0, time.Time{}
	for h := range v.HostedOf(me) {
		for _, d := range h.Owed {
			wantOpen++
			if d.Deadline.Before(now) {
				wantLate++
			}
			if wantNext.IsZero() || d.Deadline.Before(wantNext) {
				wantNext = d.Deadline
			}
		}
	}
	if open != wantOpen || late != wantLate || !next.Equal(wantNext) {
		t.Fatalf("owes %d, %d late, next %s; listed are %d, %d, %s", open, late, next, wantOpen, wantLate, wantNext)
	}
}

func TestDurationsAreCountedUpToTheirBounds(t *testing.T) {
	var d Durations
	for _, took := range []time.Duration{-time.Second, 100 * time.Millisecond, time.Minute, 400 * 24 * time.Hour} {
		before := d
		d = d.and(took)
		if before.Count > 0 && cmp.Equal(before.Within, d.Within) && took < 365*24*time.Hour {
			t.Errorf("%s changed nothing", took)
		}
	}
	want := Durations{
		Count: 4, Milliseconds: 100 + 60_000 + 400*24*3_600_000,
		Within: []uint64{2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}
