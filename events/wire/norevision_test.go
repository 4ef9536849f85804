package wire_test

import (
	"math"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// TestTheNumberOfNoRevisionExpectsNoStream: the client for .NET says so with the largest number.
func TestTheNumberOfNoRevisionExpectsNoStream(t *testing.T) {
	s := serve(t, nil)
	conn := s.raw(t)
	appendOnce := func(stream, data string) *streams.AppendResp {
		a := newAppend(t, s)
		a.send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
			ExpectedStreamRevision: &streams.AppendReq_Options_Revision{Revision: math.MaxUint64},
		}}})
		a.event([]byte(data))
		r, err := a.stream.CloseAndRecv()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := appendOnce("plain-1", "1"); r.GetSuccess() == nil || r.GetSuccess().GetCurrentRevision() != 0 {
		t.Errorf("append to a new stream: %v", r)
	}
	if w := appendOnce("plain-1", "22").GetWrongExpectedVersion(); w == nil ||
		w.GetExpectedRevision() != math.MaxUint64 || w.GetCurrentRevision() != 0 {
		t.Errorf("append to one that exists: %v", w)
	}
	b := openBatch(t, s)
	o := batchOptions("batch-1")
	o.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: math.MaxUint64}
	b.send("new", o, 1, true)
	if r := b.recv(); r.GetSuccess() == nil || r.GetSuccess().GetCurrentRevision() != 0 {
		t.Errorf("batch append to a new stream: %v", r)
	}
	b.send("there", o, 1, true)
	if got := b.code(); got != codes.AlreadyExists {
		t.Errorf("batch append to one that exists: %v", got)
	}
	ends := map[bool]func(stream string, o ...grpc.CallOption) error{
		false: func(stream string, o ...grpc.CallOption) error {
			_, err := streams.NewStreamsClient(conn).Delete(soon(t), &streams.DeleteReq{Options: &streams.DeleteReq_Options{
				StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
				ExpectedStreamRevision: &streams.DeleteReq_Options_Revision{Revision: math.MaxUint64},
			}}, o...)
			return err
		},
		true: func(stream string, o ...grpc.CallOption) error {
			_, err := streams.NewStreamsClient(conn).Tombstone(soon(t), &streams.TombstoneReq{
				Options: &streams.TombstoneReq_Options{
					StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
					ExpectedStreamRevision: &streams.TombstoneReq_Options_Revision{Revision: math.MaxUint64},
				},
			}, o...)
			return err
		},
	}
	for forever, end := range ends {
		for stream, actual := range map[string]string{"plain-1": "0", "none-1": "-1"} {
			if forever && stream == "none-1" {
				continue
			}
			var trailer metadata.MD
			wantStatus(t, end(stream, grpc.Trailer(&trailer)), codes.FailedPrecondition)
			for key, want := range map[string]string{
				"exception": "wrong-expected-version", "expected-version": "-1", "actual-version": actual,
			} {
				if got := trailer.Get(key); len(got) != 1 || got[0] != want {
					t.Errorf("end %s, for ever %v: %s is %v, want %s", stream, forever, key, got, want)
				}
			}
		}
	}
	if err := ends[true]("none-1"); err != nil {
		t.Errorf("tombstone of a stream that never was: %v", err)
	}
}
