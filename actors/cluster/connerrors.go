package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/credentials"
)

// connErrors are TLS credentials that log why a connection did not come about, once until one does: the actor library
// says only that a member cannot be reached. Safe for concurrent use.
type connErrors struct {
	credentials.TransportCredentials
	log  *logrus.Entry
	hint string // what to look at

	mu   sync.Mutex
	last map[string]error // by the member's address, or by the address that a connection came from
}

const (
	memberHint = "the certificates of all members (cluster.tls) must be of one authority, and must not have ended"
	etcdHint   = "etcd's certificate must be of the authority in cluster.etcd.caFile, and cluster.etcd.certFile " +
		"of one that etcd trusts"
)

func newConnErrors(c *tls.Config, hint string, log *logrus.Entry) *connErrors {
	return &connErrors{TransportCredentials: credentials.NewTLS(c), log: log, hint: hint, last: map[string]error{}}
}

// mostConnErrors is how many are remembered: any machine may connect.
const mostConnErrors = 256

// ClientHandshake implements credentials.TransportCredentials.
func (d *connErrors) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		d.note(authority, err)
		return conn, info, err
	}
	return &begun{Conn: conn, note: func(err error) { d.note(authority, err) }}, info, nil
}

// errUnsaid: what a server that refuses a client has said may be lost, because the client writes before it reads.
var errUnsaid = errors.New("tls: the other side ended the connection right after the handshake, " +
	"as it does when it does not believe the certificate")

// begun is a connection of a client. With TLS 1.3 the server says only after the handshake that it does not believe the
// client.
type begun struct {
	net.Conn
	once sync.Once
	note func(error)
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.once.Do(func() {
		if err != nil && !ofTLS(err) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
			b.note(fmt.Errorf("%w: %w", errUnsaid, err))
			return
		}
		b.note(err)
	})
	return n, err
}

// ServerHandshake implements credentials.TransportCredentials.
func (d *connErrors) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	from, _, _ := net.SplitHostPort(raw.RemoteAddr().String())
	d.note(from, err)
	return conn, info, err
}

// Clone implements credentials.TransportCredentials. What is known is shared.
func (d *connErrors) Clone() credentials.TransportCredentials { return d }

// note takes note of how a handshake ended.
func (d *connErrors) note(who string, err error) {
	if err != nil && !errors.Is(err, errUnsaid) && !ofTLS(err) {
		return
	}
	d.mu.Lock()
	before := d.last[who]
	if len(d.last) >= mostConnErrors {
		clear(d.last)
	}
	if d.last[who] = err; err == nil {
		delete(d.last, who)
	}
	d.mu.Unlock()
	if err != nil && (before == nil || before.Error() != err.Error()) {
		d.log.WithField("with", who).WithError(err).Warn("a connection did not come about, because one of the " +
			"two does not believe the other: " + d.hint)
	}
}

// about is why a member was not believed the last time, or did not believe; nil: it was.
func (d *connErrors) about(who string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[who]
}

// ofTLS reports whether a handshake failed because of what the two said, and not because the connection ended.
func ofTLS(err error) bool {
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed.Op == "remote error" // The other one said why.
	}
	return !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
