package clusterfake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Member is one member of a Host, from a start until it is killed. It implements port.Cluster.
type Member struct {
	host *Host
	name events.Member
	ctx  context.Context // ends when it is killed
	die  context.CancelFunc

	// With the host's lock.
	cutOff bool
	seen   []events.Member // while it is cut off
	expiry *time.Timer     // ends its lease
	answer func(context.Context, events.Member, []byte) ([]byte, error)
}

// Member implements port.Cluster.
func (m *Member) Member() events.Member { return m.name }

// Campaign implements port.Cluster.
func (m *Member) Campaign(ctx context.Context) (context.Context, error) {
	for {
		c, changed := m.enter()
		if c == nil { // It has no lease itself.
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		select {
		case <-c.won:
			return c.held, nil
		case <-c.held.Done(): // It lost the lease while it waited.
		case <-ctx.Done():
			m.host.change(func() { m.leave(c) })
			return nil, ctx.Err()
		}
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// enter puts a candidate into the queue, if the member has a living lease and can say so.
func (m *Member) enter() (c *candidate, changed chan struct{}) {
	m.host.change(func() {
		if m.host.alive[m.name] == m && !m.cutOff && m.ctx.Err() == nil {
			c = &candidate{member: m, won: make(chan struct{})}
			c.held, c.end = context.WithCancel(m.ctx)
			m.host.queue = append(m.host.queue, c)
		}
	})
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	return c, m.host.changed
}

// leave takes a candidate out of the queue. Call it with the host's lock.
func (m *Member) leave(c *candidate) {
	c.end()
	m.host.queue = slices.DeleteFunc(m.host.queue, func(other *candidate) bool { return other == c })
}

// Resign implements port.Cluster.
func (m *Member) Resign(context.Context) (err error) {
	m.host.change(func() {
		held := m.host.queue
		if len(held) == 0 || held[0].member != m {
			return
		}
		if !m.cutOff {
			m.leave(held[0])
			return
		}
		c := held[0]
		c.end()
		err = errCutOff // The lease expires.
		time.AfterFunc(m.host.lease, func() { m.host.change(func() { m.leave(c) }) })
	})
	return err
}

// Seen implements port.Cluster.
func (m *Member) Seen() []events.Member {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	return m.host.seen(m)
}

// LeaseAway says that the member is cut off; the fake does not remember since when.
func (m *Member) LeaseAway() (since time.Time, reason error) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	if m.cutOff {
		reason = errCutOff
	}
	return since, reason
}

// Serve implements port.Cluster.
func (m *Member) Serve(answer func(context.Context, events.Member, []byte) ([]byte, error)) {
	m.host.change(func() { m.answer = answer })
}

// answered is what came of a question.
type answered struct {
	answer []byte
	err    error
}

// Call implements port.Cluster.
func (m *Member) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	if err := checkSize("the question", question); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	h := m.host
	h.mu.Lock()
	other, known := h.running[to], slices.Contains(h.seen(m), to)
	var d Delivery
	if to != m.name {
		d = h.deliver(m.name, to, question)
	}
	h.mu.Unlock()
	if other == nil || !known || m.ctx.Err() != nil {
		return nil, fmt.Errorf("ask %s: %w", to, events.ErrMemberAway)
	}
	done := make(chan answered, 2)
	go other.hear(ctx, m.name, slices.Clone(question), d, done)
	select {
	case a := <-done:
		if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) { // It came when the caller had given up.
			return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, context.DeadlineExceeded)
		}
		return a.answer, a.err
	case <-other.ctx.Done():
		return nil, fmt.Errorf("ask %s: %w", to, events.ErrMemberAway)
	case <-ctx.Done():
		return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, ctx.Err())
	}
}

// hear works at a question. Of the asker's context it knows the deadline only.
func (m *Member) hear(asker context.Context, from events.Member, question []byte, d Delivery, done chan<- answered) {
	deadline, _ := asker.Deadline()
	if d.Delay > 0 {
		time.Sleep(d.Delay)
	}
	if d.Lost || m.lost(from, m.name) {
		return
	}
	ctx, cancel := context.WithDeadline(m.ctx, deadline)
	defer cancel()
	tell := func(a answered) {
		if m.ctx.Err() == nil && !d.AnswerLost && !m.lost(m.name, from) {
			done <- a
		}
	}
	m.host.mu.Lock()
	handler := m.answer
	m.host.mu.Unlock()
	if handler == nil {
		tell(answered{err: fmt.Errorf("ask %s: %w: it does not answer questions yet", m.name, events.ErrMemberAway)})
		return
	}
	if d.Twice {
		go func() { _, _ = handler(ctx, from, slices.Clone(question)) }()
	}
	answer, err := handler(ctx, from, question)
	if err == nil {
		err = checkSize("the answer", answer)
	}
	if err != nil {
		tell(answered{err: &events.MemberError{Member: m.name, Text: err.Error()}})
		return
	}
	tell(answered{answer: slices.Clone(answer)})
}

// lost reports whether what one member sends to another is lost.
func (m *Member) lost(from, to events.Member) bool {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	return from != to && m.host.cut[link{from, to}]
}
