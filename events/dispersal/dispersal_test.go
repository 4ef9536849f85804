package dispersal_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/dispersal"
)

var start = time.Unix(1_700_000_000, 0).UTC()

func host(n uint64) (a events.Address) {
	binary.BigEndian.PutUint64(a[12:], n)
	return a
}

// slot is the id that the contract derives, which is as good as drawn.
func slot(n uint64) events.SlotID {
	var r events.RequestID
	binary.BigEndian.PutUint64(r[:], n)
	return events.SlotIDOf(r, n%256)
}

func drawWindow(t *rapid.T) dispersal.Window {
	return dispersal.Window{
		From:  start,
		Until: start.Add(time.Duration(rapid.Int64Range(0, 30*24*3600).Draw(t, "seconds")) * time.Second),
	}
}

func TestTheWindowOnlyWidensAndIsOpenToAllAtItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		at := start.Add(time.Duration(rapid.Int64Range(-100, 31*24*3600).Draw(t, "at")) * time.Second)
		later := at.Add(time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "later")) * time.Second)
		if w.Reach(later) < w.Reach(at) {
			t.Fatalf("reach %d at %s, %d at %s", w.Reach(at), at, w.Reach(later), later)
		}
		if w.Reach(w.Until) != math.MaxUint64 {
			t.Fatalf("reach %d at the end", w.Reach(w.Until))
		}
	})
}

func TestADistanceMayReserveFromTheSecondOnThatItIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		d := dispersal.Distance(rapid.Uint64().Draw(t, "distance"))
		opens := w.Opens(d)
		if opens.Before(w.From) || opens.After(w.Until) {
			t.Fatalf("opens at %s, not within %s to %s", opens, w.From, w.Until)
		}
		if w.Reach(opens) < d {
			t.Fatalf("at %s the window reaches %d, not %d", opens, w.Reach(opens), d)
		}
		if before := opens.Add(-time.Second); !before.Before(w.From) && w.Reach(before) >= d {
			t.Fatalf("the window reaches %d a second before it opens for %d", w.Reach(before), d)
		}
	})
}

func TestEveryHostGetsItsShareOfSlotsAndEverySlotItsShareOfHosts(t *testing.T) {
	const many = 4000
	w := dispersal.Window{From: start, Until: start.Add(time.Hour)}
	tests := []struct {
		name     string
		distance func(n uint64) dispersal.Distance
	}{
		{"one host, many slots", func(n uint64) dispersal.Distance { return dispersal.Between(host(1), slot(n)) }},
		{"another host", func(n uint64) dispersal.Distance { return dispersal.Between(host(2), slot(n)) }},
		{"one slot, many hosts", func(n uint64) dispersal.Distance { return dispersal.Between(host(n), slot(1)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, minutes := range []int{0, 15, 30, 45, 60} {
				reach, open := w.Reach(start.Add(time.Duration(minutes)*time.Minute)), 0
				for n := range uint64(many) {
					if test.distance(n) <= reach {
						open++
					}
				}
				want := many/8 + many*7/8*minutes/60
				if off := open - want; off*off > many*8 { // Some six standard deviations.
					t.Fatalf("after %d minutes %d of %d are open, want about %d", minutes, open, many, want)
				}
			}
		})
	}
}

func TestHostsComeInTheOrderOfTheirDistance(t *testing.T) {
	w := dispersal.Window{From: start, Until: start.Add(24 * time.Hour)}
	rapid.Check(t, func(t *rapid.T) {
		a := dispersal.Distance(rapid.Uint64().Draw(t, "a"))
		b := dispersal.Distance(rapid.Uint64().Draw(t, "b"))
		if a <= b && w.Opens(a).After(w.Opens(b)) {
			t.Fatalf("%d is nearer than %d and opens later", a, b)
		}
	})
}

func TestNoTwoSlotsOfARequestOpenForTheSameHostsFirst(t *testing.T) {
	var r events.RequestID
	nearest := map[uint64]bool{}
	for index := range uint64(8) {
		best, who := dispersal.Distance(math.MaxUint64), uint64(0)
		for n := range uint64(100) {
			if d := dispersal.Between(host(n), events.SlotIDOf(r, index)); d < best {
				best, who = d, n
			}
		}
		nearest[who] = true
	}
	if len(nearest) < 6 {
		t.Fatalf("the 8 slots are nearest to %d hosts only", len(nearest))
	}
}
