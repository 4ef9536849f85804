package audit

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var sectorStream = events.SectorStream(me, 2)

// runs is the event that a sector writes for a step.
func runs(step string, attempt uint32, key string) *messages.SectorStepScheduled {
	return &messages.SectorStepScheduled{Step: step, Attempt: attempt, Key: key}
}

// follows gives the n-th event of a type, and the events that were decided with it, another
// cause.
func follows(name string, n int, cause string) func(*record) {
	return func(r *record) {
		first := r.list[r.at(name, n)]
		for i, e := range r.list {
			if e.Stream == first.Stream && e.Meta.Cause == first.Meta.Cause {
				r.list[i].Meta.Cause = cause
			}
		}
		r.derive()
	}
}

// inserts is a breach of the table: an event that the second sector, which is packed, cannot write.
func inserts(name, shows string, m proto.Message) breach {
	return breach{name, SectorTransition, shows, func(r *record) { r.insert(len(r.list), sectorStream, m) }}
}

func sectorBreaches() []breach {
	one := &messages.SectorPiece{Cid: "baga6ea4seaqa9", Size: 128, Payload: 1}
	early := events.TimeToMessage(history.Begin)
	return slices.Concat([]breach{
		inserts("a state is left out", "SectorPreCommit2", &messages.SectorPreCommit2{CommD: zeros, CommR: zeros}),
		inserts("begun twice", "SectorStartEmpty", &messages.SectorStartEmpty{
			Sector: 2, Provider: me.String(), Size: 2048,
		}),
		inserts("a piece for a sector that is packed", "SectorAddPiece", &messages.SectorAddPiece{Piece: one}),
		inserts("forced to where nothing is", "SectorForceState", &messages.SectorForceState{State: "Nirvana", By: "me"}),
		inserts("forced to where no files are", "SectorForceState", &messages.SectorForceState{State: "Removed", By: "me"}),
		inserts("refused what is allowed", "SectorEventRefused", &messages.SectorEventRefused{
			Event: "SectorPacked", By: "me", Reason: "a mood",
		}),
		inserts("a step while another runs", "SectorStepScheduled", runs("Pack", 2, "Pack:2:2")),
		inserts("a pause that is over at once", "SectorRetryScheduled", &messages.SectorRetryScheduled{
			At: early, Until: early, Step: "Pack",
		}),
		inserts("parked without a reason", "SectorParked", &messages.SectorParked{Actions: []string{"SectorRestart"}}),
		inserts("parked without a way out", "SectorParked", &messages.SectorParked{Reason: "a mood"}),
		inserts("settled before it is removed", "SectorSettled", &messages.SectorSettled{Returned: "0", Lost: "0"}),
		inserts("released while it is packed", "SectorReleased", &messages.SectorReleased{Parts: []string{"tree"}}),
		{"a failure of nothing", SectorTransition, "SectorFatalError", func(r *record) {
			r.insert(len(r.list), sectorStream, &messages.SectorParked{Reason: "tired", Actions: []string{"SectorRestart"}})
			r.insert(len(r.list), sectorStream, &messages.SectorFatalError{Reason: "none"})
		}},
		{"a step of another state", SectorTransition, "SectorStepScheduled", func(r *record) {
			change(r, -1, func(m *messages.SectorStepScheduled) { m.Step, m.Key = "Remove", "Remove:2:1" })
		}},
		{"a step writes before there is space", SectorTransition, "SectorStepScheduled", func(r *record) {
			for i := range r.list { // The first step of the second sector.
				if at := r.list[i]; at.Stream == sectorStream && at.Type == "SectorStepScheduled" {
					r.forge(i, runs("Pack", 1, "Pack:2:1"))
					return
				}
			}
		}},
		{"an attempt of a step is left out", SectorTransition, "SectorStepScheduled", func(r *record) {
			change(r, -1, func(m *messages.SectorStepScheduled) { m.Attempt, m.Key = 2, "Pack:2:2" })
		}},
		{"a key of another sector", SectorTransition, "SectorStepScheduled", func(r *record) {
			change(r, -1, func(m *messages.SectorStepScheduled) { m.Key = "Pack:1:1" })
		}},
		{"another sector", SectorIdentity, "SectorStart", func(r *record) {
			change(r, 1, func(m *messages.SectorStart) { m.Sector = 1 })
		}},
		{"a sector of another provider", SectorIdentity, "SectorStart", func(r *record) {
			change(r, 1, func(m *messages.SectorStart) { m.Provider = events.Address{9}.String() })
		}},
	}, bookBreaches())
}

