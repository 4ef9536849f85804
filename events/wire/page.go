package wire

import (
	"context"
	"errors"
	"iter"

	"github.com/hostnode/hostnode/events"
)

// page is a part of the store that is in memory while its client takes it. The
// store's iterator is closed by then, so that a slow client holds nothing of
// the store.
type page struct {
	all   []events.Recorded
	bytes int64 // In memory, with what is encoded of large events.
	ended bool  // There is nothing after it, as far as the store knew.
}

// weight is the memory that an event holds until it is sent. Of a large one
// there is a second copy, encoded for the client.
func weight(r *events.Recorded) int64 {
	bytes := int64(len(r.Data) + len(r.Foreign) + eventOverhead)
	if bytes > largeAnswer {
		return 2*bytes + int64(len(r.Foreign)) // Foreign metadata is copied once more.
	}
	return bytes
}

// largestEvent is the memory that the largest event of a store holds while it is
// read: there is also what the store read it from.
const largestEvent = 3 * (events.MaxEventBytes + largeAnswer)

// fill reads the next page once there is memory for it. Until the size of the
// page is known, memory for the largest is reserved.
func (c *reader) fill(ctx context.Context, limit int, from iter.Seq2[events.Recorded, error]) error {
	if err := c.out.flush(ctx); err != nil {
		return err
	}
	clear(c.page.all)
	c.keep(0)
	granted, err := c.s.leaving.take(ctx, int64(c.s.cfg.Limits.SubscriptionBytes)+largestEvent)
	if err != nil {
		return err
	}
	c.held = granted
	err = c.s.fill(&c.page, limit, from)
	c.keep(c.page.bytes)
	return err
}

// linkRoom reserves memory for an event that a link names, in addition to the
// page with the link; back returns what is left of it.
func (c *reader) linkRoom(ctx context.Context) (back func(), err error) {
	page := c.held
	if err := c.out.flush(ctx); err != nil {
		return nil, err
	}
	granted, err := c.s.leaving.take(ctx, largestEvent)
	c.held += granted
	return func() { c.keep(page) }, err
}

// keep returns the memory that the reader holds beyond this many bytes.
func (c *reader) keep(bytes int64) {
	if c.held > bytes {
		c.s.leaving.give(c.held - bytes)
		c.held = bytes
	}
}

// release releases the page once all large events of it are being sent.
func (c *reader) release(ctx context.Context) error {
	err := c.out.flush(ctx)
	c.put()
	return err
}

// put lets go of the page.
func (c *reader) put() {
	c.page = page{}
	c.keep(0)
}

// deliver sends an event. The memory of a large one is taken over by the answer.
func (c *reader) deliver(at events.Position, event, link *events.Recorded) error {
	m := c.answer(at, event, link)
	if len(m) <= largeAnswer {
		return c.out.send(c.ss, m)
	}
	bytes := min(2*int64(len(m)), c.held)
	c.held -= bytes
	return c.out.sendLarge(c.ss, m, c.s.leaving, bytes)
}

// fill reads at most limit events from the store, and at most the bytes that
// the limits allow.
func (s *Server) fill(p *page, limit int, from iter.Seq2[events.Recorded, error]) error {
	p.all, p.ended, p.bytes = p.all[:0], false, 0
	for r, err := range from {
		if err != nil {
			return err
		}
		p.all = append(p.all, r)
		p.bytes += weight(&r)
		if p.bytes >= int64(s.cfg.Limits.SubscriptionBytes) {
			return nil
		}
	}
	p.ended = len(p.all) < limit
	return nil
}

// size is how many events the next page has if remaining are wanted.
func (s *Server) size(remaining uint64) int {
	return int(min(remaining, uint64(s.cfg.Limits.SubscriptionEvents)))
}

// revisionIn is an event's revision in the stream that was read: a virtual
// stream numbers its links.
func revisionIn(r *events.Recorded) uint64 {
	if r.Link != nil {
		return r.Link.Revision
	}
	return r.Revision
}

// lastRevision is that of the last event of a stream that can be read; false
// when there is none.
func (s *Server) lastRevision(ctx context.Context, stream string) (uint64, bool, error) {
	r, found, err := events.Last(ctx, s.cfg.Store, stream)
	return revisionIn(&r), found, err
}

// lastWritten is lastRevision for a stream that exists, even when its metadata
// hides all of it.
func (s *Server) lastWritten(ctx context.Context, stream string) (uint64, bool, error) {
	last, exists, err := s.lastRevision(ctx, stream)
	if err != nil || exists || events.IsVirtual(stream) {
		return last, exists, err
	}
	// An append without events changes nothing, and returns the last revision.
	_, err = s.cfg.Store.Append(ctx, stream, events.NoStream(), nil)
	if wrong, ok := errors.AsType[*events.WrongRevisionError](err); ok {
		return wrong.Actual, wrong.Exists, nil
	}
	return 0, false, nil
}
