package wire

import (
	"context"
	"errors"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
)

// Read sends the events of a stream or of the log, or subscribes to it.
func (v *streamsService) Read(req *streams.ReadReq, ss streams.Streams_ReadServer) error {
	s := v.s
	r, err := newReading(req)
	if err == nil {
		err = s.allow(ss.Context(), toRead, r.stream)
	}
	if err != nil {
		intakeOf(ss.Context()).settle()
		return err
	}
	c := &reader{s: s, reading: r, ss: ss, sight: s.sightOf(ss.Context())}
	run, end := c.readStream, ending{}
	switch {
	case r.follow:
		end = ending{s.closing, errShutdown}
		if run = c.followStream; r.stream == allStream {
			run = c.followLog
		}
	case r.stream == allStream:
		run = c.readLog
	}
	return s.supervise(ss.Context(), &c.out, end, func(ctx context.Context) error {
		defer c.put()
		err := run(ctx)
		if err == nil {
			err = c.out.flush(ctx) // A client that takes nothing can be noticed only while the call runs.
		}
		return refuse(err, r.stream)
	})
}

// reader serves one Read.
type reader struct {
	*reading
	s     *Server
	ss    streams.Streams_ReadServer
	out   outlet
	page  page
	held  int64 // Of the memory for answers, by the page.
	sight *sight

	scratch []byte           // For a part of an answer.
	prefix  [prefixRoom]byte // Room before one.
}

// readStream sends a part of a stream.
func (c *reader) readStream(ctx context.Context) error {
	q := events.ReadStream{From: c.at, Backward: c.backward}
	remaining, begun := c.count, false
	for remaining > 0 {
		q.Limit = c.s.size(remaining)
		err := c.fill(ctx, q.Limit, c.s.cfg.Store.ReadStream(ctx, c.stream, q))
		if errors.Is(err, events.ErrStreamNotFound) && !begun {
			return c.notFound()
		}
		if err != nil && !errors.Is(err, events.ErrStreamNotFound) {
			return err
		}
		if !begun {
			if err := c.sendFirst(ctx, q.From); err != nil {
				return err
			}
		}
		if err := c.sendPage(ctx); err != nil {
			return err
		}
		begun = true
		remaining -= uint64(len(c.page.all))
		if c.page.ended || err != nil {
			break
		}
		last := revisionIn(&c.page.all[len(c.page.all)-1])
		if c.backward && last == 0 {
			break
		}
		if q.From = last + 1; c.backward {
			q.From = last - 1
		}
	}
	return c.sendLast(ctx)
}

// sendPage sends the events of the page that the caller may see.
func (c *reader) sendPage(ctx context.Context) error {
	c.sight.forget()
	for i := range c.page.all {
		r := &c.page.all[i]
		if r.Link != nil {
			sees, err := c.seesLinked(ctx, r)
			if err != nil {
				return err
			}
			if !sees {
				continue
			}
		}
		if err := c.sendEvent(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// sendEvent sends an event, or the link that stands for it.
func (c *reader) sendEvent(ctx context.Context, r *events.Recorded) error {
	event, link := r, (*events.Recorded)(nil)
	switch {
	case r.Link != nil:
		stored := linkTo(*r)
		switch {
		case !c.resolve:
			event = &stored
		case r.Gone():
			event, link = nil, &stored
		default:
			link = &stored
		}
	case r.Type == events.TypeLink && c.resolve:
		back, err := c.linkRoom(ctx)
		if err != nil {
			return err
		}
		defer back()
		link = r
		if event, err = c.s.linked(ctx, r.Data); err != nil {
			return err
		}
	}
	if err := c.deliver(r.Position, event, link); err != nil {
		return err
	}
	c.s.stats.eventsSent.Add(1)
	return nil
}

// notFound answers that there is no such stream.
func (c *reader) notFound() error {
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
		StreamNotFound: &streams.ReadResp_StreamNotFound{StreamIdentifier: streamID(c.stream)},
	}})
}

// sendFirst tells a client that knows such messages where the stream begins, if
// that is not where it reads from.
func (c *reader) sendFirst(ctx context.Context, from uint64) error {
	if !c.edges || c.backward {
		return nil
	}
	first := from
	if len(c.page.all) > 0 {
		first = revisionIn(&c.page.all[0])
	} else if last, exists, err := c.s.lastWritten(ctx, c.stream); err != nil {
		return err
	} else if exists {
		first = last + 1
	}
	if first == from {
		return nil
	}
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_FirstStreamPosition{
		FirstStreamPosition: first,
	}})
}

// sendLast tells such a client where the stream ends.
func (c *reader) sendLast(ctx context.Context) error {
	if !c.edges {
		return nil
	}
	last, exists, err := c.s.lastWritten(ctx, c.stream)
	if err != nil || !exists {
		return err
	}
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_LastStreamPosition{
		LastStreamPosition: last,
	}})
}

// confirm tells the client that the subscription has begun.
func (c *reader) confirm(id string) error {
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: id},
	}})
}
