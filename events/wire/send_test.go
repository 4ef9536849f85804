package wire

import (
	"bytes"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
)

// readSink is a stream that encodes the answers that are sent, and drops them.
type readSink struct{ *fakeStream }

func (s readSink) Send(m *streams.ReadResp) error { return s.SendMsg(m) }

// sender is a reader whose answers are encoded and dropped, and an event for it.
func sender(tb testing.TB) (send func()) {
	ctx := tb.Context()
	c := &reader{s: unserved(tb, nil), reading: &reading{id: structuredID}, ss: readSink{&fakeStream{
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

func BenchmarkSendEvent(b *testing.B) {
	send := sender(b)
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

// Reading is mostly allocating, for one event after the other; an answer whose parts were
// allocated one by one took 16 allocations.
func TestAnEventIsSentWithFewAllocations(t *testing.T) {
	const most = 11
	if n := testing.AllocsPerRun(1000, sender(t)); n > most {
		t.Errorf("%.0f allocations for an event, want at most %d", n, most)
	}
}
