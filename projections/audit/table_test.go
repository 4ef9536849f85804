package audit

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// livesTo has commands that lead to each phase, by the real core.
func livesTo() map[phase]func(w *history.Writer) events.SlotID {
	until := func(more func(w *history.Writer, slot events.SlotID)) func(*history.Writer) events.SlotID {
		return func(w *history.Writer) events.SlotID {
			slot := w.Begin(w.Request(1))
			more(w, slot)
			return slot
		}
	}
	reserved := func(w *history.Writer, s events.SlotID) { w.MustSale(s, sale.ReportSlotReserved{At: w.Now}) }
	stored := func(w *history.Writer, s events.SlotID) {
		reserved(w, s)
		w.MustSale(s, sale.ReportStored{At: w.Now, Bytes: events.BlockSize})
	}
	proved := func(w *history.Writer, s events.SlotID) {
		stored(w, s)
		w.MustSale(s, sale.ReportInitialProof{At: w.Now, Proof: events.Proof{{1}}})
	}
	full := func(w *history.Writer, s events.SlotID) {
		proved(w, s)
		w.MustSale(s, sale.ReportFilled{At: w.Now, Fill: events.Fill{FilledAt: w.Now, Block: 300}})
	}
	ends := func(state events.SlotState, req events.RequestState) func(*history.Writer) events.SlotID {
		return until(func(w *history.Writer, s events.SlotID) {
			full(w, s)
			w.MustSale(s, w.Facts(s, true, state, req))
		})
	}
	return map[phase]func(*history.Writer) events.SlotID{
		preparing: func(w *history.Writer) events.SlotID {
			r := w.Request(1)
			slot := events.SlotIDOf(r.ID, 1)
			w.MustSale(slot, sale.Start{At: w.Now, Slot: slot, Index: 1, Request: r, EndsAt: w.Now.Add(time.Hour)})
			return slot
		},
		slotReserving:  until(func(*history.Writer, events.SlotID) {}),
		downloading:    until(reserved),
		initialProving: until(stored),
		filling:        until(proved),
		filled:         until(full),
		proving: until(func(w *history.Writer, s events.SlotID) {
			full(w, s)
			w.MustSale(s, sale.ReportExtended{At: w.Now, Until: w.Now})
		}),
		provingSimulated: func(w *history.Writer) events.SlotID {
			r := w.Request(1)
			s := events.SlotIDOf(r.ID, 1)
			w.MustSale(s, sale.Start{
				At: w.Now, Slot: s, Index: 1, Request: r, EndsAt: w.Now.Add(time.Hour), FailEvery: 2,
			})
			if err := w.Reserve(s); err != nil {
				w.T.Fatalf("reserve: %v", err)
			}
			full(w, s)
			w.MustSale(s, sale.ReportExtended{At: w.Now, Until: w.Now})
			return s
		},
		payout:    ends(events.SlotFinished, events.RequestFinished),
		cancelled: ends(events.SlotCancelled, events.RequestCancelled),
		failed:    ends(events.SlotFailed, events.RequestFailed),
		finished: until(func(w *history.Writer, s events.SlotID) {
			full(w, s)
			w.MustSale(s, w.Facts(s, true, events.SlotFinished, events.RequestFinished), sale.ReportFreed{At: w.Now})
		}),
		ignored: until(func(w *history.Writer, s events.SlotID) {
			w.MustSale(s, sale.GiveUp{At: w.Now, LetGo: true})
		}),
		errored: until(func(w *history.Writer, s events.SlotID) { w.MustSale(s, sale.GiveUp{At: w.Now}) }),
	}
}

// The table has exactly the phases and events that sales have.
func TestTheTableHasEveryPhaseAndEveryEventOfASale(t *testing.T) {
	phases := map[phase]bool{}
	for _, p := range sale.Phases() {
		phases[phase(p.String())] = true
	}
	names := map[string]bool{}
	for _, e := range sale.Table() {
		names[e.Name] = true
	}
	known, allowed := map[phase]bool{}, map[string]bool{}
	for p, steps := range table {
		known[p] = true
		for name, to := range steps {
			allowed[name] = true
			if to != stays && !phases[to] {
				t.Errorf("%s leads from %s to %s, which is no phase", name, p, to)
			}
		}
	}
	if diff := cmp.Diff(phases, known); diff != "" {
		t.Errorf("phases (-of a sale +of the table):\n%s", diff)
	}
	if diff := cmp.Diff(names, allowed); diff != "" {
		t.Errorf("events (-of a sale +allowed in some phase):\n%s", diff)
	}
}

// TestEveryStepThatATableDoesNotHaveIsFound appends each event of a sale to a
// life in each phase.
func TestEveryStepThatATableDoesNotHaveIsFound(t *testing.T) {
	lives := livesTo()
	for _, known := range sale.Phases() {
		p := phase(known.String())
		life := lives[p]
		if p == unknown {
			life = func(w *history.Writer) events.SlotID { return events.SlotIDOf(w.Request(1).ID, 1) }
		}
		if life == nil {
			t.Fatalf("no life leads to %s", p)
		}
		for _, e := range sale.Table() {
			store := storetest.NewMemory()
			w := history.New(t, store, me)
			w.Offer(1)
			slot := life(w)
			if got := phase(w.Sales[slot].Phase.String()); got != p {
				t.Fatalf("the life to %s leads to %s", p, got)
			}
			w.Append(events.SaleStream(me, slot), "", proto.Clone(e.Example))
			report := audited(t, store, Options{})
			found := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Rule == SaleTransition })
			if _, allowed := table[p][e.Name]; !allowed && !found {
				t.Errorf("%s in %s was not found: %v", e.Name, p, report.Findings)
			}
			if !found {
				continue
			}
			if len(report.Findings) != 1 {
				t.Errorf("%s in %s: %v", e.Name, p, report.Findings)
			}
		}
	}
}

// A sale that ends somewhere else would stay in memory for ever.
func TestEveryPhaseInWhichASaleIsSettledComesToRest(t *testing.T) {
	for p, steps := range table {
		if _, settled := steps["SaleSettled"]; settled != slices.Contains(phases, p) {
			t.Errorf("a sale is settled in %s: %t, and it comes to rest there: %t", p, settled, !settled)
		}
	}
}
