package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/peer"
)

// connections counts what is open and keeps it below a limit.
type connections struct {
	limit   int64
	open    atomic.Int64
	refused atomic.Uint64
}

// limited is a listener whose connections are counted; those beyond the limit
// are closed at once, so that their clients see it and the others live.
type limited struct {
	net.Listener
	all *connections
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.all.open.Add(1) <= l.all.limit {
			return &connection{Conn: conn, all: l.all}, nil
		}
		l.all.open.Add(-1)
		l.all.refused.Add(1)
		_ = conn.Close() // It is gone in any case.
	}
}

// connection is one client's connection, and what is remembered of it.
type connection struct {
	net.Conn
	all          *connections
	once         sync.Once
	failedLogins atomic.Int64
	stalls       atomic.Int64
}

func (c *connection) Close() error {
	c.once.Do(func() { c.all.open.Add(-1) })
	return c.Conn.Close()
}

// RemoteAddr carries the connection to the calls that come over it: grpc gives
// them the address, and nothing else of ours.
func (c *connection) RemoteAddr() net.Addr { return &remote{c.Conn.RemoteAddr(), c} }

type remote struct {
	net.Addr
	conn *connection
}

// connectionOf is the connection of a call; nil when grpc did not make it.
func connectionOf(ctx context.Context) *connection {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	if r, ok := p.Addr.(*remote); ok {
		return r.conn
	}
	return nil
}
