package sim

import (
	"flag"
	"io"
	"os"
	"testing"
)

var (
	seeds = flag.Int("seeds", 25, "how many seeds each scenario runs")
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
		"quiet":   {},
		"faults":  {Fail: 60, Lose: 60},
		"crashes": {Fail: 20, Lose: 20, Crash: 8},
		"rivals":  {Rival: 4, Requests: 3, Slots: 3},
		"reorgs":  {Reorganize: 4, Fail: 10},
		"liars":   {BadContent: true, Requests: 4, Fail: 20},
		"all":     {Fail: 30, Lose: 30, Crash: 4, Reorganize: 2, Rival: 2, Requests: 4, Slots: 3, BadContent: true},
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
					t.Fatalf("seed %d: %v\nrepeat: go test ./actors/sim -run '%s' -seed %d -seeds 1",
						seed, out.Problem, t.Name(), seed)
				}
			}
		})
	}
}
