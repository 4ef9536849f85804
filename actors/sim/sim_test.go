package sim

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

var (
	seeds = flag.Int("seeds", 1, "how many seeds each scenario runs; more are run where the record is read")
	first = flag.Uint64("seed", 1, "the first seed")
	total = flag.Int("total", 0, "how many seeds TestSeeds runs, over all scenarios")
	tell  = flag.String("tell", "", "a file that takes the trace and the host's log")
)

func traceFile(t *testing.T) io.Writer {
	if *tell == "" {
		return nil
	}
	f, err := os.Create(*tell)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// scenarioTest is the test that repeats a seed of a scenario.
const scenarioTest = "TestEverythingIsAccountedForWhateverHappens"

// Every scenario ends with all requests over, all sales settled and every byte
// and token accounted for, whatever happened on the way.
func TestEverythingIsAccountedForWhateverHappens(t *testing.T) {
	runAll(t, func(string) bool { return true })
}

// With the race detector it takes ten times as long, so there only the scenarios run in which much happens at once.
func TestEverythingIsAccountedForWhenMuchHappensAtOnce(t *testing.T) {
	runAll(t, func(name string) bool {
		return name == "everything" || strings.HasSuffix(name, "AndFaults")
	})
}

func runAll(t *testing.T, runs func(scenario string) bool) {
	for name, sc := range Scenarios() {
		if !runs(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range *seeds {
				seed := *first + uint64(i)
				sc.Log = traceFile(t)
				out := Run(t, seed, sc)
				if out.Problem != nil {
					t.Fatal(repeatable(name, seed, out.Problem))
				}
			}
		})
	}
}

// A simulation proves nothing about snapshots unless its hosts write them, truncate the queue
// before them, and start from them.
func TestSimulatedHostsSaveTheirStatesAndTruncateTheQueue(t *testing.T) {
	out := Run(t, *first, Scenarios()["rotten"])
	written := map[string]int{}
	for _, e := range out.Record {
		written[events.Category(e.Stream)]++
	}
	truncated := events.MetadataStream(events.CategorySlotQueue)
	for _, category := range []string{"hostSnapshot", "capacitySnapshot", "slotqueueSnapshot", truncated} {
		if written[category] < 2 {
			t.Errorf("%d events of %s", written[category], category)
		}
	}
	if out.Crashes < 3 {
		t.Errorf("the host started %d times again", out.Crashes)
	}
}

// However much a cluster without a quorum delays: every slot that the host fills is paid, and no proof
// is missed. A request may expire while nothing can be stored; most do not.
func TestAHostIsPaidWhateverItsClusterAnswers(t *testing.T) {
	t.Parallel()
	sold := 0
	for i := range *seeds {
		seed := *first + uint64(i)
		out := Run(t, seed, Scenarios()["cluster"])
		filled, paid, missed := out.Events["SlotFilled"], out.Events["PayoutReceived"], out.Events["ProofMissed"]
		if out.Problem != nil || paid != filled || missed > 0 {
			t.Errorf("seed %d: %d slots filled, %d paid, %d proofs missed: %v", seed, filled, paid, missed, out.Problem)
		}
		if paid > 0 {
			sold++
		}
	}
	if 2*sold < *seeds {
		t.Errorf("only in %d of %d seeds something was sold", sold, *seeds)
	}
	t.Logf("in %d of %d seeds something was sold", sold, *seeds)
}
