package sale_test

import (
	"testing"

	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/internal/housetest"
)

// Whatever commits the host to something new, or gives up something that it has, waits for the
// event store.
func TestOnlyKeepingAndProvingAreOwedWithoutARecord(t *testing.T) {
	owed := []sale.Effect{sale.Extend{}, sale.SubmitProof{}, sale.Repair{}}
	waits := []sale.Effect{
		sale.ReserveCapacity{},
		sale.ReserveSlot{},
		sale.Download{},
		sale.ProveInitial{},
		sale.Fill{},
		sale.ReadCollateral{},
		sale.Free{},
		sale.DeleteData{},
		sale.Settle{},
	}
	housetest.Complete(t, ".", "effect", append(owed, waits...), "effects of which it is said whether they are owed")
	for want, effects := range map[bool][]sale.Effect{true: owed, false: waits} {
		for _, effect := range effects {
			if sale.IsDuty(effect) != want {
				t.Errorf("%T: owed %t, want %t", effect, !want, want)
			}
		}
	}
}
