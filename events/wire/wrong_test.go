package wire

import (
	"encoding/hex"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// The fields of these answers are found by their names, so the bytes are held here.
func TestAWrongRevisionIsToldInTheFieldsOfEveryClient(t *testing.T) {
	for _, c := range []struct {
		expected     events.Expected
		plain, batch string
	}{
		{events.Any(), "0809220030094a00", "08092200"},
		{events.StreamExists(), "08092a0030095200", "08092a00"},
		{events.NoStream(), "080930095a00", "08093200"},
		{events.Exact(7), "0809180730094007", "08091807"},
	} {
		e := &events.WrongRevisionError{Expected: c.expected, Exists: true, Actual: 9}
		for answer, want := range map[proto.Message]string{
			tellWrong(&streams.AppendResp_WrongExpectedVersion{}, e): c.plain,
			tellWrong(&shared.WrongExpectedVersion{}, e):             c.batch,
		} {
			got, err := proto.MarshalOptions{Deterministic: true}.Marshal(answer)
			if err != nil || hex.EncodeToString(got) != want {
				t.Errorf("expected %s: %T is %x, want %s (%v)", c.expected, answer, got, want, err)
			}
		}
	}
	e := &events.WrongRevisionError{Expected: events.Exact(7)}
	plain := tellWrong(&streams.AppendResp_WrongExpectedVersion{}, e)
	batch := tellWrong(&shared.WrongExpectedVersion{}, e)
	if plain.GetCurrentNoStream() == nil || plain.GetNoStream_20_6_0() == nil || batch.GetCurrentNoStream() == nil {
		t.Errorf("no stream: %v, %v", plain, batch)
	}
}
