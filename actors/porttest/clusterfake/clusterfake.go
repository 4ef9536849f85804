// Package clusterfake is a port.Cluster in memory: the members of one host in one process, and what says who seems to be
// alive. It passes the suite of the port (porttest.Cluster), needs no network, and takes time from package time only, so
// that it works inside a testing/synctest bubble. Its controls are those of Host.
package clusterfake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Largest is how many bytes a question or an answer has at most, as between real members.
const Largest = 1 << 20

// mostWait is how long a call whose context has no deadline waits for its answer.
const mostWait = time.Minute

var errCutOff = errors.New("nobody answers who says which members are alive")

// Delivery is what becomes of one question.
type Delivery struct {
	Delay      time.Duration // until the question arrives
	Lost       bool          // the question does not arrive
	Twice      bool          // it arrives twice; the second answer is lost
	AnswerLost bool
}

// Host is a host with members. All methods may be called at once.
type Host struct {
	lease time.Duration

	mu      sync.Mutex
	late    time.Duration
	deliver func(from, to events.Member, question []byte) Delivery
	running map[events.Member]*Member
	alive   map[events.Member]*Member // who has a living lease
	queue   []*candidate              // the first one holds the lease
	cut     map[link]bool
	changed chan struct{} // closed at the next change of any of these
}

// link is one direction between two members.
type link struct{ from, to events.Member }

// New returns a host without members. A member that is cut off or killed counts as alive as long as a lease.
func New(lease time.Duration) *Host {
	return &Host{
		lease: lease, running: map[events.Member]*Member{}, alive: map[events.Member]*Member{},
		cut: map[link]bool{}, changed: make(chan struct{}),
		deliver: func(events.Member, events.Member, []byte) Delivery { return Delivery{} },
	}
}

// Late makes a member that lost the lease believe for some more time that it holds it, like one
// that was frozen. Meanwhile another one may hold it, too.
func (h *Host) Late(d time.Duration) { h.change(func() { h.late = d }) }

// Deliver sets what becomes of questions. The function must not call the host or a member.
func (h *Host) Deliver(f func(from, to events.Member, question []byte) Delivery) {
	h.change(func() { h.deliver = f })
}

// Start starts a member. One that runs under this name is killed.
func (h *Host) Start(name events.Member) *Member {
	h.Kill(name)
	m := &Member{host: h, name: name}
	m.ctx, m.die = context.WithCancel(context.Background())
	h.change(func() {
		h.running[name] = m
		h.join(m)
	})
	return m
}

// Kill ends a member as a power cut does. Its lease lives on until it expires.
func (h *Host) Kill(name events.Member) {
	h.change(func() {
		if m := h.running[name]; m != nil {
			m.die()
			delete(h.running, name)
			h.expireLater(m)
		}
	})
}

// Cut separates a member from what says who is alive: it sees what it saw last, and its lease
// expires.
func (h *Host) Cut(name events.Member) {
	h.change(func() {
		if m := h.running[name]; m != nil && !m.cutOff {
			m.seen, m.cutOff = h.seen(m), true
			h.expireLater(m)
		}
	})
}

// Heal ends what Cut did.
func (h *Host) Heal(name events.Member) {
	h.change(func() {
		if m := h.running[name]; m != nil && m.cutOff {
			m.cutOff = false
			h.join(m)
		}
	})
}

// Expire ends the lease of a member at once, as if it had been frozen. If it runs and is not cut
// off, it returns as soon as it has noticed (Late).
func (h *Host) Expire(name events.Member) {
	h.change(func() {
		if m := h.alive[name]; m != nil {
			h.expire(m)
		}
	})
}

// CutLink loses what one member sends to another one: questions, and answers to the other's.
func (h *Host) CutLink(from, to events.Member) { h.change(func() { h.cut[link{from, to}] = true }) }

// HealLink ends what CutLink did.
func (h *Host) HealLink(from, to events.Member) { h.change(func() { delete(h.cut, link{from, to}) }) }

// Holder is who holds the lease; empty: nobody. A member that lost it may still believe in it.
func (h *Host) Holder() events.Member {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		return ""
	}
	return h.queue[0].member.name
}

// change changes the host, makes who is first in the queue the holder, and wakes who waits.
func (h *Host) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	if len(h.queue) > 0 && !h.queue[0].member.cutOff { // Otherwise it does not hear of it.
		h.queue[0].win()
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// join gives a member a lease, or keeps the one it has alive. Call it with the lock.
func (h *Host) join(m *Member) {
	if m.expiry != nil {
		m.expiry.Stop()
		m.expiry = nil
	}
	h.alive[m.name] = m
}

// expireLater ends a member's lease unless it joins before. Call it with the lock.
func (h *Host) expireLater(m *Member) {
	if m.expiry != nil || h.alive[m.name] != m {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(h.lease, func() {
		h.change(func() {
			if m.expiry == timer {
				m.expiry = nil
				h.expire(m)
			}
		})
	})
	m.expiry = timer
}

// expire ends a member's lease and its candidacies. Call it with the lock.
func (h *Host) expire(m *Member) {
	if h.alive[m.name] == m {
		delete(h.alive, m.name)
	}
	h.queue = slices.DeleteFunc(h.queue, func(c *candidate) bool {
		if c.member != m {
			return false
		}
		if h.late == 0 {
			c.end()
		} else {
			time.AfterFunc(h.late, c.end)
		}
		return true
	})
	back := func() {
		if h.running[m.name] == m && !m.cutOff {
			h.join(m)
		}
	}
	if h.late == 0 {
		back()
	} else {
		time.AfterFunc(h.late, func() { h.change(back) })
	}
}

// seen is whom a member sees. Call it with the lock.
func (h *Host) seen(m *Member) []events.Member {
	if m.cutOff {
		return slices.Clone(m.seen)
	}
	all := []events.Member{m.name}
	for name := range h.alive {
		if name != m.name {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// candidate is one campaign of a member.
type candidate struct {
	member *Member
	won    chan struct{} // closed once it holds the lease
	held   context.Context
	end    context.CancelFunc // ends held
}

func (c *candidate) win() {
	select {
	case <-c.won:
	default:
		close(c.won)
	}
}

// checkSize refuses what no member would send.
func checkSize(what string, b []byte) error {
	if len(b) > Largest {
		return fmt.Errorf("%s has %d bytes, and at most %d are sent", what, len(b), Largest)
	}
	return nil
}
