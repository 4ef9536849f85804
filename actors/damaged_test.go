package actors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

func TestAStoreThatStoppedForDamageIsAwayAndADamagedEventIsNot(t *testing.T) {
	if shell.NeverPasses(fmt.Errorf("%w: %w", events.ErrStoreFailed, events.ErrDamaged)) {
		t.Error("what is owed would end with the store")
	}
	if !shell.NeverPasses(fmt.Errorf("read a stream: %w", events.ErrDamaged)) {
		t.Error("a damaged event would be read for ever")
	}
}

func TestADamagedRecordIsNotSaidToComeBackByItself(t *testing.T) {
	f := Facts{Stage: Running}
	f.Record = shell.RecordStatus{Away: true, Damaged: true, Reason: "table 5"}
	reason, hint := recordAway(f)
	if !strings.Contains(reason, "table 5") || !strings.Contains(hint, "hostnode repair") ||
		strings.Contains(hint, "by itself when") {
		t.Errorf("%s; %s", reason, hint)
	}
}
