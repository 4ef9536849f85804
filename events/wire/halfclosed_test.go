package wire_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events/wire"
)

const gossipRead = "/event_store.client.gossip.Gossip/Read"

// framed is a client that writes HTTP/2 itself, because those of grpc for Go end their side of a
// call with one message in the frame of the message. It has one call, on stream 1.
type framed struct {
	t     *testing.T
	f     *http2.Framer
	reset bool
	ended bool
}

func newFramed(t *testing.T, conn net.Conn) *framed {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	c := &framed{t: t, f: http2.NewFramer(conn, conn)}
	c.must(c.f.WriteSettings())
	return c
}

func (c *framed) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request and leaves the client's side open.
func (c *framed) ask(method string, request proto.Message) {
	c.t.Helper()
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	fields := [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", "test"},
		{":path", method},
		{"te", "trailers"},
		{"content-type", "application/grpc"},
	}
	for _, h := range fields {
		c.must(encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	c.must(c.f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers.Bytes(), EndHeaders: true}))
	body, err := proto.Marshal(request)
	c.must(err)
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
	c.must(c.f.WriteData(1, false, append(prefix, body...)))
}

// read notes what the next frame says of the call, and returns it.
func (c *framed) read() http2.Frame {
	c.t.Helper()
	frame, err := c.f.ReadFrame()
	c.must(err)
	if frame.Header().StreamID == 1 {
		_, reset := frame.(*http2.RSTStreamFrame)
		c.reset = c.reset || reset
		c.ended = c.ended || frame.Header().Flags.Has(http2.FlagHeadersEndStream) && !reset
	}
	return frame
}

// ping waits until the server has read what was sent, and has sent what it wrote before.
func (c *framed) ping() {
	c.t.Helper()
	c.must(c.f.WritePing(false, [8]byte{}))
	for {
		if ping, ok := c.read().(*http2.PingFrame); ok && ping.IsAck() {
			return
		}
	}
}

func halfClosedCalls() map[string]struct {
	method    string
	request   proto.Message
	anonymous wire.Role
} {
	read := &streams.ReadReq{Options: &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte("nothing")},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}},
		CountOption:  &streams.ReadReq_Options_Count{Count: 1},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
		},
	}}
	return map[string]struct {
		method    string
		request   proto.Message
		anonymous wire.Role
	}{
		"read":               {streams.Streams_Read_FullMethodName, read, wire.RoleAdmin},
		"read of a stranger": {streams.Streams_Read_FullMethodName, read, wire.RoleNone},
		"read that makes no sense": {
			streams.Streams_Read_FullMethodName, &streams.ReadReq{Options: &streams.ReadReq_Options{}}, wire.RoleAdmin,
		},
		"one answer":               {gossipRead, &shared.Empty{}, wire.RoleAdmin},
		"one answer to a stranger": {streams.Streams_Delete_FullMethodName, &streams.DeleteReq{}, wire.RoleNone},
	}
}

func TestCallsAreNotResetWhileTheirClientsEndTheirSide(t *testing.T) {
	for name, call := range halfClosedCalls() {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(cfg *wire.Config) {
				cfg.Anonymous, cfg.Limits.PingEvery = call.anonymous, time.Nanosecond
			})
			c := newFramed(t, dial(t, s.address))
			c.ask(call.method, call.request)
			for range 100 { // Long enough for an answer that does not wait.
				c.ping()
			}
			c.must(c.f.WriteData(1, true, nil))
			for !c.ended {
				c.read()
			}
			c.ping()
			if c.reset {
				t.Fatal("the call was reset")
			}
		})
	}
}

func TestClientsThatDoNotEndTheirSideAreAnsweredAllTheSame(t *testing.T) {
	for name, call := range halfClosedCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFramed(t, dial(t, serve(t, func(cfg *wire.Config) { cfg.Anonymous = call.anonymous }).address))
			c.ask(call.method, call.request)
			for !c.ended {
				c.read()
			}
		})
	}
}
