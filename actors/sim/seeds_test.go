package sim

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxFailures is how many failing seeds a run of many reports before it ends.
const maxFailures = 20

// progressEvery is how often a run of many seeds prints its progress.
const progressEvery = 10 * time.Second

// campaign is a run of many seeds over all scenarios, on all cores.
type campaign struct {
	sync.Mutex
	names  []string
	began  time.Time
	told   time.Time
	next   uint64 // the next one to run
	done   int
	failed int
	faults map[Fault]int
	stats  map[string]int
}

// TestSeeds runs -total seeds, spread over all scenarios. It is what `make sim`
// runs; without -total there is nothing to do, because the other tests run some
// seeds of each scenario.
func TestSeeds(t *testing.T) {
	if *total == 0 {
		t.Skip("no -total; see make sim")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // Objects are short-lived, and memory is plentiful.
	c := &campaign{
		names: slices.Sorted(maps.Keys(Scenarios())), began: time.Now(), told: time.Now(), faults: map[Fault]int{},
		stats: map[string]int{},
	}
	t.Run("workers", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for c.one(t) {
				}
			})
		}
	})
	c.tell(true)
}

// one runs the next seed; false when there is none left.
func (c *campaign) one(t *testing.T) bool {
	c.Lock()
	i := c.next
	c.next++
	enough := i >= uint64(*total) || c.failed >= maxFailures
	c.Unlock()
	if enough {
		return false
	}
	name, seed := c.names[i%uint64(len(c.names))], *first+i/uint64(len(c.names))
	out := Run(t, seed, Scenarios()[name])
	c.Lock()
	defer c.Unlock()
	c.done++
	c.stats["crashes"] += out.Crashes
	c.stats["blocks"] += int(out.Blocks)
	c.stats["steps"] += out.Steps
	c.stats["events"] += len(out.Record)
	for f, n := range out.Faults {
		c.faults[f] += n
	}
	if out.Problem != nil {
		c.failed++
		t.Errorf("%s", repeatable(name, seed, out.Problem))
	}
	c.tell(false)
	return true
}

// repeatable is a problem with the command that repeats it.
func repeatable(name string, seed uint64, problem error) string {
	return fmt.Sprintf("%s, seed %d: %v\n"+
		"repeat: go test ./actors/sim -run '^%s/%s$' -seed %d -seeds 1 -tell /tmp/%s-%d.txt",
		name, seed, problem, scenarioTest, name, seed, name, seed)
}

