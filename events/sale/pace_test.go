package sale

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestADownloadIsLateWhenItsPaceIsTooSlowForTheTimeLeft(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		name  string
		pace  Pace
		left  time.Duration
		needs time.Duration
		late  bool
	}{
		{"just in time", Pace{time.Minute, gib, 10 * gib}, 10 * time.Minute, 10 * time.Minute, false},
		{"a second too late", Pace{time.Minute, gib, 10 * gib}, 10*time.Minute - time.Second, 10 * time.Minute, true},
		{"a block in ten minutes", Pace{10 * time.Minute, events.BlockSize, gib}, 24 * time.Hour, 163840 * time.Minute, true},
		{"nothing came", Pace{time.Minute, 0, 1}, math.MaxInt64 - 1, math.MaxInt64, true},
		{"it takes longer than can be said", Pace{time.Hour, 1, math.MaxUint64}, time.Hour, math.MaxInt64, true},
		{"nothing is missing", Pace{time.Hour, 0, 0}, -time.Hour, 0, false},
		{"the time is over", Pace{time.Minute, gib, gib}, -time.Second, time.Minute, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.pace.Needs(); got != test.needs {
				t.Errorf("it needs %s, want %s", got, test.needs)
			}
			reason, late := test.pace.Late(test.left)
			if late != test.late || late != strings.Contains(reason, "are left before the fill must begin") {
				t.Errorf("late %t, want %t: %q", late, test.late, reason)
			}
		})
	}
}

func TestAPaceIsMeasuredInIntervals(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	type step struct {
		try     string        // begins or ends one
		chain   time.Duration // since the step before
		machine time.Duration
		missing events.Bytes
		late    bool
	}
	same := func(d time.Duration, missing events.Bytes, late bool) step {
		return step{chain: d, machine: d, missing: missing, late: late}
	}
	const block = events.BlockSize
	tests := []struct {
		name  string
		steps []step // with an interval of ten minutes, two hours before the end
	}{
		{"a trickle", []step{same(9*time.Minute, 999*block, false), same(9*time.Minute, 998*block, true)}},
		{"fast at first, then a trickle", []step{
			same(5*time.Minute, 500*block, false), same(5*time.Minute, 100*block, false),
			same(10*time.Minute, 99*block, true),
		}},
		{"slow at first, then fast enough", []step{
			same(5*time.Minute, 990*block, false), same(5*time.Minute, 500*block, false),
			same(10*time.Minute, 400*block, false),
		}},
		{"the chain stands still", []step{
			{machine: time.Hour, missing: 999 * block}, {machine: time.Hour, missing: 998 * block},
		}},
		{"the machine slept", []step{{chain: time.Hour, missing: 999 * block}}},
		{"a try that ends and begins again does not begin an interval", []step{
			same(6*time.Minute, 999*block, false),
			{try: "end"},
			{try: "begin", chain: 30 * time.Second, machine: 30 * time.Second},
			same(6*time.Minute, 998*block, true),
		}},
		{"the pause between two tries does not count", []step{
			same(6*time.Minute, 999*block, false),
			{try: "end"},
			{try: "begin", chain: time.Hour, machine: time.Hour},
			same(3*time.Minute, 998*block, false),
		}},
		{"what was here before is no pace", []step{same(5*time.Minute, 10*block, false), same(5*time.Minute, 9*block, false)}},
		{"blocks that could not be stored", []step{
			same(5*time.Minute, 900*block, false), same(6*time.Minute, 999*block, true),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			at := Instant{start, start}
			m := PaceMeter{Interval: 10 * time.Minute, By: start.Add(2 * time.Hour)}.Begin(at)
			for i, s := range test.steps {
				at = Instant{at.Chain.Add(s.chain), at.Machine.Add(s.machine)}
				var late bool
				var reason string
				switch s.try {
				case "begin":
					m = m.Begin(at)
				case "end":
					m = m.End(at)
				default:
					m, reason, late = m.Arrived(s.missing, at)
				}
				if late != s.late {
					t.Fatalf("step %d: late %t, want %t: %s", i, late, s.late, reason)
				}
			}
		})
	}
}

func TestAPaceIsMeasuredNoLongerThanAQuarterOfTheTime(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, test := range []struct{ set, left, want time.Duration }{
		{10 * time.Minute, time.Hour, 10 * time.Minute},
		{10 * time.Minute, 20 * time.Minute, 5 * time.Minute},
		{10 * time.Minute, -time.Minute, 0},
		{10 * time.Minute, 2 * time.Second, time.Second},
		{0, time.Hour, 0},
	} {
		if got := PaceInterval(test.set, now, now.Add(test.left)); got != test.want {
			t.Errorf("%s set, %s left: %s, want %s", test.set, test.left, got, test.want)
		}
	}
}
