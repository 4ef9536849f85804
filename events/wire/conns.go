package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

// connections counts what is open and keeps it below a limit.
type connections struct {
	limit   int64
	untaken time.Duration // How long a client may leave the kernel's buffers full.
	open    atomic.Int64
	refused atomic.Uint64
}

// limited is a listener whose connections are counted. Those beyond the limit
// are closed at once, so that their clients notice and the others are still
// served.
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

// connection is one client's connection, with what must be remembered for it.
type connection struct {
	net.Conn
	all          *connections
	once         sync.Once
	failedLogins atomic.Int64
	stalls       atomic.Int64

	mu     sync.Mutex
	kept   map[*charge]bool // Large answers that are not written yet.
	closed bool
}

func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.all.open.Add(-1)
		c.mu.Lock()
		kept := c.kept
		c.kept, c.closed = nil, true
		c.mu.Unlock()
		for held := range kept {
			held.release() // grpc has no use for it any more, and does not say so.
		}
	})
	return err
}

// Write closes a connection whose client takes nothing: the data waiting for it
// would hold memory for ever, even that of calls that have ended.
func (c *connection) Write(b []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.all.untaken)) // It fails on a closed connection, as Write then does.
	return c.Conn.Write(b)
}

// keep notes the charge of a large answer, to release it when the connection is closed.
func (c *connection) keep(held *charge) {
	if c == nil {
		return
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		if c.kept == nil {
			c.kept = map[*charge]bool{}
		}
		c.kept[held] = true
	}
	c.mu.Unlock()
	if closed {
		held.release()
	}
}

// drop forgets a charge that is released.
func (c *connection) drop(held *charge) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, held)
}

// RemoteAddr makes the connection known to its calls: the address is all that
// grpc passes on to them.
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
