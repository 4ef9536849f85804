package wire

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// readSink is a stream that encodes the answers that are sent, and drops them.
type readSink struct{ *fakeStream }

func (s readSink) Send(m *streams.ReadResp) error { return s.SendMsg(m) }

// sender is a reader whose answers are encoded and dropped, and an event for it.
func sender(tb testing.TB) (send func()) {
	ctx := tb.Context()
	c := &reader{s: unserved(tb, nil), reading: &reading{structured: true}, ss: readSink{&fakeStream{
		ctx: ctx, send: func(m any) error { _, err := newCodec().Marshal(m); return err },
	}}}
	r := events.Recorded{
		ID: events.EventID{1}, Stream: "sale-0x0102-0x0304", Revision: 17, Position: 1234567, Type: "ProofSubmitted",
		Data: bytes.Repeat([]byte("a"), 300), Recorded: time.Now(),
		Meta: events.Metadata{Correlation: "0x0102", Version: 1, Epoch: 2, Node: "cellar"},
	}
	return func() {
		if err := c.sendEvent(ctx, &r); err != nil {
			tb.Fatal(err)
		}
	}
}

// decoded is an answer as a client gets it.
func decoded(t testing.TB, m any) *streams.ReadResp {
	t.Helper()
	b, ok := m.(encoded)
	if !ok {
		return m.(*streams.ReadResp)
	}
	var r streams.ReadResp
	if err := proto.Unmarshal(b, &r); err != nil || len(r.ProtoReflect().GetUnknown()) > 0 {
		t.Fatalf("an answer cannot be decoded: %v, %v", err, &r)
	}
	return &r
}

func TestAnEventIsEncodedAsProtobufWouldDoIt(t *testing.T) {
	first := events.Recorded{
		ID: events.EventID{1, 15: 2}, Stream: "sale-0x01", Revision: 300, Position: 1 << 40, Type: "Ü", Recorded: time.Unix(1, 700),
		Data: bytes.Repeat([]byte("a"), 300), Foreign: []byte(`{"a":1}`),
	}
	last := events.Recorded{ID: events.EventID{15: 0xff}, Stream: "a", Type: events.TypeTombstone, Binary: true, Recorded: time.Unix(0, 0)}
	for _, structured := range []bool{false, true} {
		c := &reader{reading: &reading{structured: structured}}
		message := func(r *events.Recorded, content string, revision uint64) *streams.ReadResp_ReadEvent_RecordedEvent {
			if r == nil {
				return nil
			}
			id := &shared.UUID{Value: &shared.UUID_String_{String_: r.ID.String()}}
			if structured {
				id = structuredID(r.ID)
			}
			return &streams.ReadResp_ReadEvent_RecordedEvent{
				Id: id, StreamIdentifier: streamID(r.Stream), StreamRevision: revision,
				PreparePosition: uint64(r.Position), CommitPosition: uint64(r.Position),
				Metadata: map[string]string{
					"type": r.Type, "content-type": content, "created": fmt.Sprint(r.Recorded.UnixNano() / 100),
				},
				CustomMetadata: events.EncodeMetadata(r.Meta, r.Foreign), Data: r.Data,
			}
		}
		for _, both := range [][2]*events.Recorded{{&first, &last}, {&first, nil}, {nil, &last}} {
			want := &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
				Event:    message(both[0], contentJSON, 300),
				Link:     message(both[1], contentBinary, math.MaxInt64),
				Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: 7},
			}}}
			if got := decoded(t, c.answer(7, both[0], both[1])); !proto.Equal(want, got) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
}

func BenchmarkSendEvent(b *testing.B) {
	send := sender(b)
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

// Reading is mostly allocating, for one event after the other; an answer whose parts were
// allocated one by one took 16 allocations, and as a message of protobuf 10. The race detector adds some.
func TestAnEventIsSentWithFewAllocations(t *testing.T) {
	const most = 8
	if n := testing.AllocsPerRun(1000, sender(t)); n > most {
		t.Errorf("%.0f allocations for an event, want at most %d", n, most)
	}
}
