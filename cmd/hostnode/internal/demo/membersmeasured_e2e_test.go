//go:build e2e

package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
)

// TestWhatSeveralMembersCost measures what docs/performance.md tells of three members that are processes: what an
// idle one costs, how many commands they take, and how long nobody is the owner after the owner was killed.
func TestWhatSeveralMembersCost(t *testing.T) {
	kills := number(t, "HOSTNODE_TEST_KILLS", 0)
	if kills == 0 {
		t.Skip("make members-measured sets how often the owner is killed")
	}
	f := newFaultRigWith(t, program(t), beatOr(t, 2*time.Second), config.Default().Cluster.Lease, memberNames[:3]...)
	f.began = time.Now()
	f.await("an owner", func(context.Context) bool { return f.owner() != nil })
	for _, m := range f.members {
		f.follows(m)
	}
	f.idle(time.Minute)
	f.commands(10 * time.Second)
	var without []time.Duration
	for range kills {
		without = append(without, f.withoutOwner())
	}
	slices.Sort(without)
	t.Logf("without an owner after SIGKILL, with leases of %s: %v", config.Default().Cluster.Lease, without)
}

// follows waits until a member follows the chain.
func (f *faultRig) follows(m *faulted) {
	f.t.Helper()
	f.await(string(m.name)+" follows the chain", func(ctx context.Context) bool {
		s, err := api.ShowStatus.Ask(ctx, m.api, api.Then{})
		return err == nil && s.Chain.Head > 0
	})
}

// used is the processor time and the memory of a process of Linux.
func used(t *testing.T, pid int) (cpu time.Duration, resident uint64) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 100 // a second
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, at := range []int{11, 12} { // utime and stime
		n, err := strconv.ParseUint(fields[at], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cpu += time.Duration(n) * time.Second / ticks
	}
	pages, err := strconv.ParseUint(fields[21], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return cpu, pages * uint64(os.Getpagesize())
}

// idle measures members that host nothing.
func (f *faultRig) idle(last time.Duration) {
	f.t.Helper()
	owner := f.owner()
	before := map[*faulted]time.Duration{}
	for _, m := range f.members {
		before[m], _ = used(f.t, m.pid())
	}
	began := time.Now()
	time.Sleep(last)
	for _, m := range f.members {
		cpu, resident := used(f.t, m.pid())
		f.t.Logf("idle, a block every %s: %s (owner: %t) uses %.2f %% of a processor and %d MiB", f.beat, m.name, m == owner,
			100*float64(cpu-before[m])/float64(time.Since(began)), resident>>20)
	}
}

// commands measures commands for the ledger of the owner, given to it and to another member, and for the queue.
func (f *faultRig) commands(last time.Duration) {
	f.t.Helper()
	owner := f.owner()
	other := f.members[0]
	if other == owner {
		other = f.members[1]
	}
	const clients = 16
	var ids []string
	for n := range clients {
		id := events.AvailabilityID{1, byte(n)}.String()
		_, err := api.AddAvailability.Ask(f.t.Context(), owner.api, api.Send(api.Offer{
			ID: id, Size: 1 << 20, DurationSeconds: 3600, MinPrice: "1", Collateral: "1", Disabled: true,
		}))
		f.must(err)
		ids = append(ids, id)
	}
	for range 2 {
		for to, m := range map[string]*faulted{"its own process": owner, "another member": other} {
			ledger := f.rate(last, clients, func(client, n int) error {
				price := strconv.Itoa(n + 2)
				_, err := api.SetAvailability.Ask(f.t.Context(), m.api, api.ChangesOf{
					ID: ids[client], Body: api.Changes{MinPrice: &price},
				})
				return err
			})
			queue := f.rate(last, 1, func(_, n int) (err error) {
				if why := strconv.Itoa(n); n%2 == 0 {
					_, err = api.PauseQueue.Ask(f.t.Context(), m.api, api.Send(api.Why{Reason: why}))
				} else {
					_, err = api.ResumeQueue.Ask(f.t.Context(), m.api, api.Send(api.Why{Reason: why}))
				}
				return err
			})
			f.t.Logf("through %s: %.0f commands/s for a ledger by %d clients, %.0f for the queue by one", to, ledger, clients, queue)
		}
	}
}

// rate is how often a second clients can do something.
func (f *faultRig) rate(last time.Duration, clients int, do func(client, n int) error) float64 {
	var all sync.WaitGroup
	counts := make([]int, clients)
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			for time.Since(began) < last {
				if err := do(c, counts[c]); err != nil {
					f.t.Errorf("client %d: %v", c, err)
					return
				}
				counts[c]++
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / time.Since(began).Seconds()
}

// withoutOwner kills the owner, and says how long it takes until a command for the queue is done again. Then it starts
// the killed one again.
func (f *faultRig) withoutOwner() time.Duration {
	f.t.Helper()
	var owner *faulted
	f.await("an owner", func(context.Context) bool { owner = f.owner(); return owner != nil })
	survivor := f.members[0]
	if survivor == owner {
		survivor = f.members[1]
	}
	f.must(owner.killIt())
	killed := time.Now()
	var took time.Duration
	f.await("the queue is run again", func(ctx context.Context) bool {
		_, err := api.PauseQueue.Ask(ctx, survivor.api, api.Send(api.Why{Reason: strconv.FormatInt(time.Now().UnixNano(), 10)}))
		took = time.Since(killed)
		return err == nil
	})
	f.must(owner.startIt())
	f.follows(owner)
	return took.Round(10 * time.Millisecond)
}
