package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
)

// The pace of chain time, by the machine's clock.
const (
	// pollEvery is how often chain and host are looked at.
	pollEvery = 15 * time.Millisecond
	// idlePace is the time between two blocks when the host has nothing to do.
	idlePace = 30 * time.Millisecond
	// awayPace is the same while the host's record is away: slow enough for a host
	// that must first find out about it, fast enough to bring periods with proofs.
	awayPace = 400 * time.Millisecond
	// mostBehind is how many blocks the host may be behind while chain time goes on.
	mostBehind = 3
	// longestHold is how long time stands still for a host that works or is down.
	// Beyond it something is wrong, and the demonstration ends with an error.
	longestHold = 5 * time.Minute
)

// pacer lets chain time run only when nobody is kept from proving by it: a
// block is sealed at once for transactions that wait; while the host is down,
// behind, or works on a proof or a download, time stands still; otherwise blocks
// come at the given pace.
func pacer(
	local *localchain.Chain, progress func(context.Context) (Progress, error), pace func() time.Duration,
) func(context.Context) error {
	ready := func(ctx context.Context) error { // nil, or why time stands still
		p, err := progress(ctx)
		switch head := local.Head().Number; {
		case err != nil:
			return fmt.Errorf("it does not answer: %w", err)
		case p.Working:
			return errors.New("it works, or does not follow the chain yet")
		case p.Head+mostBehind < head:
			return fmt.Errorf("it is at block %d of %d", p.Head, head)
		}
		return nil
	}
	last := time.Now()
	return func(ctx context.Context) error {
		for {
			wait := time.Since(last)
			if local.Pending() > 0 && wait >= pollEvery {
				break
			}
			if wait >= pace() {
				why := ready(ctx)
				if why == nil {
					break
				}
				if wait > longestHold {
					return fmt.Errorf("time stood still for the host for %s: %w", longestHold, why)
				}
			}
			select {
			case <-time.After(pollEvery):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		last = time.Now()
		return nil
	}
}
