package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// doorway accepts gRPC, with TLS or in plain text, and answers HTTP/1 requests
// with an explanation, where clients would otherwise see a broken connection.
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
		return d.TransportCredentials.ServerHandshake(conn)
	}
	conn := tls.Server(raw, d.tls)
	if err := conn.HandshakeContext(context.Background()); err != nil { // The deadline is set on the connection.
		return nil, nil, err
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocolH2 {
		return nil, nil, sayNotHere(conn, nil)
	}
	return conn, credentials.TLSInfo{
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

func notHere(conn net.Conn) error {
	const sentence = "hostnode serves EventStoreDB's gRPC protocol here, and nothing over HTTP.\n"
	_, err := fmt.Fprintf(conn, "HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(sentence), sentence)
	if err == nil {
		err = http.ErrNotSupported
	}
	return err
}