func bookBreaches() []breach {
	return []breach{
		{"space for nobody", SectorOwner, "SectorSpaceHeld", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceHeld{Sector: 9, Tree: 1, Deposit: "0"})
		}},
		{"space that was not asked for", SectorOwner, "SectorSpaceHeld", func(r *record) {
			start := &messages.SectorStartEmpty{Sector: 3, Provider: me.String(), Size: 2048}
			r.insert(len(r.list), events.SectorStream(me, 3), start)
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceHeld{Sector: 3, Tree: 1, Deposit: "0"})
		}},
		{"more space than the ledger gave", SectorSpace, "SectorOpened", func(r *record) {
			change(r, 1, func(m *messages.SectorOpened) { m.Tree++ })
		}},
		{"another deposit than the ledger set aside", SectorSpace, "SectorOpened", func(r *record) {
			change(r, 1, func(m *messages.SectorOpened) { m.Deposit = "1" })
		}},
		{"space that the ledger never gave", SectorSpace, "SectorOpened", func(r *record) {
			r.remove(r.at("SectorSpaceHeld", 1))
		}},
		{"space that the ledger has not got back", SectorSpace, "SectorReleased", func(r *record) {
			i := r.at("SectorSpaceReleased", 0)
			held := r.list[i]
			r.list = slices.Insert(slices.Delete(r.list, i, i+1), r.at("SectorRemoved", 0), held)
			r.renumber()
		}},
		{"space that came back before the files were gone", SectorReleasedEarly, "SectorSpaceReleased", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceReleased{Sector: 2, Part: "tree", Bytes: 4096})
		}},
		{"more of the deposit is lost than the ledger says", SectorDeposit, "SectorSettled", func(r *record) {
			change(r, 0, func(m *messages.SectorSettled) { m.Lost = "1001" })
		}},
		{"more of the deposit came back than the ledger says", SectorDeposit, "SectorSettled", func(r *record) {
			change(r, 0, func(m *messages.SectorSettled) { m.Returned = "4001" })
		}},
		{"a deposit that the ledger still holds", SectorDeposit, "SectorSettled", func(r *record) {
			r.remove(r.at("SectorDepositSettled", 0))
		}},
		{"a sector that is over and given space", SectorUnreleased, "SectorSpaceHeld", func(r *record) {
			r.insert(len(r.list), capacityStream, &messages.SectorSpaceHeld{Sector: 1, Tree: 1, Deposit: "0"})
		}},
		{"a step's result that is another's", CauseUnresolved, "SectorPacked", follows("SectorPacked", 0, "sector:Pack:1:2")},
		{"a result of another sector's step", CauseUnresolved, "SectorPacked", follows("SectorPacked", 0, "sector:Pack:2:1")},
		{"a pause that was none", CauseUnresolved, "SectorPacked", follows("SectorPacked", 0, "sector:Wait:1:1750000000000000000")},
		{"space for a step that never was", CauseUnresolved, "SectorSpaceHeld", causes("SectorSpaceHeld", 1,
			because("sector:OpenSpace:2:2"))},
		{"space for another sector's step", CauseUnresolved, "SectorSpaceHeld", causes("SectorSpaceHeld", 1,
			because("sector:OpenSpace:1:1"))},
		{"a quota for a sector", CauseUnresolved, "QuotaSet", causes("QuotaSet", 0, because("sector:OpenSpace:1:1"))},
		{"a sector's step at a sale", CauseUnresolved, "SlotReserved", causes("SlotReserved", 0,
			because("sector:Pack:1:1"))},
	}
}

