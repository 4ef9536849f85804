package audit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// Whatever sectors and their ledger decide, the audit finds nothing wrong.
func TestWhateverSectorsDecideIsClean(t *testing.T) { rapid.Check(t, anySectors) }

func anySectors(t *rapid.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		w.AnySectorStep(t, rapid.Uint64Range(1, 2).Draw(t, "sector"))
	}
	report, err := Run(t.Context(), store, Options{filterBits: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) > 0 {
		t.Fatalf("findings: %v", report.Findings)
	}
}
