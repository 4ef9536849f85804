package sectors

import (
	"fmt"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestWhatAWindowWants(t *testing.T) {
	w := events.SectorWindow{Period: 7, Deadline: 3}
	live := func(change func(*events.SectorOnChain)) events.SectorOnChain {
		on := events.SectorOnChain{SectorFacts: events.SectorFacts{Active: true}, Deadline: 3, Partition: 2, NextPeriod: 7}
		change(&on)
		return on
	}
	for name, c := range map[string]struct {
		change func(*events.SectorOnChain)
		wanted bool
	}{
		"due":                          {func(*events.SectorOnChain) {}, true},
		"of an earlier period":         {func(o *events.SectorOnChain) { o.NextPeriod = 5 }, true},
		"proven":                       {func(o *events.SectorOnChain) { o.NextPeriod = 8 }, false},
		"of another window":            {func(o *events.SectorOnChain) { o.Deadline = 4 }, false},
		"not active":                   {func(o *events.SectorOnChain) { o.Active = false }, false},
		"terminated":                   {func(o *events.SectorOnChain) { o.Terminated = true }, false},
		"faulty":                       {func(o *events.SectorOnChain) { o.Faulty, o.FaultyFrom = true, 7 }, false},
		"faulty from the next period":  {func(o *events.SectorOnChain) { o.Faulty, o.FaultyFrom = true, 8 }, true},
		"faulty, and to recover":       {func(o *events.SectorOnChain) { o.Faulty, o.FaultyFrom, o.RecoverAt = true, 6, 7 }, true},
		"faulty, and to recover later": {func(o *events.SectorOnChain) { o.Faulty, o.FaultyFrom, o.RecoverAt = true, 6, 8 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := live(func(o *events.SectorOnChain) { o.Partition = 0 })
			got := planWindow(w, []events.SectorOnChain{live(c.change), other}, []uint64{5, 9})
			want := "map[0:[9]]"
			if c.wanted {
				want = "map[0:[9] 2:[5]]"
			}
			if fmt.Sprint(got) != want {
				t.Errorf("wanted are %v, not %s", got, want)
			}
		})
	}
}
