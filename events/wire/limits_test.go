package wire_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/wire"
)

func wantStatus(t testing.TB, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("got %v, want %v", err, code)
	}
}

func TestAThousandConnectionsAreServed(t *testing.T) {
	s := serve(t, nil)
	const n = 1000
	conns := make([]*grpc.ClientConn, n)
	results := make(chan error, n)
	for i := range conns {
		conns[i] = s.raw(t)
		go func() {
			_, err := gossipOf(t.Context(), conns[i])
			results <- err
		}()
	}
	for range conns {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if open := s.Stats().Connections; open != n {
		t.Fatalf("%d connections are open, want %d", open, n)
	}
	appendTo(t, s.client(t, ""), "a-1", numbers(1)...)
	for _, c := range conns {
		c.Close()
	}
	until(t, "the connections are gone", func() bool { return s.Stats().Connections == 1 })
}

func TestConnectionsBeyondTheLimitAreClosedAndTheOthersLive(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.Connections = 2 })
	first, second := s.raw(t), s.raw(t)
	for _, c := range []*grpc.ClientConn{first, second} {
		if _, err := gossipOf(soon(t), c); err != nil {
			t.Fatal(err)
		}
	}
	third := s.raw(t)
	_, err := gossipOf(soon(t), third)
	wantStatus(t, err, codes.Unavailable)
	if s.Stats().RefusedConnections == 0 {
		t.Error("nobody was refused")
	}
	if _, err := gossipOf(soon(t), first); err != nil {
		t.Fatalf("a connection within the limit: %v", err)
	}
	second.Close()
	until(t, "there is room", func() bool { return s.Stats().Connections == 1 })
	if _, err := gossipOf(soon(t), s.raw(t)); err != nil {
		t.Fatalf("a connection after another left: %v", err)
	}
}

