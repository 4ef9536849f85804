package duty

import (
	"math"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// The formula gives the same as counting the challenges that each of the 256 positions of the
// pointer meets in a window.
func TestExpectedProofsAreWhatThePointersMeet(t *testing.T) {
	for _, tc := range []struct {
		period, timeout, blockTime time.Duration
		downtime                   uint8
	}{
		{2 * time.Minute, 30 * time.Second, time.Second, 64},
		{2 * time.Minute, 30 * time.Second, 12 * time.Second, 64},
		{90 * time.Second, 30 * time.Second, 2 * time.Second, 96},
		{20 * time.Minute, 5 * time.Minute, time.Second, 64},
		{10 * time.Second, 5 * time.Second, time.Second, 0},
	} {
		cfg := config(tc.period)
		cfg.Timeout, cfg.Downtime = tc.timeout, tc.downtime
		blocks := int((tc.period + tc.timeout) / tc.blockTime)
		met := 0
		for start := range 256 {
			challenges := map[int]bool{}
			for i := range blocks {
				if (start+i)%256 >= int(tc.downtime) {
					challenges[(start+i)/256] = true
				}
			}
			met += len(challenges)
		}
		for _, asked := range []uint64{1, 2, 8, 100} {
			every := math.Max(1, math.Floor(float64(asked)*(256-float64(tc.downtime))/256))
			got := ExpectedProofs(cfg, events.NewAmount(asked), tc.blockTime)
			if want := float64(met) / 256 / every; math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v, probability %d: %f proofs in a period, want %f", tc, asked, got, want)
			}
		}
	}
	if got := ExpectedProofs(config(time.Minute), events.MaxAmount(), 0); got < 0 || got > 1e-60 {
		t.Errorf("the largest probability: %g proofs in a period", got)
	}
}
