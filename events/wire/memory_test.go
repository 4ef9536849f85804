package wire_test

import (
	"context"
	"iter"
	"net"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// Limits of the tests of memory, small so that few bytes have to be moved.
const (
	memory     = 256 << 20 // Of both directions.
	oneWay     = memory / 2
	largest    = events.MaxEventBytes - 1024
	memorySlop = 256 << 20 // For the test itself, garbage, and variation.
)

// drop is a store that forgets what is appended to it, as a database on a disk
// does to memory.
type drop struct {
	events.Store
	mu    sync.Mutex
	taken int
}

func (d *drop) Append(
	_ context.Context, _ string, _ events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken += len(batch)
	return events.AppendResult{Revision: uint64(d.taken - 1), Exists: true, Position: events.Position(d.taken)}, nil
}

func (d *drop) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken
}

// one is a store with one event of the largest size, which a stream repeats any number of
// times, always as a new copy.
type one struct {
	events.Store
}

func (o one) ReadStream(
	_ context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for i := range uint64(q.Limit) {
			r := events.Recorded{
				ID: events.EventID{1}, Stream: stream, Revision: q.From + i, Position: events.Position(q.From + i + 1),
				Type: "x", Data: make([]byte, largest), Binary: true,
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// encoded is a message that is encoded already. All clients of a test send the
// same bytes, so that they cost the test nothing.
type encoded struct{ bytes mem.BufferSlice }

type shares struct{ encoding.CodecV2 }

func (s shares) Marshal(m any) (mem.BufferSlice, error) {
	if e, ok := m.(encoded); ok {
		return e.bytes, nil
	}
	return s.CodecV2.Marshal(m)
}

func sharing() grpc.DialOption {
	return grpc.WithDefaultCallOptions(grpc.ForceCodecV2(shares{encoding.GetCodecV2("proto")}))
}

func encode(t testing.TB, m proto.Message) encoded {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return encoded{mem.BufferSlice{mem.SliceBuffer(b)}}
}

func largeEvent() *streams.AppendReq {
	return &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
		ProposedMessage: &streams.AppendReq_ProposedMessage{
			Id: uuidOf("large"), Data: make([]byte, largest),
			Metadata: map[string]string{"type": "x", "content-type": "application/octet-stream"},
		},
	}}
}

func appendOptions(stream string) *streams.AppendReq {
	return &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}}}
}

// watchHeap reports the most live memory that the collector found until stop.
func watchHeap() (stop func() uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	most := make(chan uint64)
	go func() {
		var peak uint64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(live)
			peak = max(peak, live[0].Value.Uint64())
		}
		most <- peak
	}()
	return func() uint64 {
		cancel()
		return <-most
	}
}

func wantMemory(t *testing.T, s *served, peak, before uint64) {
	t.Helper()
	stats := s.Stats()
	t.Logf("live %d MiB more; held at most %d MiB of appends, %d MiB of answers", (int64(peak)-int64(before))>>20,
		stats.MostPendingBytes>>20, stats.MostAnswerBytes>>20)
	if stats.MostPendingBytes > oneWay || stats.MostAnswerBytes > oneWay {
		t.Errorf("appends held %d bytes and answers %d, the limit of each is %d",
			stats.MostPendingBytes, stats.MostAnswerBytes, oneWay)
	}
	if peak > before+memory+memorySlop {
		t.Errorf("%d MiB more were in use, the limit is %d MiB", (peak-before)>>20, memory>>20)
	}
}

func limited(cfg *wire.Config) { cfg.Limits = wire.Limits{}.WithMemory(memory) }

// begins begins an append by a client of its own, and sends its outcome to results.
func (s *served) begins(t *testing.T, options, event encoded, results chan<- error) {
	t.Helper()
	c, err := streams.NewStreamsClient(s.raw(t, sharing())).Append(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.SendMsg(options) // The answer says what is wrong.
		_ = c.SendMsg(event)
		_, err := c.CloseAndRecv()
		results <- err
	}()
}

