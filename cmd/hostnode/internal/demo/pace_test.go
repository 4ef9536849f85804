package demo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
				next := pacer(still{}, func(context.Context) (Progress, error) {
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
