package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// The pace of chain time, by the machine's clock.
const (
	// pollEvery is how often chain and host are checked.
	pollEvery = 15 * time.Millisecond
	// idlePace is the time between two blocks when the host has nothing to do.
	idlePace = 30 * time.Millisecond
	// awayPace is the same during an outage of the event store, in which the host works
	// from memory: a period must be long enough for that.
	awayPace = 400 * time.Millisecond
	// mostBehind is how many blocks the host may be behind while chain time goes on.
	mostBehind = 3
	// longestHold is how long chain time stands still for a host that works or is
	// down. After that something is wrong, and the demonstration ends with an
	// error.
	longestHold = 5 * time.Minute
)

// blocks is what the pacer looks at of the chain.
type blocks interface {
	Pending() int
	Head() events.Head
}

// pacer lets chain time run only while that keeps nobody from proving. A block is
// sealed at once for waiting transactions. Time stands still while the host is down,
// behind, waiting for its event store, or working on a proof or a download. Otherwise
// blocks come at the idle pace, or slower during an outage of the event store.
func pacer(local blocks, progress func(context.Context) (Progress, error)) func(context.Context) error {
	last := time.Now()
	return func(ctx context.Context) error {
		for {
			wait := time.Since(last)
			if local.Pending() > 0 && wait >= pollEvery {
				break
			}
			if wait >= idlePace {
				pace, why := paceOf(ctx, local, progress)
				if why == nil && wait >= pace {
					break
				}
				if why != nil && wait > longestHold {
					return fmt.Errorf("time stood still for the host for %s: %w", longestHold, why)
				}
			}
			if err := pause(ctx, pollEvery); err != nil {
				return err
			}
		}
		last = time.Now()
		return nil
	}
}

// paceOf is the time between two blocks that suits the state of the host, or why time stands still.
func paceOf(
	ctx context.Context, local blocks, progress func(context.Context) (Progress, error),
) (time.Duration, error) {
	p, err := progress(ctx)
	switch head := local.Head().Number; {
	case err != nil:
		return 0, fmt.Errorf("it does not answer: %w", err)
	case p.Working:
		return 0, errors.New("it works, or does not follow the chain yet")
	case p.Head+mostBehind < head:
		return 0, fmt.Errorf("it is at block %d of %d", p.Head, head)
	case p.Away:
		return awayPace, nil
	}
	return idlePace, nil
}

// pause waits for so long.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
