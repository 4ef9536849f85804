// Package retry is how long is waited before something is tried again. What is temporary, and how often it is tried,
// is for each caller to say.
package retry

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// Sleep waits for d, or until ctx ends: then it returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff is the pause before the nth retry, n from 1: the first one, doubled each time, and at most the longest. It is
// spread by up to a half so that many do not retry at once. The spread follows from the key, so that a run can be
// repeated.
func Backoff(first, longest time.Duration, key string, n int) time.Duration {
	pause := first << min(n-1, 20)
	if pause <= 0 || pause > longest {
		pause = longest
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", key, n)
	return pause/2 + time.Duration(h.Sum64()%uint64(pause/2+1))
}

// Until repeats a call, with a pause, until it succeeds or fails for good, or ctx ends. failed is told of all
// other errors.
func Until(
	ctx context.Context, pause time.Duration, call func() error, final func(error) bool, failed func(error),
) error {
	for {
		err := call()
		if err == nil || final(err) {
			return err
		}
		failed(err)
		if over := Sleep(ctx, pause); over != nil {
			return errors.Join(err, over)
		}
	}
}
