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
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/hostnode/hostnode/bench/statemachine/peer"
)

var (
	dir     = flag.String("dir", "", "where the stores are made, on the disk that is to be measured; a temporary directory")
	rounds  = flag.Int("rounds", 3, "how often each is measured; the best counts, for both sides")
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

// measured is the best of some rounds: transitions a second, and the least processor time for one of them.
type measured struct{ rate, micros float64 }

// compare measures all sides, one after the other, and again.
func compare(base string, sectors, events int) error {
	best := make([]measured, len(sides))
	var syncs float64
	for round := range *rounds {
		for i, measure := range sides {
			if *here && i > 0 {
				continue
			}
			at := filepath.Join(base, fmt.Sprintf("%d-%d-%d-%d", sectors, events, round, i))
			err := measure(at, sectors, events, func(run func()) {
				before, begin, all := processors(), time.Now(), float64(sectors*events)
				run()
				best[i].rate = max(best[i].rate, all/time.Since(begin).Seconds())
				micros := float64((processors() - before).Microseconds()) / all
				if round == 0 || micros < best[i].micros {
					best[i].micros = micros
				}
			})
			if err != nil {
				return err
			}
			if err := os.RemoveAll(at); err != nil {
				return err
			}
		}
		n, err := syncsPerSecond(base)
		if err != nil {
			return err
		}
		syncs = max(syncs, n)
	}
	ours, withLog, without := best[0], best[1], best[2]
	fmt.Printf("| %d | %d | %.0f | %.0f | %.2f | %.0f | %.2f | %.0f, %.0f, %.0f | %.0f |\n", sectors, events,
		ours.rate, withLog.rate, ours.rate/withLog.rate, without.rate, ours.rate/without.rate,
		ours.micros, withLog.micros, without.micros, syncs)
	return nil
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
