// Command statemachine compares sectors here with the same sectors on go-statemachine: durable transitions a second,
// each acknowledged before the next one of its sector, and each kept. It is a module of its own, so that the peer is
// no dependency of hostnode: make bench-sectors.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/hostnode/hostnode/bench/statemachine/peer"
)

var (
	dir     = flag.String("dir", "", "where the stores are made, on the disk that is to be measured; a temporary directory")
	rounds  = flag.Int("rounds", 3, "how often each is measured; the median counts, of rates, of their ratios, and of processor time")
	only    = flag.Int("sectors", 0, "measure the cases with so many sectors only; 0: all")
	here    = flag.Bool("here", false, "measure our side only")
	profile = flag.String("cpuprofile", "", "write a profile to a file")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	base, err := os.MkdirTemp(*dir, "bench-sectors-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(base) }()
	if err := run(base); err != nil {
		log.Fatal(err) //nolint:gocritic // The files left in a temporary directory help to find out why.
	}
}

func run(base string) error {
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println("| sectors | events each | here | peer with its log | times | peer without a log | times | µs of processors | `fsync`/s |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, c := range []struct{ sectors, events int }{{1, 40}, {100, 40}, {10_000, 40}, {1, 5000}} {
		if *only > 0 && c.sectors != *only {
			continue
		}
		if err := compare(base, c.sectors, c.events); err != nil {
			return fmt.Errorf("%d sectors, %d events: %w", c.sectors, c.events, err)
		}
	}
	return nil
}

// side is one of the programs that are compared. The work that it does within a call of timed is measured.
type side func(dir string, sectors, events int, timed func(func())) error

var sides = []side{
	runOurs,
	func(dir string, sectors, events int, timed func(func())) error {
		return peer.Run(dir, sectors, events, true, lifeOfPeer, timed)
	},
	func(dir string, sectors, events int, timed func(func())) error {
		return peer.Run(dir, sectors, events, false, lifeOfPeer, timed)
	},
}

// measured is one round of one side: transitions a second, and the processor time of one of them.
type measured struct{ rate, micros float64 }

// compare measures all sides, one after the other, and again in another order.
func compare(base string, sectors, events int) error {
	rounds, syncs := make([][]measured, *rounds), make([]float64, *rounds)
	for round := range rounds {
		rounds[round] = make([]measured, len(sides))
		for n := range sides {
			i := (round + n) % len(sides)
			if *here && i > 0 {
				continue
			}
			at := filepath.Join(base, fmt.Sprintf("%d-%d-%d-%d", sectors, events, round, i))
			err := sides[i](at, sectors, events, func(run func()) {
				runtime.GC() // What another side has left behind is not collected at the expense of this one.
				before, begin, all := processors(), time.Now(), float64(sectors*events)
				run()
				rounds[round][i] = measured{
					all / time.Since(begin).Seconds(), float64((processors() - before).Microseconds()) / all,
				}
			})
			if err != nil {
				return err
			}
			if err := os.RemoveAll(at); err != nil {
				return err
			}
		}
		var err error
		if syncs[round], err = syncsPerSecond(base); err != nil {
			return err
		}
	}
	median := func(of func(round []measured) float64) float64 {
		all := make([]float64, 0, len(rounds))
		for _, round := range rounds {
			all = append(all, of(round))
		}
		return middle(all)
	}
	rate := func(i int) float64 { return median(func(r []measured) float64 { return r[i].rate }) }
	times := func(i int) float64 { return median(func(r []measured) float64 { return r[0].rate / r[i].rate }) }
	micros := func(i int) float64 { return median(func(r []measured) float64 { return r[i].micros }) }
	fmt.Printf("| %d | %d | %.0f | %.0f | %.2f | %.0f | %.2f | %.0f, %.0f, %.0f | %.0f |\n", sectors, events,
		rate(0), rate(1), times(1), rate(2), times(2), micros(0), micros(1), micros(2), middle(syncs))
	return nil
}

// middle is the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// processors returns the processor time that this process has used.
func processors() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// syncsPerSecond is how often the disk writes and syncs 4 KiB, one after the other.
func syncsPerSecond(base string) (float64, error) {
	f, err := os.CreateTemp(base, "raw")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	block, n := make([]byte, 4096), 0
	begin := time.Now()
	for ; time.Since(begin) < 300*time.Millisecond; n++ {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