func TestTwoHundredClientsThatAppendTheLargestEventsAreServedWithinTheLimitOfMemory(t *testing.T) {
	clients := 200
	if underRace || testing.Short() {
		clients = 12 // Four times what fits; three gigabytes would take minutes.
	}
	store := &drop{Store: storetest.NewMemory()}
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Store, cfg.Limits.BusyTime, cfg.Limits.AppendTime = store, time.Hour, time.Hour // All get their turn.
	})
	options, event := encode(t, appendOptions("a-1")), encode(t, largeEvent())
	before := heap()
	stop := watchHeap()
	results := make(chan error, clients)
	for range clients {
		s.begins(t, options, event, results)
	}
	for range clients {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	wantMemory(t, s, stop(), before)
	if got := store.count(); got != clients {
		t.Errorf("%d events were taken, want %d", got, clients)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

// half is a connection that loses everything after so many bytes.
type half struct {
	net.Conn
	left int
}

func (h *half) Write(b []byte) (int, error) {
	n := min(len(b), h.left)
	h.left -= n
	if _, err := h.Conn.Write(b[:n]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// stopInTheMiddle opens n appends that send half a megabyte of a large event,
// and then nothing.
func stopInTheMiddle(t *testing.T, s *served, n int) []*grpc.ClientConn {
	t.Helper()
	options, event := encode(t, appendOptions("a-1")), encode(t, largeEvent())
	conns := make([]*grpc.ClientConn, n)
	for i := range conns {
		conns[i] = s.raw(t, sharing(), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			return &half{conn, 512 << 10}, err
		}))
		c, err := streams.NewStreamsClient(conns[i]).Append(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = c.SendMsg(options)
			_ = c.SendMsg(event)
		}()
	}
	return conns
}

func TestClientsThatStopInTheMiddleOfLargeAppendsHoldNoMoreThanTheLimit(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Limits.BusyTime = time.Hour // The others wait.
	})
	before := heap()
	conns := stopInTheMiddle(t, s, 200)
	until(t, "all that fits is held", func() bool { return s.Stats().PendingBytes > oneWay-2*largest })
	wantMemory(t, s, heap(), before)
	for _, c := range conns {
		c.Close()
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

func TestTwoHundredReadersThatTakeNothingHoldNoMoreThanTheLimit(t *testing.T) {
	const clients = 200
	store := one{storetest.NewMemory()}
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Store, cfg.Limits.BusyTime = store, time.Hour
	})
	before := heap()
	for i := range clients {
		req := &streams.ReadReq{Options: request("big-1")} // Of one event: the call ends, but its answers remain.
		if i%2 == 0 {
			req = subscription("big-1")
		}
		c, err := streams.NewStreamsClient(s.raw(t, smallWindows()...)).Read(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		_ = c
	}
	until(t, "all that fits is held", func() bool { return s.Stats().AnswerBytes > oneWay-3*events.MaxEventBytes })
	wantMemory(t, s, heap(), before)
}

func TestReadersThatTakeNothingMakeRoomForThoseWhoWait(t *testing.T) {
	store := one{storetest.NewMemory()}
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Store, cfg.Limits.BusyTime = store, 2*time.Second
	})
	for range 8 {
		if _, err := streams.NewStreamsClient(s.raw(t, smallWindows()...)).Read(t.Context(), subscription("big-1")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all is held", func() bool { return s.Stats().AnswerBytes > oneWay-3*events.MaxEventBytes })
	c := streams.NewStreamsClient(s.raw(t))
	until(t, "a reader is served", func() bool {
		o := request("big-1")
		o.CountOption.(*streams.ReadReq_Options_Count).Count = 1
		r, err := c.Read(soon(t), &streams.ReadReq{Options: o})
		if err == nil {
			_, err = r.Recv()
		}
		if err != nil && status.Code(err) != codes.ResourceExhausted && status.Code(err) != codes.Aborted {
			t.Fatal(err) // On a slow machine this one is a reader that takes nothing, too.
		}
		return err == nil
	})
	if s.Stats().Stalled == 0 {
		t.Error("nobody was ended")
	}
}

func TestMoreCallsThanTheLimitAreRefused(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.Calls = 3 })
	conn := s.raw(t)
	var cancels []context.CancelFunc
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cancels = append(cancels, cancel)
		r, err := streams.NewStreamsClient(conn).Read(ctx, subscription("a-1"))
		if err == nil {
			_, err = r.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := gossipOf(soon(t), s.raw(t))
	wantStatus(t, err, codes.ResourceExhausted)
	if !strings.Contains(err.Error(), "3 calls are under way") {
		t.Errorf("it was told %q", err)
	}
	cancels[0]()
	until(t, "there is room", func() bool {
		_, err := gossipOf(soon(t), conn)
		return err == nil
	})
	if s.Stats().RefusedCalls == 0 {
		t.Error("nobody was refused")
	}
}

func TestManyTinyPartsOfAMessageAreCountedBeforeTheyAreDecoded(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.PendingBytes, cfg.Limits.BatchBytes = 8<<20, 8<<20 })
	b := openBatch(t, s)
	tiny := make([]*streams.BatchAppendReq_ProposedMessage, 200_000) // 400 KB on the wire, 30 MB decoded.
	for i := range tiny {
		tiny[i] = &streams.BatchAppendReq_ProposedMessage{}
	}
	err := b.stream.Send(&streams.BatchAppendReq{
		CorrelationId: uuidOf("tiny"), Options: batchOptions("a-1"), ProposedMessages: tiny, IsFinal: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.code(); got != codes.InvalidArgument {
		t.Fatalf("answered %v", got)
	}
}
