package demo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// still is a chain on which nothing waits to be mined.
type still struct{}

func (still) Pending() int      { return 0 }
func (still) Head() events.Head { return events.Head{Number: 7} }

func TestChainTimeRunsAsFastAsTheHostCanProve(t *testing.T) {
	const works = 3 * time.Second // As long as it takes to find out that the event store is away.
	for name, test := range map[string]struct {
		progress Progress
		holds    time.Duration // what the host does before the block
		want     time.Duration
	}{
		"it is idle":                        {Progress{Head: 7}, 0, idlePace},
		"it proves":                         {Progress{Head: 7}, works, works},
		"its event store is away":           {Progress{Head: 7, Away: true}, 0, awayPace},
		"it finds out that its record went": {Progress{Head: 7, Away: true}, works, works},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				next := pacer(still{}, longestHold, func(context.Context) (Progress, error) {
					p := test.progress
					p.Working = time.Since(began) < test.holds
					return p, nil
				})
				if err := next(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < test.want || took > test.want+2*pollEvery {
					t.Fatalf("the next block came after %s, want %s", took, test.want)
				}
			})
		})
	}
}

// A file may be large, and the machine slow: time stands still for a host that gets on, or that works no longer than its
// data may take, and it hears of a block before it reports that the chain is silent.
func TestChainTimeStandsStillAsLongAsTheWorkNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		data  events.Bytes
		works time.Duration
		step  time.Duration // after which its work shows; 0: never
		want  error
	}{
		"a small file, and nothing changes":        {4 << 20, 2 * longestHold, 0, problem.ErrDemoStuck},
		"a small file, and it gets on":             {4 << 20, 3 * longestHold, longestHold - time.Minute, nil},
		"a GiB, hashed at 1.4 MiB a second":        {3 << 29, 18 * time.Minute, 0, nil},
		"a GiB, and nothing changes for two hours": {3 << 29, 2 * time.Hour, 0, problem.ErrDemoStuck},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				next := pacer(still{}, holdFor(test.data), func(context.Context) (p Progress, _ error) {
					p.Head, p.Working = still{}.Head().Number, time.Since(began) < test.works
					if test.step > 0 {
						p.Done = time.Since(began).Truncate(test.step).String()
					}
					return p, nil
				})
				for time.Since(began) < test.works {
					last := time.Now()
					if err := next(t.Context()); err != nil {
						if !errors.Is(err, test.want) || time.Since(began) < holdFor(test.data) {
							t.Fatalf("after %s: %v, want %v", time.Since(began), err, test.want)
						}
						return
					}
					if took := time.Since(last); took < heartbeat && time.Since(began) < test.works || took > 30*time.Second {
						t.Fatalf("a block came after %s", took)
					}
				}
				if test.want != nil {
					t.Fatal("it went on")
				}
			})
		})
	}
}
