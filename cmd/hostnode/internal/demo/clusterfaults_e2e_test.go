//go:build e2e

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/audit"
)

// course is what a fault run sells.
type course struct {
	requests       int // all but the first are posted while faults happen
	periods, fills int // how many periods a request lasts, and how many its slots may be filled
}

// faultyPeriods is how long faults begin after the first fill, in periods. They may last for another two.
const faultyPeriods = 4

// number reads a number from the environment.
func number(t *testing.T, name string, def uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// beatOr is the beat that the environment asks for, or the usual one.
func beatOr(t *testing.T, usual time.Duration) time.Duration {
	return time.Duration(number(t, "HOSTNODE_TEST_BEAT_MS", uint64(usual/time.Millisecond))) * time.Millisecond
}

// program builds the program for the test and those below it.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "hostnode")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// TestClusterFaults is `make cluster-faults RUNS= MEMBERS= SEED=`: runs of a host of several members, each
// with faults that are drawn from a seed of its own.
func TestClusterFaults(t *testing.T) {
	runs := number(t, "HOSTNODE_TEST_RUNS", 0)
	if runs == 0 {
		t.Skip("make cluster-faults sets how many runs there are")
	}
	names := memberNames[:number(t, "HOSTNODE_TEST_MEMBERS", 3)]
	first := number(t, "HOSTNODE_TEST_SEED", uint64(time.Now().Unix()))
	beat := beatOr(t, faultBeat)
	bin := program(t)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Logf("repeat with make cluster-faults RUNS=1 MEMBERS=%d SEED=%d", len(names), seed)
			f := newFaultRig(t, bin, beat, names...)
			f.suffers(course{requests: 2, periods: 9, fills: 7}, drawFaults(seed, beat))
		})
	}
}

// A short run whose faults are not drawn: the owner is killed while its etcd and a link are away, and comes back.
func TestAHostOfTwoMembersIsPaidAlthoughItsOwnerIsKilledAndLinksAreLost(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, 150*time.Millisecond), "north", "south")
	find := func(name string) faultKind {
		kinds := faultKinds()
		return kinds[slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == name })]
	}
	f.suffers(course{requests: 1, periods: 6, fills: 4}, []draw{
		{kind: find("SIGKILL of etcd"), at: time.Second, lasts: 4 * time.Second},
		{kind: find("a link"), at: 2 * time.Second, lasts: 8 * time.Second, who: 1, way: 0, does: int(muted)},
		{kind: find("SIGKILL of the owner"), at: 8 * time.Second, lasts: 10 * time.Second},
		{kind: find("SIGSTOP of a member"), at: 12 * time.Second, lasts: 4 * time.Second, who: 1},
	})
}

// An owner that is stopped for two minutes, and then goes on as if nothing had been, does no harm: another member has
// the term by then. The run is slow, so that the slots are not lost meanwhile.
func TestAnOwnerThatIsStoppedForTwoMinutesDoesNoHarm(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, 800*time.Millisecond), memberNames[:3]...)
	for _, k := range faultKinds() {
		if k.name == "SIGSTOP of the owner" {
			f.suffers(course{requests: 2, periods: 9, fills: 7}, []draw{{kind: k, at: 10 * time.Second, lasts: 2 * time.Minute}})
		}
	}
	if len(f.events) == 0 {
		t.Fatal("no owner was stopped")
	}
}

// suffers sells the requests while faults happen, and checks everything.
func (f *faultRig) suffers(c course, faults []draw) {
	f.began = time.Now()
	first := f.client.request(f.period, 1)
	first.Expiry, first.Ask.Duration = time.Duration(c.fills)*f.period, time.Duration(c.periods)*f.period
	f.offer(first)
	f.must(f.client.enter(f.t.Context(), f.rig.remote, requester.Price(first).MulSaturating(uint64(c.requests))))
	defer f.observe(f.t.Context())()
	first.ID = f.post(first)
	f.await("a slot is filled", func(ctx context.Context) bool { return f.logs(ctx, "SlotFilled", 0) > 0 })
	f.t.Logf("%s: the first slot is filled", f.clock())
	posted := make(chan []events.Request, 1)
	go func() {
		all := []events.Request{first}
		for range c.requests - 1 {
			next := first
			next.Nonce[0] += byte(len(all))
			next.ID = f.post(next)
			all = append(all, next)
		}
		posted <- all
	}()
	f.play(faults)
	f.returns()
	f.copies()
	patience := 4*time.Minute + time.Duration(float64(c.periods)*f.period.Seconds()*float64(f.beat))
	for _, r := range <-posted {
		f.settles(r, patience)
	}
	f.t.Logf("%s: all is settled", f.clock())
	f.reached()
	f.auditsWithChain()
	f.stopsAll()
	f.effects()
	f.judge()
	f.t.Logf("%s: the end; faults: %v", f.clock(), f.events)
}

