package dispersal

import (
	"math/bits"
	"testing"
	"time"
)

// TestAWindowOpensWhereItReaches has the cases that random tests may miss.
func TestAWindowOpensWhereItReaches(t *testing.T) {
	from := time.Unix(1_750_000_000, 0)
	w := Window{from, from.Add(100 * time.Second)}
	for _, d := range []Distance{0, firstReach, firstReach + 1, farthest / 2, farthest - 1, farthest} {
		opens := w.Opens(d)
		if opens.Before(w.From) || opens.After(w.Until) || w.Reach(opens) < d {
			t.Errorf("distance %d: open from %s, when it reaches %d", d, opens, w.Reach(opens))
		}
		if opens.After(from) && w.Reach(opens.Add(-time.Second)) >= d {
			t.Errorf("distance %d: it was open a second earlier", d)
		}
	}
	if none := (Window{from, from}); none.Opens(farthest) != from || none.Reach(from) != farthest {
		t.Error("a window without a length is not open")
	}
	if w.Reach(from.Add(-time.Hour)) != firstReach || w.Reach(w.Until) != farthest {
		t.Error("it reaches less before it opens, or not everything at its end")
	}
}

// Reach is the largest distance that may reserve at a point in time. It never
// falls as time goes on. A window that has no length is open.
func (w Window) Reach(at time.Time) Distance {
	total, gone := w.seconds(w.Until), w.seconds(at)
	if gone >= total {
		return farthest
	}
	hi, lo := bits.Mul64(uint64(farthest-firstReach), gone)
	widened, _ := bits.Div64(hi, lo, total) // Less than it was, because gone < total.
	return firstReach + Distance(widened)
}
