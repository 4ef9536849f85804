package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// doorway accepts gRPC, with TLS or in plain text, and answers other requests over HTTP
// with an explanation, where clients would otherwise see a broken connection or a bare code.
type doorway struct {
	credentials.TransportCredentials
	tls *tls.Config // nil: plain text.
}

const (
	// http2Preface begins what an HTTP/2 client sends in plain text; no HTTP/1
	// request begins like that.
	http2Preface = "PRI "
	protocolH2   = "h2"
	protocolHTTP = "http/1.1"
	// tlsHandshake begins what a client sends who wants TLS.
	tlsHandshake = "\x16"
)

func newDoorway(cfg *tls.Config) *doorway {
	if cfg == nil {
		return &doorway{TransportCredentials: insecure.NewCredentials()}
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{protocolH2, protocolHTTP}
	return &doorway{credentials.NewTLS(cfg), cfg}
}

// ServerHandshake implements credentials.TransportCredentials. grpc bounds how
// long it takes.
func (d *doorway) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if d.tls == nil {
		conn := &peeked{Conn: raw, ahead: bufio.NewReaderSize(raw, len(http2Preface))}
		if head, err := conn.ahead.Peek(len(http2Preface)); err != nil || string(head) != http2Preface {
			return nil, nil, sayNotHere(conn, err)
		}
		return d.TransportCredentials.ServerHandshake(&opened{Conn: conn})
	}
	conn := tls.Server(raw, d.tls)
	if err := conn.HandshakeContext(context.Background()); err != nil { // The deadline is set on the connection.
		return nil, nil, err
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocolH2 {
		return nil, nil, sayNotHere(conn, nil)
	}
	return &opened{Conn: conn}, credentials.TLSInfo{
		State: state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

// Clone implements credentials.TransportCredentials.
func (d *doorway) Clone() credentials.TransportCredentials { return newDoorway(d.tls) }

// peeked is a connection whose first bytes have been read ahead.
type peeked struct {
	net.Conn
	ahead *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.ahead.Read(b) }

// sayNotHere answers the request if it is HTTP/1. Its error ends the
// connection.
func sayNotHere(conn net.Conn, err error) error {
	if err != nil {
		return err
	}
	if p, ok := conn.(*peeked); ok {
		if head, _ := p.ahead.Peek(len(tlsHandshake)); string(head) == tlsHandshake {
			return notHere(conn) // What is no record of TLS tells its client why.
		}
	}
	// A client reads no answer while it has more to send, so the request is read first, up to a
	// limit.
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, maxHeaderBytes)))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, req.Body) // As far as the bounds go.
	return notHere(conn)
}

const (
	notHereSentence = "hostnode serves EventStoreDB's gRPC protocol here, and nothing over HTTP.\n"
	plainText       = "text/plain; charset=utf-8"
	grpcContent     = "application/grpc"
	maxFirstReads   = 64 // More than the first request of any client takes.
)

func notHere(conn net.Conn) error {
	_, err := fmt.Fprintf(conn, "HTTP/1.1 501 Not Implemented\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", plainText, len(notHereSentence), notHereSentence)
	if err == nil {
		err = http.ErrNotSupported
	}
	return err
}

// opened is a connection over HTTP/2. If its first request is not gRPC, it is answered here,
// and grpc sees the end of the connection.
type opened struct {
	net.Conn
	ahead []byte // What the client sent, until its first request is there.
	reads int
	known bool

	writing sync.Mutex
	joiner
}

// Write joins the frames of messages.
func (o *opened) Write(b []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	if _, err := o.Conn.Write(o.join(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read is called by one goroutine at a time.
func (o *opened) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if o.known {
		return n, err
	}
	o.ahead = append(o.ahead, b[:n]...)
	o.reads++
	first := firstRequest(o.ahead)
	if o.known = first != nil || o.reads >= maxFirstReads || len(o.ahead) > maxHeaderBytes; o.known {
		o.ahead = nil
	}
	if first == nil || isGRPC(first) {
		return n, err
	}
	if err := o.sayNotHere(first.StreamID); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// firstRequest is the head of the first request in what a client sends; nil when it is not
// there yet, or grpc will not understand it either.
func firstRequest(b []byte) *http2.MetaHeadersFrame {
	if len(b) < len(http2.ClientPreface) {
		return nil
	}
	f := http2.NewFramer(nil, bytes.NewReader(b[len(http2.ClientPreface):]))
	f.ReadMetaHeaders = hpack.NewDecoder(headerTableBytes, nil)
	f.MaxHeaderListSize = maxHeaderBytes
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return nil
		}
		if head, ok := frame.(*http2.MetaHeadersFrame); ok {
			return head
		}
	}
}

// headerTableBytes is HTTP/2's default, which clients have before they hear of another.
const headerTableBytes = 4096

func isGRPC(head *http2.MetaHeadersFrame) bool {
	return slices.ContainsFunc(head.Fields, func(f hpack.HeaderField) bool {
		return f.Name == "content-type" && strings.HasPrefix(f.Value, grpcContent)
	})
}

// sayNotHere answers a request, and waits for the client to go: to close while it still sends
// would take the answer back. All is one write, because grpc may be writing, too.
func (o *opened) sayNotHere(stream uint32) error {
	var out, head bytes.Buffer
	f, h := http2.NewFramer(&out, nil), hpack.NewEncoder(&head)
	err := errors.Join(
		h.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(http.StatusNotImplemented)}),
		h.WriteField(hpack.HeaderField{Name: "content-type", Value: plainText}),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true}),
		f.WriteData(stream, true, []byte(notHereSentence)),
		f.WriteGoAway(stream, http2.ErrCodeNo, nil),
	)
	if err == nil {
		_, err = o.Write(out.Bytes())
	}
	if err == nil {
		err = o.Conn.SetReadDeadline(time.Now().Add(drainTime))
	}
	if err != nil {
		return fmt.Errorf("answer a request that is not gRPC: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(o.Conn, 2*windowBytes)) // A client sends less before it is asked to.
	return nil
}
