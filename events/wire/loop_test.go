package wire_test

import (
	"math"
	"net"
	"sync/atomic"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// counted is a listener that counts what its connections write.
type counted struct {
	net.Listener
	writes, bytes atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	return &countedConn{conn, c}, err
}

type countedConn struct {
	net.Conn
	all *counted
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.all.writes.Add(1)
	c.all.bytes.Add(int64(len(b)))
	return c.Conn.Write(b)
}

func listen(b *testing.B) *counted {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return &counted{Listener: l}
}

// loop is a service that sends the same answers to everybody: what grpc alone can do.
type loop struct {
	streams.UnimplementedStreamsServer
	answers []*streams.ReadResp
}

func (l *loop) Read(_ *streams.ReadReq, ss streams.Streams_ReadServer) error {
	for _, a := range l.answers {
		if err := ss.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// undecoded is a codec for a client that only counts answers, because decoding takes longer than
// to serve them.
type undecoded struct{ encoding.CodecV2 }

func (undecoded) Unmarshal(mem.BufferSlice, any) error { return nil }

// BenchmarkServeLog reads the log with a client that decodes nothing, over each store and from
// grpc's plain loop, and counts what the server writes to the connection.
func BenchmarkServeLog(b *testing.B) {
	stores := map[string]events.Store{"memory": storetest.NewMemory()}
	var err error
	if stores["embedded"], _, err = embedded.Open(b.TempDir(), embedded.Config{}); err != nil {
		b.Fatal(err)
	}
	var answers []*streams.ReadResp
	for name, store := range stores {
		fill(b, store, "big-1", benchEvents, payload)
		s := serve(b, func(cfg *wire.Config) { cfg.Store = store })
		l := listen(b)
		go func() { _ = s.Serve(l) }()
		if answers == nil {
			answers = readLog(b, s.raw(b))
		}
		b.Run(name, func(b *testing.B) { serveLog(b, l) })
	}
	plain, l := grpc.NewServer(), listen(b)
	streams.RegisterStreamsServer(plain, &loop{answers: answers})
	go func() { _ = plain.Serve(l) }()
	defer plain.Stop()
	b.Run("plain loop", func(b *testing.B) { serveLog(b, l) })
}

func wholeLog() *streams.ReadReq {
	o := request("$all")
	o.CountOption = &streams.ReadReq_Options_Count{Count: math.MaxUint64}
	return &streams.ReadReq{Options: o}
}

func readLog(b *testing.B, conn *grpc.ClientConn) (all []*streams.ReadResp) {
	b.Helper()
	call, err := streams.NewStreamsClient(conn).Read(b.Context(), wholeLog())
	for err == nil && len(all) < benchEvents {
		var r *streams.ReadResp
		r, err = call.Recv()
		all = append(all, r)
	}
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func serveLog(b *testing.B, l *counted) {
	conn, err := grpc.NewClient(l.Addr().String(), append(smallWindows(), // As other clients have them.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(undecoded{encoding.GetCodecV2("proto")})))...)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	l.writes.Store(0)
	l.bytes.Store(0)
	b.ResetTimer()
	for range b.N {
		call, err := streams.NewStreamsClient(conn).Read(b.Context(), wholeLog())
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = call.Recv()
		}
		if n <= benchEvents {
			b.Fatalf("%d answers, then %v", n, err)
		}
	}
	all := float64(b.N) * benchEvents
	b.ReportMetric(all/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(l.writes.Load())/all, "writes/event")
	b.ReportMetric(float64(l.bytes.Load())/all, "bytes/event")
}
