package js_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

var (
	seeds = flag.Int("seeds", 2, "over how many seeds of each scenario of the simulator the record is read")
	first = flag.Uint64("seed", 1, "the first seed")
)

// TestWhateverReadsTheRecordIsRightInTheSimulatedWorld reads what the real actors wrote in
// every scenario: the audit finds nothing wrong, and our views, which go on from a checkpoint
// in the middle, are those that the audit builds from nothing, and, event by event, those of
// the server. It is here because production code may not import the simulator, and the
// simulator may not import this package. That the run itself was right is checked as well, over
// more seeds than in the simulator's own tests, which run with the race detector.
func TestWhateverReadsTheRecordIsRightInTheSimulatedWorld(t *testing.T) {
	usual := debug.SetGCPercent(400) // The stores live shortly, and memory is not scarce.
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	w := written{events: map[string]int{}}
	t.Cleanup(func() { w.check(t) })
	for name, scenario := range sim.Scenarios() {
		if testing.Short() && name != "everything" { // Only one goroutine reads, so the race detector would find nothing.
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range uint64(*seeds) {
				seed := *first + i
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("repeat: go test ./projections/js -run '^%s$' -seed %d -seeds 1", t.Name(), seed)
						}
					}()
					out := sim.Run(t, seed, scenario)
					if out.Problem != nil {
						t.Fatalf("%v\nrepeat: go test ./actors/sim -run 'Happens/^%s$' -seed %d -seeds 1 -tell trace.txt",
							out.Problem, name, seed)
					}
					w.add(out.Events)
					readEverywhere(t, out.Record)
				})
			}
		})
	}
}

// written is what the actors wrote in all runs.
type written struct {
	sync.Mutex
	runs   int
	events map[string]int // by stored name
}

func (w *written) add(more map[string]int) {
	w.Lock()
	defer w.Unlock()
	w.runs++
	for name, n := range more {
		w.events[name] += n
	}
}

// seldom are events that the simulation leads to never or in one run of a hundred: orders and failures that the tests of
// actors, actors/sectors and the cores look at.
var seldom = []string{
	"AvailabilityDeleted", "AvailabilityUpdated", "PieceSpaceHeld", "PieceSpaceReleased", "SectorEventRefused",
	"SectorRemoveFailed", "SectorRetryInvalidProof", "SectorRetryPacking", "SectorRetryRemove", "SectorRetryTerminate",
	"SectorRetryWaitSeed", "SectorTerminateFailed",
}

// check demands that each other event of a machine occurred. What never does is read by nobody here, and its part of a
// life is not simulated. It takes a dozen seeds of each scenario.
func (w *written) check(t *testing.T) {
	t.Helper()
	if w.runs < 12*len(sim.Scenarios()) || t.Failed() {
		return
	}
	for _, table := range [][]events.Entry{sale.Table(), capacity.Table(), slotqueue.Table(), sector.Table()} {
		for _, e := range table {
			if w.events[e.Name] == 0 && !slices.Contains(seldom, e.Name) {
				t.Errorf("no run of the simulation leads to %s: actors/sim needs a scenario in which it does", e.Name)
			}
		}
	}
}

func readEverywhere(t *testing.T, record []events.Recorded) {
	t.Helper()
	w := newTwins(t)
	for i, r := range record {
		w.apply(r)
		if i != len(record)/2 {
			continue
		}
		saved, err := snapshot.Encode(w.views.State)
		if err == nil {
			w.views = projections.NewViews(w.views.Scope())
			err = snapshot.Decode(saved, w.views.State)
		}
		if err != nil {
			t.Fatalf("a checkpoint after %d of %d events: %v", i+1, len(record), err)
		}
	}
	if w.compared == 0 {
		t.Fatal("no state was compared")
	}
	printed, err := w.views.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), &left{list: record}, audit.Options{Views: &printed})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Severity == audit.Error {
			t.Errorf("the audit finds: %v", f)
		}
	}
}

// left is the store that a simulated host leaves behind, with the methods that an audit uses.
type left struct {
	events.Store
	list []events.Recorded
}

func (l *left) Head(context.Context) (events.Position, error) {
	return l.list[len(l.list)-1].Position, nil
}

func (l *left) ReadAll(_ context.Context, after events.Position, _ int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for _, e := range l.list {
			if e.Position > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (l *left) ReadStream(_ context.Context, name string, _ events.ReadStream) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for _, e := range slices.Backward(l.list) {
			if e.Stream == name { // The newest one is all that is asked for.
				yield(e, nil)
				return
			}
		}
		yield(events.Recorded{}, events.ErrStreamNotFound)
	}
}
