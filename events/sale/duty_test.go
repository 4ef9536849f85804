package sale_test

import (
	"testing"

	"github.com/hostnode/hostnode/events/sale"
)

// Whatever commits the host to something new, or gives up something that it
// has, waits for the record.
func TestOnlyKeepingAndProvingAreOwedWithoutARecord(t *testing.T) {
	for effect, owed := range map[sale.Effect]bool{
		sale.Extend{}:          true,
		sale.SubmitProof{}:     true,
		sale.ReserveCapacity{}: false,
		sale.ReserveSlot{}:     false,
		sale.Download{}:        false,
		sale.ProveInitial{}:    false,
		sale.Fill{}:            false,
		sale.ReadCollateral{}:  false,
		sale.Free{}:            false,
		sale.DeleteData{}:      false,
		sale.Settle{}:          false,
	} {
		if sale.IsDuty(effect) != owed {
			t.Errorf("%T: owed %t, want %t", effect, !owed, owed)
		}
	}
}
