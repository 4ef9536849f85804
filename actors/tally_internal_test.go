package actors

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// What is counted as sales change is what a walk over all of them counts.
func TestTheTallyIsWhatAllSalesAddUpTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &roster{agents: map[events.SlotID]*agent{}, tally: newTally()}
		slots := rapid.SampledFrom([]events.SlotID{{1}, {2}, {3}})
		t.Repeat(map[string]func(*rapid.T){
			"":     func(t *rapid.T) { mustAddUp(t, s) },
			"drop": func(t *rapid.T) { s.drop(slots.Draw(t, "slot")) },
			"change": func(t *rapid.T) {
				slot := slots.Draw(t, "slot")
				ag := s.agents[slot]
				if ag == nil || rapid.Bool().Draw(t, "anew") {
					ag = newAgent(slot, events.RequestID{}, 0)
				}
				ag.starting = rapid.Bool().Draw(t, "starting")
				ag.remote = rapid.SampledFrom([]events.Member{"", "south"}).Draw(t, "remote")
				ag.Left = rapid.SampledFrom([]string{"", "it panicked"}).Draw(t, "left")
				ag.trouble.Error = rapid.SampledFrom([]string{"", "no source"}).Draw(t, "trouble")
				ag.state.Phase = rapid.SampledFrom([]sale.Phase{sale.Unknown, sale.Downloading, sale.Filled, sale.Proving}).Draw(t, "phase")
				ag.state.Duties = make([]sale.Duty, rapid.IntRange(0, 3).Draw(t, "duties"))
				s.put(ag)
			},
		})
	})
}

func mustAddUp(t *rapid.T, s *roster) {
	want := newTally()
	for slot, ag := range s.agents {
		if ag.inWork() {
			want.inWork[slot] = ag
		}
		if ag.remote != "" {
			continue
		}
		if ag.state.Hosting() {
			want.hosting++
		}
		want.due += len(ag.state.Duties)
		if ag.trouble.Error != "" || ag.Left != "" || ag.state.Damaged() {
			want.troubled[slot] = ag
		}
	}
	same := cmp.Options{cmp.AllowUnexported(tally{}), cmp.Comparer(func(a, b *agent) bool { return a == b })}
	if diff := cmp.Diff(want, s.tally, same); diff != "" {
		t.Fatalf("(-walked +counted):\n%s", diff)
	}
}
