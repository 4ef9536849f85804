package sectors_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events/sector"
)

// The host crashes before and after each call and each append until a sector's second proof: no
// message has its effect twice, and no work of a step is done twice.
func TestASectorGoesOnAfterACrashAtEachPoint(t *testing.T) {
	points := crashAt(t, 0)
	if points < 60 {
		t.Fatalf("only %d points", points)
	}
	for at := 1; at <= points; at++ {
		if crashAt(t, at); t.Failed() {
			return
		}
	}
}

// crashAt runs the story with a crash at one of its points (0: none) and returns the number of
// points.
func crashAt(t *testing.T, at int) (points int) {
	inTime(t, func(h *host) {
		var n, seen atomic.Int64
		var where atomic.Value
		where.Store("")
		h.world.point = func(name string) error {
			seen.Add(1)
			if h.crashed.Load() {
				return errCrash
			}
			if n.Add(1) == int64(at) {
				where.Store(name)
				h.crashed.Store(true)
				h.rt.Abandon()
				return errCrash
			}
			return nil
		}
		for len(h.events(1)) == 0 {
			_, _ = ask[uint64](h, create(piece("a"), piece("b")))
			h.revive()
		}
		h.until("two windows", func() bool { return h.world.effects["proven 1"] == 2 && h.info(1).State == sector.Proving })
		h.world.point = func(string) error { return nil }
		h.mine(3)
		points = int(n.Load())
		h.once(1, "PreCommit", "PinSeed", "Commit")
		for _, step := range []string{"Pack", "PreCommit1", "PreCommit2", "Commit", "Finalize"} {
			if made := h.world.made[step+" 1"]; made != 1 {
				t.Errorf("the work of %s was done %d times", step, made)
			}
		}
		for _, name := range []string{"SectorPacked", "SectorPreCommit1", "SectorPreCommitted", "SectorProofReady"} {
			if got := h.count(1, name); got != 1 {
				t.Errorf("%s is in the record %d times", name, got)
			}
		}
		// The chain may say so before the step has asked for its message again.
		if got := h.count(1, "SectorCommitted") + h.count(1, "SectorRetryCommitWait"); got != 1 {
			t.Errorf("the proof was sent %d times, by the record", got)
		}
		for kind, keys := range h.world.keys {
			if !strings.HasPrefix(kind, "Possession") && len(keys) != 1 {
				t.Errorf("%s was asked for under the keys %v", kind, keys)
			}
		}
		for kind, times := range h.world.effects {
			if strings.HasPrefix(kind, "Possession") && times != 1 {
				t.Errorf("%s was sent %d times", kind, times)
			}
		}
		if h.world.missed > 0 {
			t.Errorf("%d windows were missed", h.world.missed)
		}
		if one, ok := h.book(1); !ok || one.Scratch != 0 || one.Unsealed != size {
			t.Errorf("the ledger has %+v", one)
		}
		if t.Failed() {
			t.Errorf("that was crash %d, %s", at, where.Load())
		}
	})
	return points
}

// The same for a fault and a termination: the host crashes before and after each call and each append from the damage
// to the recovery, and from the order to the end of the sector.
func TestACureAndAnEndGoOnAfterACrashAtEachPoint(t *testing.T) {
	for name, story := range map[string]struct {
		begin func(h *host)
		ended func(h *host) bool
		once  []string
		least int
	}{
		"cure": {
			func(h *host) { h.world.damaged[1] = true },
			func(h *host) bool { return h.count(1, "SectorRecovered") > 0 },
			[]string{"PreCommit", "Commit", "DeclareFaults", "DeclareRecoveries"},
			30,
		},
		"end": {
			func(h *host) {
				for h.info(1).State == sector.Proving {
					_, _ = ask[sector.State](h, sectors.Terminate{Number: 1, By: "anna"})
					h.revive()
				}
			},
			func(h *host) bool { return h.info(1).Over() },
			[]string{"PreCommit", "Commit", "Terminate"},
			30,
		},
	} {
		t.Run(name, func(t *testing.T) {
			crash := func(at int) (points int) {
				inTime(t, func(h *host) {
					n := h.create(piece("a"))
					h.until("proven", func() bool { return h.in(n, sector.Proving)() && h.world.effects["proven 1"] == 1 })
					h.mine(1)
					where := h.crashAt(at, &points)
					story.begin(h)
					h.until("the end", func() bool { return story.ended(h) })
					h.mine(3)
					h.world.point = func(string) error { return nil }
					h.once(n, story.once...)
					if st := h.info(n); len(st.Failures) > 0 || st.Parked() {
						t.Errorf("it stands so: %+v", st)
					}
					if t.Failed() {
						t.Errorf("that was crash %d, %s", at, *where)
					}
				})
				return points
			}
			points := crash(0)
			if points < story.least {
				t.Fatalf("only %d points", points)
			}
			step := 1
			if testing.Short() { // With the race detector, each fourth point.
				step = 4
			}
			for at := 1; at <= points; at += step {
				if crash(at); t.Failed() {
					return
				}
			}
		})
	}
}

// crashAt ends the host at the n-th point from now, counts the points, and names the one it was.
func (h *host) crashAt(n int, points *int) (where *string) {
	var mu sync.Mutex
	where = new(string)
	h.world.point = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if h.crashed.Load() {
			return errCrash
		}
		if *points++; *points == n {
			*where = name
			h.crashed.Store(true)
			h.rt.Abandon()
			return errCrash
		}
		return nil
	}
	return where
}
