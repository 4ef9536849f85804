// Command downtime compares how nodes are judged here with the same judging in SQL, on a PostgreSQL of its own: the
// query of the document that the rules come from, without its mistakes. First both run over random histories and must
// come to the same verdict on every node after every window; then they are measured. It is a module of its own, so that
// the database's driver is no dependency of hostnode: make bench-downtime.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

var (
	dir     = flag.String("dir", "", "where the database is made; a temporary directory")
	bin     = flag.String("bin", "", "the directory of PostgreSQL's programs; the newest of /usr/lib/postgresql")
	seeds   = flag.Int("seeds", 8, "over how many random histories the verdicts are compared")
	first   = flag.Uint64("seed", 1, "the first of them")
	rounds  = flag.Int("rounds", 5, "how often each is measured; the median counts")
	profile = flag.String("cpuprofile", "", "write a profile of our side, while it is measured, to a file")
)

// windows is how many windows the measured nodes have, the tracking period of the document.
const windows = 48

func main() {
	log.SetFlags(0)
	flag.Parse()
	// Whatever ends it, the database is stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("bench-downtime: ", err) //nolint:gocritic // Nothing is left to be undone.
	}
}

func run(ctx context.Context) (err error) {
	db, shut, err := openDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	compared := 0
	for i := range *seeds {
		n, err := compare(ctx, db, *first+uint64(i))
		if err != nil {
			return fmt.Errorf("history %d: %w", *first+uint64(i), err)
		}
		compared += n
	}
	fmt.Printf("%d random histories: %d verdicts on nodes compared, all the same\n\n", *seeds, compared)
	fmt.Println("| nodes | what | here, ms | SQL, ms | times as fast | processor ms: here, SQL | ratio | " +
		"memory here, MiB | tables, MiB |")
	fmt.Println("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, nodes := range []int{10_000, 100_000} {
		if err := measure(ctx, db, nodes); err != nil {
			return fmt.Errorf("%d nodes: %w", nodes, err)
		}
	}
	return nil
}

// measure prints how long both take to find the offending ones of so many nodes, and for a whole run of the chore.
func measure(ctx context.Context, db *database, nodes int) error {
	rules := documentRules()
	if err := db.begin(ctx, rules); err != nil {
		return err
	}
	before := heap()
	fleet, err := load(ctx, db, rules, nodes)
	if err != nil {
		return err
	}
	memory := heap() - before
	tables, err := db.size(ctx)
	if err != nil {
		return err
	}
	now := begin.Add(windows * rules.WindowLength)
	offending := func(ctx context.Context) (ours, theirs []events.Node, took [2]time.Duration, err error) {
		took[0] = timed(func() { ours = rules.GetOffendingNodes(fleet, now) })
		took[1] = timed(func() { theirs, err = db.offending(ctx, now) })
		return ours, theirs, took, err
	}
	chore := func(ctx context.Context) (ours, theirs []events.Node, took [2]time.Duration, err error) {
		took[0] = timed(func() { ours, err = chore(rules, fleet, now, false) })
		if err == nil {
			took[1], theirs, err = db.tryChore(ctx, now)
		}
		return ours, theirs, took, err
	}
	for _, c := range []struct {
		what string
		do   contest
	}{{"find the offending ones", offending}, {"a run of the chore", chore}} {
		m, err := contend(ctx, db, c.do)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		fmt.Printf("| %d | %s | %.1f | %.1f | %.1f | %.0f, %.0f | %.1f | %.0f | %.0f |\n",
			nodes, c.what, middle(m.here), middle(m.there), middle(m.times), m.processor[0], m.processor[1],
			m.processor[1]/m.processor[0], memory/(1<<20), tables/(1<<20))
	}
	runtime.KeepAlive(fleet)
	return nil
}

// contest has both sides do the same: it returns the nodes that each found, and how long each took.
type contest func(context.Context) (ours, theirs []events.Node, took [2]time.Duration, err error)

// measured are all rounds of a contest, in milliseconds, with the ratios; and the processor time of a round.
type measured struct {
	here, there, times []float64
	processor          [2]float64
}

// contend measures a contest, in which both must find the same nodes.
func contend(ctx context.Context, db *database, do contest) (m measured, err error) {
	for round := range *rounds + 1 {
		runtime.GC() // What loading or SQL's side left behind is not collected at the expense of ours.
		before, err := processors(db)
		if err != nil {
			return m, err
		}
		ours, theirs, took, err := do(ctx)
		if err != nil {
			return m, err
		}
		after, err := processors(db)
		if err != nil {
			return m, err
		}
		if slices.Sort(theirs); !slices.Equal(ours, theirs) || len(ours) == 0 {
			return m, fmt.Errorf("%d nodes here, %d in SQL, or others", len(ours), len(theirs))
		}
		if round == 0 { // SQL reads its tables into memory.
			continue
		}
		here, there := took[0].Seconds()*1e3, took[1].Seconds()*1e3
		m.here, m.there, m.times = append(m.here, here), append(m.there, there), append(m.times, there/here)
		for i := range before {
			m.processor[i] += (after[i] - before[i]).Seconds() * 1e3 / float64(*rounds)
		}
	}
	return m, nil
}

// chore is a run of ours: it returns the nodes on which something was decided, and with keep has it happen.
func chore(rules downtime.Service, fleet downtime.Fleet, now time.Time, keep bool) (nodes []events.Node, err error) {
	runs, err := rules.Chore(fleet, now)
	for _, run := range runs {
		s := fleet[run.Node]
		for _, c := range run.Commands {
			all, why := downtime.Decide(s, c)
			for _, e := range all {
				s = downtime.Evolve(s, e)
			}
			err = errors.Join(err, why)
		}
		if nodes = append(nodes, run.Node); keep {
			fleet[run.Node] = s
		}
	}
	return nodes, err
}

func timed(do func()) time.Duration {
	from := time.Now()
	do()
	return time.Since(from)
}

// middle is the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// processors are the processor times of this process and of the database.
func processors(db *database) (both [2]time.Duration, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return both, err
	}
	both[0] = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	both[1], err = db.processors()
	return both, err
}

// heap is what this process holds, in bytes.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
