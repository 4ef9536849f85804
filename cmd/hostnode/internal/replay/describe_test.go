package replay

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestAStateIsToldByItsExportedFields(t *testing.T) {
	type row struct {
		ID   events.SlotID
		Size events.Bytes
	}
	type Base struct{ BeganAt time.Time }
	state := struct {
		Base
		hidden    int
		RequestID string
		CID       string
		Missed    uint64
		Paid      bool
		Reward    events.Amount
		Ask       struct{ Price events.Amount }
		Every     time.Duration
		Periods   []uint64
		Rows      []row
		None      []row
	}{
		Base: Base{events.Unix(0)}, hidden: 1, RequestID: "r", Every: time.Minute, Periods: []uint64{4, 0},
		Rows: []row{{Size: 3}, {ID: events.SlotID{1}}},
	}
	text, err := json.Marshal(describe(state))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"facts":{"beganAt":"1970-01-01T00:00:00Z","requestId":"r","missed":"0","reward":"0","askPrice":"0",` +
		`"every":"1m0s"},"lists":[{"name":"periods","rows":[{"value":"4"},{"value":"0"}]},` +
		`{"name":"rows","rows":[{"size":"3"},{"id":"0x0100000000000000000000000000000000000000000000000000000000000000",` +
		`"size":"0"}]}]}`
	if string(text) != want {
		t.Errorf("it is told as\n%s, want\n%s", text, want)
	}
}
