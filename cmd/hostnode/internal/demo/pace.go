package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
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
	// heartbeat is the time between two blocks while time stands still: a host that sees none takes the node for
	// silent after half a minute (silentBlocks), and says after a minute that it cannot prove. A block is a second
	// of chain time, and a period lasts many of them.
	heartbeat = 25 * time.Second
	// silentBlocks are so many block times at the idle pace.
	silentBlocks = uint64(30 * time.Second / idlePace)
	// longestHold is how long chain time stands still for a host that works or is down, and with which
	// nothing changes. After that something is wrong, and the demonstration ends with an error.
	longestHold = 5 * time.Minute
	// leastSpeed is how many bytes of its data a slow machine with much other work codes or hashes in a second.
	// For some steps with all of the data a host shows nothing until they are over.
	leastSpeed = 512 << 10
)

// holdFor is longestHold for a host that works with so much data.
func holdFor(data events.Bytes) time.Duration {
	return longestHold + time.Duration(data/leastSpeed)*time.Second
}

// blocks is what the pacer looks at of the chain.
type blocks interface {
	Pending() int
	Head() events.Head
}

// pacer lets chain time run only while that keeps nobody from proving. A block is
// sealed at once for waiting transactions. Time stands still while the host is down,
// behind, waiting for its event store, or working on a proof or a download, but for a block at each
// heartbeat, and not for longer than hold unless something changes. Otherwise blocks come at the idle
// pace, or slower during an outage of the event store.
func pacer(
	local blocks, hold time.Duration, progress func(context.Context) (Progress, error),
) func(context.Context) error {
	last, changed, done := time.Now(), time.Now(), ""
	return func(ctx context.Context) error {
		for {
			wait := time.Since(last)
			if local.Pending() > 0 && wait >= pollEvery {
				changed = time.Now()
				break
			}
			if wait >= idlePace {
				p, err := progress(ctx)
				pace, why := paceOf(local, p, err)
				if why == nil || p.Done != done {
					changed, done = time.Now(), p.Done
				}
				if held := time.Since(changed); held > hold {
					return fmt.Errorf("%w: chain time stood still for the host for %s: %w",
						problem.ErrDemoStuck, held.Round(time.Second), why)
				}
				if wait >= pace {
					break
				}
			}
			if err := retry.Sleep(ctx, pollEvery); err != nil {
				return err
			}
		}
		last = time.Now()
		return nil
	}
}

// paceOf is the time between two blocks that suits the state of the host, and why time stands still, if it does.
func paceOf(local blocks, p Progress, err error) (pace time.Duration, still error) {
	switch head := local.Head().Number; {
	case err != nil:
		return heartbeat, fmt.Errorf("it does not answer: %w", err)
	case p.Working:
		return heartbeat, errors.New("it works, or does not follow the chain yet")
	case p.Head+mostBehind < head:
		return heartbeat, fmt.Errorf("it is at block %d of %d", p.Head, head)
	case p.Away:
		return awayPace, nil
	}
	return idlePace, nil
}