// fill appends n events of the given size.
func fill(t testing.TB, store events.Store, stream string, n, size int) {
	t.Helper()
	for i := 0; i < n; i += 100 {
		batch := make([]events.NewEvent, min(100, n-i))
		for j := range batch {
			batch[j] = events.NewEvent{
				ID: events.NewEventID(stream, "fill", i+j), Type: "filled", Data: bytes.Repeat([]byte{'x'}, size), Binary: true,
			}
		}
		if _, err := store.Append(t.Context(), stream, events.Any(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

func subscription(stream string) *streams.ReadReq {
	o := request(stream)
	o.CountOption = &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}}
	return &streams.ReadReq{Options: o}
}

// smallWindows limit a client's buffers, which otherwise grow with the server's speed.
func smallWindows() []grpc.DialOption {
	const size = 64 << 10
	return []grpc.DialOption{grpc.WithStaticStreamWindowSize(size), grpc.WithStaticConnWindowSize(size)}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // Pooled memory survives the first collection.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestClientsThatReadNothingHoldLittleMemoryAndAreEnded(t *testing.T) {
	const (
		clients = 40
		size    = 16 << 10
	)
	// What both sides of a client may hold: twice what was measured. The race detector makes
	// pools drop memory at random, and twice as much was seen.
	each := int64(1 << 20)
	if underRace {
		each *= 2
	}
	s := serve(t, func(cfg *wire.Config) {
		cfg.Limits = wire.Limits{SubscriptionBytes: 128 << 10, StalledFor: 5 * time.Second}
	})
	fill(t, s.store, "big-1", 2000, size) // Without limits each client would hold 32 MiB.
	before := heap()
	var open []streams.Streams_ReadClient
	for i := range clients {
		c, err := streams.NewStreamsClient(s.raw(t, smallWindows()...)).Read(t.Context(), subscription([]string{"big-1", "$all", "$ce-big"}[i%3]))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	until(t, "all are being sent events", func() bool { return s.Stats().EventsSent >= clients*4 })
	if grown := int64(heap()) - int64(before); grown > clients*each {
		t.Errorf("%d clients that read nothing hold %d KiB, want %d at most", clients, grown>>10, clients*each>>10)
	}
	if got := answers(t, s, request("big-1"), 10); len(got) != 10 {
		t.Errorf("another client got %d events, want 10", len(got))
	}
	until(t, "they are ended", func() bool { return s.Stats().Stalled == clients })
	for _, c := range open {
		var err error
		for err == nil {
			_, err = c.Recv()
		}
		wantStatus(t, err, codes.Aborted)
	}
	until(t, "nothing of them is left", func() bool { return s.Stats().Streams == 0 })
}

func TestAConnectionWithManyStalledCallsIsClosed(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.StalledFor = 100 * time.Millisecond })
	fill(t, s.store, "big-1", 200, 16<<10)
	conn := s.raw(t, smallWindows()...)
	for range 20 {
		if _, err := streams.NewStreamsClient(conn).Read(t.Context(), subscription("big-1")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the connection is closed", func() bool { return s.Stats().Connections == 0 })
}

func TestLargeEventsPassUpToTheLimit(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	largest := event("large", "")
	largest.Data = make([]byte, events.MaxEventBytes-len("large"))
	largest.ContentType = esdb.ContentTypeBinary
	appendTo(t, c, "a-1", largest)
	got, err := readAll(c.ReadStream(soon(t), "a-1", esdb.ReadStreamOptions{}, 1))
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Event.Data, largest.Data) {
		t.Fatalf("the largest event was read back as %d events, %v", len(got), err)
	}
	for _, beyond := range []int{1, 4 << 20} {
		tooLarge := largest
		tooLarge.Data = make([]byte, len(largest.Data)+beyond)
		if _, err := c.AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, tooLarge); err == nil {
			t.Errorf("an event of %d bytes too many was taken", beyond)
		}
	}
	for _, bytes := range []int{events.MaxEventBytes, events.MaxEventBytes + 4<<20} {
		var trailers metadata.MD
		send := newAppend(t, s, grpc.Trailer(&trailers))
		send.options("a-1")
		send.event(make([]byte, bytes))
		wantStatus(t, send.end(), codes.InvalidArgument)
		if got := trailers.Get("exception"); len(got) != 1 || got[0] != "maximum-append-size-exceeded" {
			t.Errorf("the exception for %d bytes is %v", bytes, got)
		}
	}
}

func TestAnAppendOfTooManyBytesIsRefusedWhileItArrives(t *testing.T) {
	s := serve(t, nil)
	send := newAppend(t, s)
	send.options("a-1")
	for range 6 {
		send.event(make([]byte, 12<<20))
	}
	wantStatus(t, send.end(), codes.InvalidArgument)
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

func TestAnAppendThatNeverEndsIsEnded(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.AppendTime = 100 * time.Millisecond })
	send := newAppend(t, s)
	send.options("a-1")
	send.event([]byte("x"))
	wantStatus(t, send.stream.RecvMsg(&streams.AppendResp{}), codes.DeadlineExceeded)
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
	if _, err := s.store.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// appender is one Append call, message by message.
type appender struct {
	t      *testing.T
	stream streams.Streams_AppendClient
}

func newAppend(t *testing.T, s *served, o ...grpc.CallOption) appender {
	t.Helper()
	stream, err := streams.NewStreamsClient(s.raw(t)).Append(t.Context(), o...)
	if err != nil {
		t.Fatal(err)
	}
	return appender{t, stream}
}

func (a appender) options(stream string) {
	a.send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}}})
}

func (a appender) event(data []byte) {
	a.send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
		ProposedMessage: &streams.AppendReq_ProposedMessage{
			Id: uuidOf(fmt.Sprint(len(data))), Data: data,
			Metadata: map[string]string{"type": "x", "content-type": "application/octet-stream"},
		},
	}})
}

// send may find that the server has ended the call; end returns why.
func (a appender) send(m *streams.AppendReq) { _ = a.stream.Send(m) }

func (a appender) end() error {
	_, err := a.stream.CloseAndRecv()
	return err
}

func TestClientsMayPingAsOftenAsTheLimitSays(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		stays bool
	}{
		"within the limit": {time.Nanosecond, true},
		"too often":        {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(cfg *wire.Config) { cfg.Limits.PingEvery = c.every })
			conn := dial(t, s.address)
			if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
				t.Fatal(err)
			}
			f := http2.NewFramer(conn, conn)
			if err := f.WriteSettings(); err != nil {
				t.Fatal(err)
			}
			acknowledged, sent := 0, 0
			for acknowledged < 10 { // Without any call, as clients do.
				if sent == acknowledged {
					sent++
					if err := f.WritePing(false, [8]byte{byte(sent)}); err != nil {
						break
					}
				}
				frame, err := f.ReadFrame()
				if err != nil {
					break
				}
				if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
					acknowledged++
				}
			}
			if stays := acknowledged == 10; stays != c.stays {
				t.Fatalf("%d pings were answered, and the connection stays: %t, want %t", acknowledged, stays, c.stays)
			}
		})
	}
}
