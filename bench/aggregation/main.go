// Command aggregation compares aggregates and commitments with the libraries of the Filecoin project: go-data-segment
// v0.0.1 and go-fil-commp-hashhash v0.2.0. First both make random aggregates, which must be equal to the byte: root,
// index, and each proof, which each side reads and verifies from the other's bytes. Then they are measured. It is a
// module of its own, so that the libraries are no dependency of hostnode: make bench-aggregation.
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"slices"
	"syscall"
	"time"
)

var (
	seeds  = flag.Int("seeds", 40, "how many random aggregates are compared")
	first  = flag.Uint64("seed", 1, "the first of them")
	rounds = flag.Int("rounds", 3, "how often each is measured; 0: only the equality is checked")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench-aggregation: ")
	flag.Parse()
	pieces, err := compareAll(*first, *seeds)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d random aggregates of %d pieces: roots, indexes and proofs are equal to the byte\n", *seeds, pieces)
	if *rounds == 0 {
		return
	}
	missed, err := measure()
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range missed {
		log.Print("missed: ", m)
	}
	if len(missed) > 0 {
		log.Fatal("targets are missed by far")
	}
}

// measure prints the tables, and returns which targets were missed by more than a quarter: a shared machine is not
// exact.
func measure() (missed []string, err error) {
	miss := func(bad bool, format string, values ...any) {
		if bad {
			missed = append(missed, fmt.Sprintf(format, values...))
		}
	}
	fmt.Println("\n| payload | here, MB per second of processor time | go-fil-commp-hashhash | times as fast |")
	fmt.Println("|---:|---:|---:|---:|")
	for _, size := range []int{1 << 10, 64 << 10, 64 << 20, 1 << 30} {
		c, err := contend(commitments(size))
		if err != nil {
			return nil, err
		}
		fmt.Printf("| %d KiB | %.0f | %.0f | %.1f |\n",
			size>>10, float64(size)/c.here/1e6, float64(size)/c.there/1e6, c.times())
		miss(c.times() < 2*0.75, "commitments of %d bytes %.1f times as fast, want 2", size, c.times())
	}
	fmt.Println("\n| pieces | build here | go-data-segment | times as fast | proof by piece here | there |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|")
	for _, count := range []int{1000, 100_000, 262_016} {
		a, err := newAggregates(count)
		if err != nil {
			return nil, err
		}
		built, err := contend(a.build())
		if err != nil {
			return nil, err
		}
		proven, err := contend(a.proofs())
		if err != nil {
			return nil, err
		}
		fmt.Printf("| %d | %.1f ms | %.1f ms | %.1f | %.1f µs | %.1f µs |\n",
			count, built.here*1e3, built.there*1e3, built.times(), proven.here*1e6, proven.there*1e6)
		miss(built.times() < 0.75, "building with %d pieces is %.1f times as fast, want 1", count, built.times())
		miss(proven.here > 10e-6/0.75, "a proof takes %.1f µs, want 10", proven.here*1e6)
	}
	return missed, nil
}

// sides are the same work here and there.
type sides struct{ here, there func() error }

// contest is how long each side takes, in seconds of processor time.
type contest struct{ here, there float64 }

func (c contest) times() float64 { return c.there / c.here }

// contend measures both sides in turn, and takes the median of the rounds.
func contend(s sides) (contest, error) {
	var all [2][]float64
	for range *rounds {
		for i, do := range [2]func() error{s.here, s.there} {
			c, err := timed(do)
			if err != nil {
				return contest{}, err
			}
			all[i] = append(all[i], c)
		}
	}
	middle := func(side []float64) float64 { return slices.Sorted(slices.Values(side))[*rounds/2] }
	return contest{middle(all[0]), middle(all[1])}, nil
}

// timed repeats work for at least a fifth of a second, and returns the processor time of each.
func timed(do func() error) (float64, error) {
	runtime.GC()
	cpu, begin := processor(), time.Now()
	for n := 1.0; ; n++ {
		if err := do(); err != nil {
			return 0, err
		}
		if time.Since(begin) > time.Second/5 {
			return (processor() - cpu) / n, nil
		}
	}
}

// processor is the processor time of this process, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
