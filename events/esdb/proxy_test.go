package esdb_test

import (
	"net"
	"sync"
	"testing"
	"time"
)

// mode is what a proxy does with the bytes that pass.
type mode int

const (
	// passing forwards everything.
	passing mode = iota
	// paused accepts connections and bytes, and forwards nothing until it passes again, like a
	// server that was stopped (SIGSTOP).
	paused
	// swallowing forwards what clients send, and loses every answer for good: the connection
	// must be cut afterwards.
	swallowing
	// blackhole loses everything in both directions: a network that drops.
	blackhole
	// slow forwards everything in small pieces with pauses.
	slow
	// refusing ends every connection at once: nobody listens behind the address.
	refusing
)

// Pieces and pauses of a slow network: some 200 kB/s.
const (
	slowPiece = 512
	slowPause = 2 * time.Millisecond
)

// proxy is between a client and a server and can disturb the traffic. Its address stays while
// servers behind it come and go.
type proxy struct {
	listener net.Listener
	over     chan struct{} // closed at the end
	refused  chan struct{} // Gets one for each connection that was refused, if a test waits.
	wg       sync.WaitGroup

	mu      sync.Mutex
	target  string
	mode    mode
	changed chan struct{} // closed and replaced when the mode changes
	conns   map[net.Conn]bool
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		listener: listener, over: make(chan struct{}), target: target,
		changed: make(chan struct{}), conns: map[net.Conn]bool{}, refused: make(chan struct{}),
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		close(p.over)
		p.listener.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// set changes what happens to all connections, the open ones included.
func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

// lead sends new connections to another server.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// cut ends all open connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) now() (mode, string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.target, p.changed
}

// keep lists a connection to be cut; false at the end of the proxy.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.over:
		c.Close()
		return false
	default:
	}
	p.conns[c] = true
	return true
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(client) {
			p.wg.Go(func() { p.serve(client) })
		}
	}
}

func (p *proxy) serve(client net.Conn) {
	defer p.end(client)
	m, target, _ := p.now()
	if m == refusing {
		select {
		case p.refused <- struct{}{}:
		default:
		}
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.end(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client, true) })
	both.Go(func() { p.copy(client, server, false) })
	both.Wait()
}

func (p *proxy) end(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// copy forwards bytes from one side to the other, as the current mode says, and ends both sides
// when one ends.
func (p *proxy) copy(to, from net.Conn, fromClient bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.hand(to, buffer[:n], fromClient) {
			return
		}
		if err != nil {
			return
		}
	}
}

// hand passes some bytes on, or does to them what the mode says.
func (p *proxy) hand(to net.Conn, b []byte, fromClient bool) bool {
	for {
		m, _, changed := p.now()
		switch {
		case m == paused:
			select {
			case <-changed:
				continue
			case <-p.over:
				return false
			}
		case m == refusing:
			return false
		case m == blackhole, m == swallowing && !fromClient:
			return true
		case m == slow:
			return p.trickle(to, b)
		}
		_, err := to.Write(b)
		return err == nil
	}
}

func (p *proxy) trickle(to net.Conn, b []byte) bool {
	pause := time.NewTicker(slowPause)
	defer pause.Stop()
	for len(b) > 0 {
		n := min(slowPiece, len(b))
		if _, err := to.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
		select {
		case <-pause.C:
		case <-p.over:
			return false
		}
	}
	return true
}
