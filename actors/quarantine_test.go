package actors_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events/sale"
)

// Nobody proves a slot whose sale is quarantined: each period that owes a proof is an
// alert. The sale is tried again by itself, and then what was missed is in the record.
func TestAQuarantinedSaleIsAnAlertForEachProofAndTriedAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		told := r.listen()
		r.cfg.Cores.NextSale = func(s sale.State) []sale.Effect {
			if broken.Load() && s.Phase == sale.Proving {
				panic("a bug in the rules")
			}
			return sale.Next(s)
		}
		slot := r.hosting()
		broken.Store(true)
		r.mineUntil("two proofs are owed and not made", func() bool { return len(told.periods(actors.AlertNotProving)) == 2 })
		status := r.status().Sales
		if len(status) != 1 || status[0].State.Slot != slot || !strings.Contains(status[0].Quarantined, "a bug in the rules") {
			r.Fatalf("the status: %+v", status)
		}
		if n := len(told.of(actors.AlertQuarantined)); n != 1 {
			r.Fatalf("%d alerts that it is quarantined", n)
		}
		broken.Store(false)
		r.mineUntil("it is run again", func() bool { return !slices.ContainsFunc(r.quarantined(), func(q string) bool { return q != "" }) })
		r.mineUntil("it ends", func() bool { return r.has("SlotForfeited")() || r.has("RequestEnded")() })
		got, _ := r.missed(slot, "SlotForfeited")
		if diff := cmp.Diff(r.world.MissedPeriods(slot), got); diff != "" || len(got) == 0 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
		}
		owed := told.periods(actors.AlertNotProving)
		if !slices.IsSorted(owed) || len(slices.Compact(slices.Clone(owed))) != len(owed) {
			r.Fatalf("alerts of periods %d", owed)
		}
		r.clean()
	})
}

// A sale that stays broken is tried ever more slowly, without another alert at each try.
func TestASaleThatStaysBrokenIsTriedSlowly(t *testing.T) {
	inWorld(t, func(r *rig) {
		var tries atomic.Int64
		told := r.listen()
		r.cfg.Cores.NextSale = func(s sale.State) []sale.Effect {
			if s.Phase == sale.Downloading {
				tries.Add(1)
				panic("a bug in the rules")
			}
			return sale.Next(s)
		}
		r.start()
		r.offer(1 << 22)
		offer := longer(1, 1)
		offer.Expiry = offer.Ask.Duration - time.Minute // Nothing ends it meanwhile.
		r.world.Post(offer)
		r.mineUntil("it is quarantined", func() bool {
			return slices.ContainsFunc(r.quarantined(), func(q string) bool { return q != "" })
		})
		before := tries.Load()
		r.mine(8 * 60) // After 1, 2 and 4 minutes.
		if n := tries.Load() - before; n < 2 || n > 3 || len(told.of(actors.AlertQuarantined)) != 1 {
			r.Fatalf("%d tries in eight minutes, alerts: %+v", n, told.of(actors.AlertQuarantined))
		}
	})
}
