//go:build e2e

package demo

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/prometheus/procfs"

	"github.com/hostnode/hostnode/events"
)

// crossing is where the other members reach a member. They all know the same address, but each of them comes on a
// link of its own: the process that a connection belongs to tells which.
type crossing struct {
	net.Listener
	from   map[events.Member]*link
	passed atomic.Int64 // how many connections
}

// crossTo makes a crossing that leads to a member which listens here.
func (f *faultRig) crossTo(to events.Member, listen string, names []events.Member) *crossing {
	f.t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	f.must(err)
	f.t.Cleanup(func() { listener.Close() })
	c := &crossing{Listener: listener, from: map[events.Member]*link{}}
	for _, from := range names {
		if from != to {
			c.from[from] = f.links.to(string(from)+" to "+string(to), listen)
		}
	}
	return c
}

// serve passes on what the members say to each other.
func (f *faultRig) serve(c *crossing) {
	for {
		conn, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if m := f.whose(conn); m != nil {
				c.passed.Add(1)
				pass(conn, c.from[m.name])
			}
		}()
	}
}

// pass carries a connection over a link, until either end closes it.
func pass(conn net.Conn, l *link) {
	to, err := net.Dial("tcp4", l.at())
	if err != nil {
		return // The link is cut.
	}
	defer to.Close()
	ended := make(chan struct{}, 2)
	copies := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go copies(to, conn)
	go copies(conn, to)
	<-ended
}

// whose is the member that made a connection; nil: it was killed meanwhile.
func (f *faultRig) whose(conn net.Conn) *faulted {
	port := func(a net.Addr) uint64 { return uint64(a.(*net.TCPAddr).Port) }
	from, to := port(conn.RemoteAddr()), port(conn.LocalAddr())
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	sockets, err := proc.NetTCP() //nolint:staticcheck // A fault rig needs no netlink client for one list.
	if err != nil {
		return nil
	}
	for _, s := range sockets {
		if s.LocalPort != from || s.RemPort != to || !s.LocalAddr.IsLoopback() {
			continue
		}
		for _, m := range f.members {
			p, err := proc.Proc(m.pid())
			if err != nil {
				continue
			}
			open, err := p.FileDescriptorTargets()
			if err == nil && slices.Contains(open, fmt.Sprintf("socket:[%d]", s.Inode)) {
				return m
			}
		}
	}
	return nil
}

// reached demands that members have reached each other.
func (f *faultRig) reached() {
	f.t.Helper()
	var all int64
	for _, m := range f.members {
		all += m.others.passed.Load()
	}
	f.t.Logf("%s: members have connected to each other %d times", f.clock(), all)
	if all == 0 && len(f.events) > 0 { // One member may sell all that the host may.
		f.t.Error("no member ever reached another one")
	}
}
