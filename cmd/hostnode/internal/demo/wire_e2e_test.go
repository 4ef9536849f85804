//go:build e2e

package demo

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// wire passes bytes between a host and its node, and can be cut so that neither side
// notices: what is written disappears, and nothing is closed.
type wire struct {
	listener net.Listener
	node     string

	mu    sync.Mutex
	conns []*severable
}

type severable struct {
	host, node net.Conn
	cut        atomic.Bool
}

func startWire(t *testing.T, node string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, node: node}
	go w.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.conns {
			_, _ = c.host.Close(), c.node.Close()
		}
	})
	return w
}

func (w *wire) url() string { return "ws://" + w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		host, err := w.listener.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("tcp", w.node)
		if err != nil { // The node is down: so is the line.
			_ = host.Close()
			continue
		}
		c := &severable{host: host, node: node}
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
		go c.pass(node, host)
		go c.pass(host, node)
	}
}

// pass moves bytes until one side ends, which ends the other.
func (c *severable) pass(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !c.cut.Load() {
			if _, failed := to.Write(buf[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			if !c.cut.Load() || !errors.Is(err, io.EOF) {
				_ = to.Close()
			}
			return
		}
	}
}

// sever cuts the present connections; new ones are not cut.
func (w *wire) sever() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.cut.Store(true)
	}
	return len(w.conns)
}
