package feed

import (
	"testing"
	"time"
)

func TestSilenceIsSeveralBlockTimesAndNeverLessThanTheFloor(t *testing.T) {
	cases := map[string]struct {
		each time.Duration
		want time.Duration
	}{
		"fast blocks":     {100 * time.Millisecond, 15 * time.Second},
		"ethereum":        {12 * time.Second, 60 * time.Second},
		"no block so far": {0, 15 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_000, 0)
			w := newWatchdog(5, 15*time.Second, now)
			opened := now
			for n := uint64(1); n < 20 && c.each > 0; n++ {
				now = now.Add(c.each)
				w.saw(n, now)
			}
			if got := w.silence(); got != c.want {
				t.Fatalf("silence is %s, want %s", got, c.want)
			}
			if yes, _ := w.silent(opened, now.Add(c.want-1)); yes {
				t.Fatal("silent too soon")
			}
			if yes, first := w.silent(opened, now.Add(c.want)); !yes || !first {
				t.Fatal("silence is not noticed")
			}
			if yes, first := w.silent(opened, now.Add(c.want+1)); !yes || first {
				t.Fatal("the same silence is told again")
			}
			if yes, _ := w.silent(now.Add(c.want), now.Add(c.want+1)); yes {
				t.Fatal("a new connection gets no time")
			}
			if since, ended := w.saw(100, now.Add(c.want+time.Second)); !ended || since != c.want+time.Second {
				t.Fatalf("the end of %s of silence is told: %v", since, ended)
			}
			if got := w.silence(); got != c.want {
				t.Fatalf("the pause was taken for a block time: silence is %s, want %s", got, c.want)
			}
		})
	}
}

func TestBlocksThatComeTogetherShareTheirTime(t *testing.T) {
	now := time.Unix(1_000, 0)
	w := newWatchdog(5, time.Second, now)
	w.saw(10, now)
	for n := range uint64(40) {
		now = now.Add(12 * time.Second)
		w.saw(10+4*(n+1), now)
	}
	if got := w.blockTime.Round(time.Millisecond); got != 3*time.Second {
		t.Fatalf("block time is %s, want 3s", got)
	}
}

func TestLooksWithoutWordBecomeRarerUpToTheFloorOfSilence(t *testing.T) {
	w := &watchdog{least: 15 * time.Second, blockTime: time.Second}
	var got []time.Duration
	for misses := range 6 {
		got = append(got, w.look(100*time.Millisecond, misses)/time.Second)
	}
	want := []time.Duration{2, 4, 8, 15, 15, 15}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("looks after %v seconds, want %v", got, want)
		}
	}
}
