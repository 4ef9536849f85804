package shell

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
)

// An actor that panicked while its append was under way is run again, and may decide otherwise for
// the same cause. That must not pass for the append of its predecessor: what it decided would be
// acknowledged, and the record would hold something else.
func TestAnIDTellsDecisionsApart(t *testing.T) {
	j := Journal[struct{}, struct{}, capacity.Event]{
		Stream: "capacity-0x01", Codec: events.NewCodec(capacity.Table()),
		Meta: func(struct{}, capacity.Event) events.Metadata { return events.Metadata{Epoch: 3} },
	}
	encode := func(bytes uint64, cause string) events.EventID {
		t.Helper()
		stored, err := j.encode([]capacity.Event{&messages.QuotaSet{
			At: events.TimeToMessage(events.Unix(1)), Bytes: bytes,
		}}, cause, events.EventID{})
		if err != nil {
			t.Fatal(err)
		}
		return stored[0].ID
	}
	first := encode(1, "a")
	if first != encode(1, "a") {
		t.Error("a repetition has another id")
	}
	if first == encode(2, "a") || first == encode(1, "b") {
		t.Error("two decisions have one id")
	}
}
