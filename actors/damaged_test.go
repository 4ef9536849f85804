package actors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestAStoreThatStoppedForDamageIsAwayAndADamagedEventIsNot(t *testing.T) {
	if neverPasses(fmt.Errorf("%w: %w", events.ErrStoreFailed, events.ErrDamaged)) {
		t.Error("what is owed would end with the store")
	}
	if !neverPasses(fmt.Errorf("read a stream: %w", events.ErrDamaged)) {
		t.Error("a damaged event would be read for ever")
	}
}

func TestADamagedRecordIsNotSaidToComeBackByItself(t *testing.T) {
	f := Facts{Stage: Running}
	f.Record = RecordStatus{Away: true, Damaged: true, Reason: "table 5"}
	reason, hint := recordAway(f)
	if !strings.Contains(reason, "table 5") || !strings.Contains(hint, "hostnode repair") ||
		strings.Contains(hint, "by itself when") {
		t.Errorf("%s; %s", reason, hint)
	}
}
