package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/internal/retry"
)

func TestSleepEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := retry.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s, want nothing after a minute", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := retry.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s, want %v after a second", err, time.Since(began), context.DeadlineExceeded)
		}
	})
}

func TestPausesGrowUpToALimitAndCanBeRepeated(t *testing.T) {
	const first, longest = 100 * time.Millisecond, 10 * time.Second
	different := false
	for n := 1; n < 70; n++ {
		full := longest
		if n < 8 {
			full = min(first<<(n-1), longest)
		}
		pause := retry.Backoff(first, longest, "a", n)
		if pause < full/2 || pause > full {
			t.Errorf("before retry %d it pauses %s, want between %s and %s", n, pause, full/2, full)
		}
		if again := retry.Backoff(first, longest, "a", n); again != pause {
			t.Errorf("before retry %d it pauses %s, and the next time %s", n, pause, again)
		}
		different = different || retry.Backoff(first, longest, "b", n) != pause
	}
	if !different {
		t.Error("two callers always retry together")
	}
}

func TestACallIsRepeatedUntilItSucceedsFailsForGoodOrIsGivenUp(t *testing.T) {
	temporary, final := errors.New("temporary"), errors.New("final")
	for name, tc := range map[string]struct {
		answers []error
		want    error
		tries   int
	}{
		"it succeeds":          {[]error{temporary, temporary, nil}, nil, 3},
		"it fails for good":    {[]error{temporary, final, nil}, final, 2},
		"it is given up":       {[]error{temporary, temporary, temporary, temporary}, context.DeadlineExceeded, 3},
		"it succeeds at once":  {[]error{nil}, nil, 1},
		"given up, it says so": {[]error{temporary, temporary, temporary}, temporary, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Second)
				defer cancel()
				tries, told := 0, 0
				err := retry.Until(ctx, time.Minute, func() error {
					tries++
					return tc.answers[tries-1]
				}, func(err error) bool { return errors.Is(err, final) }, func(error) { told++ })
				if !errors.Is(err, tc.want) || tries != tc.tries {
					t.Errorf("%v after %d tries, want %v after %d", err, tries, tc.want, tc.tries)
				}
				passed := tries
				if tc.tries == len(tc.answers) && tc.want == nil || errors.Is(tc.want, final) {
					passed--
				}
				if told != passed {
					t.Errorf("told of %d failures, want %d", told, passed)
				}
			})
		})
	}
}