func (f *faultRig) post(r events.Request) events.RequestID {
	id, err := f.client.post(f.t.Context(), r)
	if err != nil {
		f.t.Errorf("the client cannot post its request: %v", err)
	}
	return id
}

// play lets faults begin and end when they should, and ends all of them at last.
func (f *faultRig) play(faults []draw) {
	type healing struct {
		at   time.Time
		heal func() error
		what string
	}
	var open []healing
	begin := time.Now()
	healDue := func(until time.Time) {
		for {
			next := -1
			for i, h := range open {
				if h.at.Before(until) && (next < 0 || h.at.Before(open[next].at)) {
					next = i
				}
			}
			if next < 0 {
				return
			}
			h := open[next]
			open = append(open[:next], open[next+1:]...)
			<-time.After(time.Until(h.at))
			f.must(h.heal())
			f.t.Logf("%s: over: %s", f.clock(), h.what)
		}
	}
	for _, d := range faults {
		at := begin.Add(d.at)
		healDue(at)
		<-time.After(time.Until(at))
		heal, what := d.kind.begin(f, d)
		what = d.kind.name + ": " + what
		if heal == nil {
			f.t.Logf("%s: not possible now: %s", f.clock(), what)
			continue
		}
		f.events[d.kind.name]++
		f.t.Logf("%s: %s, for %s", f.clock(), what, d.lasts.Round(time.Millisecond))
		open = append(open, healing{time.Now().Add(d.lasts), heal, what})
	}
	healDue(begin.Add(time.Hour))
}

// returns waits until all members follow the chain again and one is the owner.
func (f *faultRig) returns() {
	f.t.Helper()
	for _, m := range f.members {
		f.box = m.oneBox
		f.await("member "+string(m.name)+" to follow the chain again", func(context.Context) bool { return m.watch.able() })
	}
	f.await("a member to be the owner", func(context.Context) bool { return f.owner() != nil })
	f.t.Logf("%s: all are back", f.clock())
}

// settles waits until a request is over and no sale is open, as each member says.
func (f *faultRig) settles(r events.Request, patience time.Duration) {
	f.t.Helper()
	for _, m := range f.members {
		f.box = m.oneBox
		f.awaitFor(patience, "the end of all sales, as "+string(m.name)+" says", func(ctx context.Context) bool {
			state, err := f.client.account.RequestState(ctx, r.ID)
			if err != nil || state <= events.RequestStarted {
				return false
			}
			s, err := api.ShowStatus.Ask(ctx, m.api, api.Then{})
			open := 0
			for _, n := range s.Phases {
				open += n
			}
			return err == nil && s.Chain.Head > 0 && open == 0
		})
	}
}

// auditsWithChain audits the record while all run, and compares it with the chain.
func (f *faultRig) auditsWithChain() {
	f.t.Helper()
	m := f.members[0]
	out, err := exec.CommandContext(f.t.Context(), m.binary, "audit", "--json", "--data-dir", m.dir.Root,
		"--chain", "ws://"+f.wire.node).Output()
	var found struct {
		Findings []audit.Finding `json:"findings"`
	}
	if wrong := json.Unmarshal(out, &found); wrong != nil {
		f.t.Errorf("audit: %v, %v\n%s", err, wrong, out)
	}
	f.clean(found.Findings)
}

// stopsAll stops members and event store.
func (f *faultRig) stopsAll() {
	f.t.Helper()
	for _, m := range f.members {
		m.watch.hinder(notThere, true, false)
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
		if err := m.stop(ctx); err != nil {
			f.t.Errorf("member %s: %v; its last words:\n%s", m.name, err, m.said(5))
		}
		cancel()
	}
	f.must(f.record.kill())
	f.must(f.etcd.kill())
}
