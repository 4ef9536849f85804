package health

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/shell"
)

func TestADamagedRecordIsNotSaidToComeBackByItself(t *testing.T) {
	f := Facts{Stage: Running}
	f.Record = shell.StoreStatus{Away: true, Damaged: true, Reason: "table 5"}
	reason, hint := recordAway(f)
	if !strings.Contains(reason, "table 5") || !strings.Contains(hint, "hostnode repair") ||
		strings.Contains(hint, "by itself when") {
		t.Errorf("%s; %s", reason, hint)
	}
}
