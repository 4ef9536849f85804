package js_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// TestTheServersViewsAreOursWhateverTheCoresDecide compares them over random commands.
func TestTheServersViewsAreOursWhateverTheCoresDecide(t *testing.T) {
	history.Check(t, func(t *rapid.T) *history.Writer {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Offer(4)
		for range rapid.IntRange(4, 10).Draw(t, "steps") {
			switch rapid.IntRange(0, 8).Draw(t, "step") {
			case 0:
				w.AnyLedgerSteps(t)
			case 1:
				anyStepsOfASector(t, w)
			case 2:
				w.AnySaleSteps(t, w.Request(2))
			default: // One sale of two gets far.
				w.AnySaleSteps(t, w.Request(1))
			}
		}
		both := newTwins(t)
		for r, err := range store.ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			both.apply(r)
		}
		return w
	}, sale.Table(), capacity.Table())
}

// TestTheServersViewsOfSectorsAreOursWhateverTheyDecide is the same of two sectors, whose
// steps take any time.
func TestTheServersViewsOfSectorsAreOursWhateverTheyDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.Now = w.Now.Add(time.Duration(rapid.Int64Range(-1, 5_000_000_001).Draw(t, "later")))
			w.AnySectorStep(t, rapid.Uint64Range(1, 2).Draw(t, "sector"))
		}
		both := newTwins(t)
		for r, err := range store.ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			both.apply(r)
		}
	})
}

// anyStepsOfASector are commands about the space of one of two sectors; what the ledger refuses leaves no trace.
func anyStepsOfASector(t *rapid.T, w *history.Writer) {
	number := rapid.Uint64Range(1, 2).Draw(t, "number")
	tokens := func(name string) events.Amount { return events.NewAmount(rapid.Uint64Range(0, 3).Draw(t, name) * 100) }
	for range rapid.IntRange(1, 6).Draw(t, "commands") {
		_ = w.AskLedger(rapid.SampledFrom([]capacity.Command{
			capacity.Hold{At: w.Now, Sector: number, Space: capacity.Space{Sealed: 4096, Tree: 1}, Deposit: tokens("deposit")},
			capacity.ReleasePart{At: w.Now, Sector: number, Part: capacity.PartTree},
			capacity.ReleasePart{At: w.Now, Sector: number, Part: capacity.PartSealed},
			capacity.SettleDeposit{At: w.Now, Sector: number, Held: tokens("held"), Lost: tokens("lost")},
		}).Draw(t, "sector command"))
	}
}
