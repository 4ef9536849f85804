package sim

import (
	"flag"
	"io"
	"os"
	"testing"

	"github.com/hostnode/hostnode/events"
)

var (
	seeds = flag.Int("seeds", 2, "how many seeds each scenario runs")
	first = flag.Uint64("seed", 1, "the first seed")
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

func scenarios() map[string]Scenario {
	return map[string]Scenario{
		"quiet":         {},
		"faults":        {Fail: 60, Lose: 60},
		"crashes":       {Fail: 20, Lose: 20, Crash: 8},
		"stops":         {Stop: 3, Fail: 10},
		"rivals":        {Rival: 4, Requests: 3, Slots: 3},
		"reorgs":        {Reorganize: 4, Fail: 10},
		"liars":         {BadContent: true, Requests: 4, Fail: 20},
		"silentClient":  {NoClient: true, Requests: 4, Fail: 20},
		"storeFails":    {StoreDown: 5, Lose: 10},
		"slowWorld":     {Block: 450, Fail: 20},
		"repairs":       {Rival: 6, Requests: 3, Slots: 3, Block: 100},
		"poor":          {Tokens: 3 * 4 * uint64(events.BlockSize) / 2, Requests: 4},
		"fullQueue":     {MaxQueued: 2, Requests: 5, Slots: 3},
		"operator":      {Pause: 10, Requests: 4, Fail: 20},
		"repeatingFeed": {Repeat: 40, Requests: 3, Crash: 2},
		"lostRecord":    {Forget: 10, Requests: 3},
		"spoiltProofs":  {FailEveryNProofs: 3, Fail: 10},
		// Rivals are apart from reorganisations: when a rival takes a slot whose
		// fill was dropped, and the host looks later than FinalBlocks, it cannot
		// tell that from a forfeit.
		"all": {
			Fail: 30, Lose: 30, Crash: 4, Stop: 1, Reorganize: 2, Repeat: 10, StoreDown: 1, Pause: 2,
			Requests: 4, Slots: 3, BadContent: true,
		},
	}
}

// Every scenario ends with all requests over, all sales settled and every byte
// and token accounted for, whatever happened on the way.
func TestEverythingIsAccountedForWhateverHappens(t *testing.T) {
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			for i := range *seeds {
				seed := *first + uint64(i)
				sc.Log = traceFile(t)
				out := Run(t, seed, sc)
				if out.Problem != nil {
					t.Fatalf("seed %d: %v\nrepeat: go test ./actors/sim -run '^%s$' -seed %d -seeds 1",
						seed, out.Problem, t.Name(), seed)
				}
			}
		})
	}
}
