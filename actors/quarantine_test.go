package actors_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// Nobody proves a slot whose sale is quarantined: each period that owes a proof raises an
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
		r.mineUntil("two proofs are owed and not made", func() bool { return len(told.periods(health.AlertNotProving)) == 2 })
		status := r.status().Sales
		if len(status) != 1 || status[0].State.Slot != slot || !strings.Contains(status[0].Quarantined, "a bug in the rules") {
			r.Fatalf("the status: %+v", status)
		}
		if n := len(told.of(health.AlertQuarantined)); n != 1 {
			r.Fatalf("%d alerts that it is quarantined", n)
		}
		broken.Store(false)
		r.mineUntil("it is run again", func() bool { return !slices.ContainsFunc(r.quarantined(), func(q string) bool { return q != "" }) })
		r.mineUntil("it ends", func() bool { return r.has("SlotForfeited")() || r.has("RequestEnded")() })
		got, _ := r.missed(slot, "SlotForfeited")
		if diff := cmp.Diff(r.world.MissedPeriods(slot), got); diff != "" || len(got) == 0 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
		}
		owed := told.periods(health.AlertNotProving)
		if !slices.IsSorted(owed) || len(slices.Compact(slices.Clone(owed))) != len(owed) {
			r.Fatalf("alerts of periods %d", owed)
		}
		r.clean()
	})
}

// A sale that stays broken is tried with growing pauses, without an alert at each try.
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
		if n := tries.Load() - before; n < 2 || n > 3 || len(told.of(health.AlertQuarantined)) != 1 {
			r.Fatalf("%d tries in eight minutes, alerts: %+v", n, told.of(health.AlertQuarantined))
		}
	})
}

// A sale that could not be run for longer than it remembers periods, and lost its slot
// meanwhile, is not told of a new duty before those that it missed are recorded.
func TestWhatWasMissedInALongQuarantineIsRecorded(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		r.cfg.BeforeMessage = func(name string, _ any) {
			if strings.HasPrefix(name, "SalesAgent") && broken.Load() {
				panic("planted")
			}
		}
		slow := &slowMarket{Market: r.ports.Market, slots: make(chan struct{})}
		r.ports.Market = slow
		slot := r.hosting()
		broken.Store(true)
		r.mine((sale.RememberedPeriods + 10) * period)
		r.mineUntil("the slot is lost", func() bool { return r.world.Slashed(slot) > 0 })
		broken.Store(false)
		slow.is.Store(true) // The answer about the slot comes after that about its proofs.
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectSale)[0]); err != nil {
			r.Fatal(err)
		}
		r.mine(3)
		slow.is.Store(false)
		close(slow.slots)
		r.mineUntil("it is settled", r.has("SaleSettled"))
		var missed []uint64
		for _, m := range stored[*messages.ProofMissed](r) {
			missed = append(missed, m.GetPeriod())
		}
		for _, p := range r.world.MissedPeriods(slot) {
			if !slices.Contains(missed, p) {
				r.Fatalf("slashed for period %d; the record has misses of %v", p, missed)
			}
		}
		r.clean()
	})
}

// slowMarket answers nothing about slots while it is slow.
type slowMarket struct {
	port.Market
	is    atomic.Bool
	slots chan struct{}
}

func (m *slowMarket) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	if m.is.Load() {
		select {
		case <-m.slots:
		case <-ctx.Done():
			return events.SlotFacts{}, ctx.Err()
		}
	}
	return m.Market.Slot(ctx, id, index)
}

// The record says when the quarantine of a sale began and when it ended, and a restart
// knows of it until the sale runs.
func TestTheQuarantineOfASaleIsRecordedAndOutlivesARestart(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		r.cfg.BeforeMessage = func(name string, _ any) {
			if strings.HasPrefix(name, "SalesAgent") && broken.Load() {
				panic("planted")
			}
		}
		slot := r.hosting()
		broken.Store(true)
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		began := stored[*messages.WorkQuarantined](r)[0]
		if began.GetKind() != "sale" || began.GetKey() != slot.String() || !strings.Contains(began.GetReason(), "planted") {
			r.Fatalf("the record: %v", began)
		}
		r.restart()
		if s := r.status(); !strings.Contains(s.Sales[0].Quarantined, "planted") || len(s.Quarantined) != 1 {
			r.Fatalf("after the restart: %+v", s)
		}
		broken.Store(false)
		r.restart()
		r.mineUntil("it runs again", r.has("QuarantineEnded"))
		if q := r.quarantined(); slices.ContainsFunc(q, func(q string) bool { return q != "" }) {
			r.Fatalf("quarantined still: %q", q)
		}
		synctest.Wait()
		r.clean()
	})
}
