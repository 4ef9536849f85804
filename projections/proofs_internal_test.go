package projections

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// TestProofsOfWantedPeriodsAreAllThereInWhateverOrderTheyWereClosed because what is not wanted is not looked at where
// the order allows it.
func TestProofsOfWantedPeriodsAreAllThereInWhateverOrderTheyWereClosed(t *testing.T) {
	account := events.Address{1}
	rapid.Check(t, func(t *rapid.T) {
		var o owing
		periods := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 20), 0, 12, rapid.ID[uint64]).Draw(t, "periods")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(periods)
		}
		for _, period := range periods {
			o.close(owed{Period: period, Outcome: ProofMissed}, time.Unix(0, 0), 10)
		}
		oldest := rapid.Uint64Range(1, 20).Draw(t, "oldest")
		wanted := func(period uint64) bool { return period >= oldest }
		want := []uint64{}
		for _, one := range o.Closed {
			if wanted(one.Period) {
				want = append(want, one.Period)
			}
		}
		h := newHost(account.String(), Limits{})
		h.sales.Open[events.SlotID{1}] = &openSale{Owing: o}
		got := []uint64{}
		for p := range (&Views{hosts: map[string]*host{account.String(): h}}).ProofsOf(account, wanted) {
			got = append(got, p.Period)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("closed in the order of %d, from %d on: %d, want %d", periods, oldest, got, want)
		}
	})
}
