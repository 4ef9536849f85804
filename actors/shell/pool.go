package shell

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Pool bounds how many calls of one kind run at once. Waiting calls are served earliest
// deadline first, then in the order of arrival; calls without a deadline come last.
type Pool struct {
	Name string

	mu      sync.Mutex
	free    int
	Size    int
	ticket  uint64
	waiters []*waiter
}

type waiter struct {
	deadline time.Time
	ticket   uint64
	ready    chan struct{}
}

// NewPool returns a pool with size places; the name is for the status.
func NewPool(name string, size int) *Pool {
	return &Pool{Name: name, free: size, Size: size}
}

// Enter waits for a place. The caller must call leave once.
func (p *Pool) Enter(ctx context.Context, deadline time.Time) (leave func(), err error) {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return p.leave, nil
	}
	p.ticket++
	w := &waiter{deadline, p.ticket, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(p.waiters, w, order)
	p.waiters = slices.Insert(p.waiters, at, w)
	p.mu.Unlock()
	select {
	case <-w.ready:
		return p.leave, nil
	case <-ctx.Done():
		p.giveUp(w)
		return nil, ctx.Err()
	}
}

func order(a, b *waiter) int {
	if a.deadline.IsZero() != b.deadline.IsZero() {
		return b.deadline.Compare(a.deadline) // The zero time is before all others.
	}
	return cmp.Or(a.deadline.Compare(b.deadline), cmp.Compare(a.ticket, b.ticket))
}

func (p *Pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters) == 0 {
		p.free++
		return
	}
	next := p.waiters[0]
	p.waiters = p.waiters[1:]
	close(next.ready)
}

// giveUp removes a waiter. If it got a place at the same time, the place is passed on.
func (p *Pool) giveUp(w *waiter) {
	p.mu.Lock()
	at := slices.Index(p.waiters, w)
	if at >= 0 {
		p.waiters = slices.Delete(p.waiters, at, at+1)
	}
	p.mu.Unlock()
	if at < 0 {
		p.leave()
	}
}

// Busy is how many calls run and how many wait.
func (p *Pool) Busy() (running, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Size - p.free, len(p.waiters)
}
