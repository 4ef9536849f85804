//go:build e2e

package main

import (
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
)

// sellOverACluster runs the demonstration over a cluster with faults: the host must not end,
// and no proof may be missed.
func sellOverACluster(t *testing.T, c *standin.Cluster, kill func(line int) bool) {
	t.Helper()
	config := smallConfig(t, t.TempDir())
	config.EventStore.URL = c.URL() + "&defaultDeadline=2000" // Unanswered calls are given up soon.
	out := &tail{}
	sum, err := demo.Run(t.Context(), demo.Options{
		Config: config, Slots: 3, Periods: 3, Binary: program(t), Out: out, Kill: kill,
	})
	if err != nil {
		t.Fatalf("%v (%v)\n%s", err, c, out)
	}
	t.Logf("%d kills, %d proofs, %d missed, %.0f s", sum.Kills, sum.ProofsSubmitted, sum.ProofsMissed, sum.Seconds)
	if !sum.Paid || sum.AuditFindings != 0 || sum.ProofsMissed != 0 {
		t.Fatalf("summary: %+v\n%s", sum, out)
	}
}

// A node that takes no appends for 6 of every 25 s, and serves everything else.
func TestCISaleOverAStoreThatIsOftenNotReadyIsPaid(t *testing.T) {
	c := standin.New(t, storetest.NewMemory(), 3)
	begin := time.Now()
	c.Decide(func(string) standin.Fate {
		if time.Since(begin)%(25*time.Second) < 6*time.Second {
			return standin.NotReady
		}
		return standin.Done
	})
	sellOverACluster(t, c, nil)
}

// A leader is cut off again and again: it keeps the appends that it gets, acknowledges none,
// and later commits them, or truncates them when the others have elected a leader.
func TestSaleOverALeaderThatIsCutOffIsPaid(t *testing.T) {
	c := standin.New(t, storetest.NewMemory(), 3)
	const every, election = 15, 3 * time.Second
	var mu sync.Mutex
	appends := 0
	c.Decide(func(string) standin.Fate {
		mu.Lock()
		defer mu.Unlock()
		if appends++; appends%every == 0 {
			commit := appends%(2*every) == 0
			c.CutOffFor(4, commit)
			timer := time.AfterFunc(election, func() { c.Heal(commit) })
			t.Cleanup(func() { timer.Stop() })
		}
		return standin.Done
	})
	sellOverACluster(t, c, nil)
}

// In addition the host is killed, and any answer may be lost.
func TestSaleOverAClusterOfAllMoodsIsPaid(t *testing.T) {
	c := standin.New(t, storetest.NewMemory(), 3)
	r := chance(t)
	var mu sync.Mutex
	c.Decide(func(string) standin.Fate {
		mu.Lock()
		defer mu.Unlock()
		switch n := r.IntN(60); {
		case n == 0:
			c.Lead(r.IntN(3))
		case n <= int(standin.OddSuccess):
			return standin.Fate(n)
		}
		return standin.Done
	})
	kill := 5 + r.IntN(40)
	sellOverACluster(t, c, func(line int) bool { return line == kill })
}