// tell prints the progress; the lock must be held, or nobody else may run.
func (c *campaign) tell(last bool) {
	if !last && time.Since(c.told) < progressEvery {
		return
	}
	c.told = time.Now()
	took := time.Since(c.began)
	kinds := map[string]int{}
	for f, n := range c.faults {
		kinds[f.Kind] += n
	}
	var seen []string
	oftenest := func(a, b string) int { return cmp.Compare(kinds[b], kinds[a]) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), oftenest) {
		seen = append(seen, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	fmt.Fprintf(os.Stderr, "%d of %d seeds in %s (%.1f per second), %d failed; "+
		"%d steps, %d blocks, %d events, %d restarts; faults: %s\n",
		c.done, *total, took.Round(time.Second), float64(c.done)/took.Seconds(), c.failed, c.stats["steps"],
		c.stats["blocks"], c.stats["events"], c.stats["crashes"], strings.Join(seen, ", "))
}

// portMethods are all calls of a host on the world, by the names under which they park.
var portMethods = []string{
	"market.config", "market.head", "market.headAt", "market.request", "market.slot", "market.mySlots",
	"market.balance", "market.holds", "market.reserve", "market.fill", "market.proof", "market.takenProofs", "market.free",
	"feed", "prover.prove", "repo.delete", "repo.extend", "repo.scrub", "content.piece", "content.repair",
	"store.append", "store.readStream", "store.readAll", "store.subscribe", "store.head",
}

// worldTroubles are the faults of the world as a whole.
var worldTroubles = []string{
	"crash", "stop", "reorganisation", "clock jumps", chainDown, nodeLags, diskFull, slowProofs, storeDown, storeAway,
	bitRot, dataLost, lies, leaderless, deaf, cutOff, mute, nodeStands,
}

// clusterAnswers are the faults of appends to an event store of several nodes.
var clusterAnswers = []string{
	faultNotReady, faultTail, faultJudged, faultDropped, faultUnanswered, faultTruncated, faultCommitted,
}

// lyingMethods are those whose answers the market falsifies.
var lyingMethods = []string{
	"market.config", "market.head", "market.headAt", "market.headsBetween", "market.request", "market.slot",
	"market.mySlots", "market.holds", "market.reserve", "market.fill", "market.proof", "market.takenProofs",
	"market.free", "feed",
}

// A simulation proves little about a fault that never occurred in it.
func TestEveryFaultOccursAtEveryPort(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about the simulator, and long; the race detector has nothing to find in it")
	}
	t.Parallel()
	often := Scenario{
		Fail: 20, Lose: 20, Delay: 15, Twice: 30, Die: 8, Crash: 1, Stop: 1, Requests: 3, Slots: 3, MaxSteps: 4_000,
		Competitor: 20,
	}
	often.Reads, often.BitRot = true, 8
	// Elsewhere the host is seldom killed beside a call that is rare itself, such as those at the end of a sale.
	dying := Scenario{Die: 40, MaxSteps: 4_000}
	rotting := Scenario{Die: 40, BitRot: 8, MaxSteps: 4_000}
	clustered := Scenario{Cluster: 40, Requests: 3, MaxSteps: 4_000}
	contested := often
	contested.Competitor, contested.Die = 60, 40
	troubled := Scenario{
		Reorganize: 2, ChainDown: 2, Lag: 2, DiskFull: 2, SlowProofs: 2, Clock: 4, StoreDown: 2, StoreAway: 2, Crash: 2,
		Stop: 2, BitRot: 2, Cluster: 8, MaxSteps: 4_000,
	}
	lying := Scenario{Lies: 10, Requests: 3, Slots: 3, Crash: 2, Competitor: 20, MaxSteps: 4_000}
	kinds := []string{
		faultError, faultLost, faultDelay, faultDuplicate, faultReorder, faultCrashBefore, faultCrashAfter,
	}
	seen := map[Fault]int{}
	missing := func() (list []Fault) {
		for _, kind := range kinds {
			for _, port := range portMethods {
				// The first call of a start is nearly always alone.
				alone := kind == faultReorder && port == "market.config"
				if seen[Fault{kind, port}] == 0 && !alone {
					list = append(list, Fault{kind, port})
				}
			}
		}
		for _, port := range lyingMethods {
			if seen[Fault{faultLie, port}] == 0 {
				list = append(list, Fault{faultLie, port})
			}
		}
		for _, kind := range clusterAnswers {
			if seen[Fault{Kind: kind}] == 0 {
				list = append(list, Fault{Kind: kind})
			}
		}
		for _, kind := range worldTroubles {
			if seen[Fault{kind, "world"}] == 0 {
				list = append(list, Fault{kind, "world"})
			}
		}
		return list
	}
	const most = 600
	seed := uint64(0)
	for ; seed < most && len(missing()) > 0; seed++ {
		sc := often
		switch seed % 8 {
		case 0:
			sc = troubled
		case 2:
			sc = contested
		case 4:
			sc = lying
		case 5:
			sc = rotting
		case 6:
			sc = dying
		case 7:
			sc = clustered
		}
		for f, n := range Run(t, seed, sc).Faults { // Whether it ends well is checked by other tests.
			seen[f] += n
			seen[Fault{Kind: f.Kind}] += n
		}
	}
	for _, f := range missing() {
		t.Errorf("in %d seeds there was no %s at %s", most, f.Kind, f.Where)
	}
	t.Logf("%d seeds", seed)
}