// The table has exactly the states, events and transitions that sectors have. It was written
// from other pages than the core.
func TestTheTableHasEveryStateAndEveryArcOfASector(t *testing.T) {
	allowed := map[string]bool{}
	for _, s := range sector.States() {
		steps := sectorTable[sectorState(s)]
		var ordinary []string
		for name, to := range steps {
			allowed[name] = true
			if _, known := sectorTable[to]; !known && to != same && to != forced {
				t.Errorf("%s leads from %q to %q, which is no state", name, s, to)
			}
			_, anywhere := sectorAnywhere[name]
			if noted := s == sector.AddPiece && to == same; !anywhere && !noted && name != "SectorReleased" &&
				name != "SectorSettled" {
				ordinary = append(ordinary, name)
			}
		}
		slices.Sort(ordinary)
		if diff := cmp.Diff(sector.Allowed(s), ordinary); diff != "" {
			t.Errorf("in %q (-of a sector +of the table):\n%s", s, diff)
		}
	}
	if len(sectorTable) != len(sector.States()) {
		t.Errorf("the table has %v", slices.Sorted(maps.Keys(sectorTable)))
	}
	for _, e := range sector.Table() {
		if !allowed[e.Name] {
			t.Errorf("%s is allowed in no state", e.Name)
		}
	}
}

// TestEveryEventThatAStateDoesNotHaveIsFound forces a sector into each state, and appends each
// event to it.
func TestEveryEventThatAStateDoesNotHaveIsFound(t *testing.T) {
	for _, s := range sector.States() {
		if s == sector.Undefined || s == sector.Removed {
			continue
		}
		for _, e := range sector.Table() {
			store := storetest.NewMemory()
			w := history.New(t, store, me)
			w.Offer(1)
			w.BeginSector(1)
			w.Says(1, &messages.SectorForceState{State: string(s), By: "operator", Reason: "to see"})
			w.Append(events.SectorStream(me, 1), "", proto.Clone(e.Example))
			report := audited(t, store, Options{})
			found := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Rule == SectorTransition })
			if _, allowed := sectorTable[sectorState(s)][e.Name]; !allowed && (!found || len(report.Findings) != 1) {
				t.Errorf("%s in %s: %v", e.Name, s, report.Findings)
			}
		}
	}
}

// Every step of a sector has a key that makes a cause.
func TestKeysOfStepsAreCauses(t *testing.T) {
	for _, steps := range stepsOfState {
		for _, step := range append(steps, stepWait) {
			c, err := events.ParseCause(events.SectorCause(step + ":3:7"))
			if err != nil || c.Kind != events.CauseSector || c.What != step || c.Number != 3 {
				t.Errorf("%s: %+v, %v", step, c, err)
			}
		}
	}
}

// Space that the ledger gave after the sector was removed is given back as well, even if only
// the settlement was left to do.
func TestSpaceThatComesLateIsInOrder(t *testing.T) {
	for _, settling := range []bool{false, true} {
		t.Run(fmt.Sprintf("settling %t", settling), func(t *testing.T) { comesLate(t, settling) })
	}
}

func comesLate(t *testing.T, settling bool) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	w.Says(1, &messages.SectorStartEmpty{Sector: 1, Provider: me.String(), Size: 2048})
	hold := capacity.Hold{At: w.Now, Sector: 1, Space: history.SectorSpace, Deposit: history.SectorDeposit}
	asked := w.Sectors[1].Step.Key
	w.Says(1, &messages.SectorRemove{By: "operator", Reason: "never mind"})
	w.Did(1, &messages.SectorRemoved{})
	if settling {
		w.ReleaseSector(1, capacity.Parts()...)
	}
	w.MustLedger(hold)
	w.MustSector(1, events.SectorCause(asked), sector.Happened{Event: &messages.SectorOpened{
		Unsealed: 2048, Sealed: 2048, Tree: 4096, Scratch: 100, Deposit: "5000",
	}})
	for range 2 { // In the order of its steps.
		if w.Sectors[1].Step.Name == sector.StepReleaseSpace {
			w.ReleaseSector(1, capacity.Parts()...)
			continue
		}
		if err := w.AskLedgerFor(1, capacity.SettleDeposit{At: w.Now, Sector: 1}); err != nil {
			t.Fatal(err)
		}
		w.Did(1, &messages.SectorSettled{Returned: "5000", Lost: "0"})
	}
	if !w.Sectors[1].Over() {
		t.Fatal("it is not over")
	}
	if report := audited(t, store, Options{}); len(report.Findings) > 0 {
		t.Fatal(report.Findings)
	}
}
