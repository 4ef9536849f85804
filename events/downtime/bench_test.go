package downtime_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// manyNodes have 48 windows with three audits each; every tenth is suspended in the next run.
func manyNodes(b *testing.B, n int) downtime.Fleet {
	fleet := make(downtime.Fleet, n)
	rules := downtime.DocumentRules()
	rules.GuardPercent = 100
	for i := range n {
		var audits []downtime.Audit
		for w := range 48 {
			for k := range 3 {
				a := audit(w, time.Duration(10*k)*time.Minute, downtime.Online)
				if w < 10 && i%10 == 0 {
					a.Outcome = downtime.Offline
				}
				audits = append(audits, a)
			}
		}
		fleet[events.Node(fmt.Sprint("node-", i))] = told(b, joined(b, rules), downtime.Write{At: end(48), Audits: audits})
	}
	return fleet
}

// BenchmarkChore judges 10,000 nodes with 48 windows in one run.
func BenchmarkChore(b *testing.B) {
	const nodes = 10_000
	fleet, rules := manyNodes(b, nodes), downtime.DocumentRules()
	for b.Loop() {
		if runs, err := rules.Chore(fleet, end(48)); err != nil || len(runs) != nodes/10 {
			b.Fatalf("%d nodes are suspended: %v", len(runs), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/node")
}

// BenchmarkMemory measures what 10,000 nodes with 48 windows take.
func BenchmarkMemory(b *testing.B) {
	const nodes = 10_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		fleet := manyNodes(b, nodes)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(fleet)
	}
}
