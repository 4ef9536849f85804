package shell

import (
	"fmt"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestAStoreThatStoppedForDamageIsAwayAndADamagedEventIsNot(t *testing.T) {
	if NeverPasses(fmt.Errorf("%w: %w", events.ErrStoreFailed, events.ErrDamaged)) {
		t.Error("what is owed would end with the store")
	}
	if !NeverPasses(fmt.Errorf("read a stream: %w", events.ErrDamaged)) {
		t.Error("a damaged event would be read for ever")
	}
}
