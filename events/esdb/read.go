package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
)

// reading is a running read: how to go on with it, and how far it has come.
type reading struct {
	// open goes on with the read, for at most count events.
	open func(ctx context.Context, c *esdb.Client, count uint64) (source, error)
	// take checks an event, moves on past it, and reports whether it belongs to
	// the answer.
	take func(e *esdb.ResolvedEvent) (r events.Recorded, ok bool)
	// spare is how many events take will skip at first; nil: none.
	spare func() uint64
	// limit is how many events are still wanted; 0: all.
	limit int
	// dropped is told each time that a reading which goes on for ever has to be opened again; nil: it has an end, and
	// is not waited for longer than Config.Patience.
	dropped func(why error)

	extra uint64
}

// sourceOf makes a source of an opened read.
func sourceOf(from *esdb.ReadStream, err error) (source, error) {
	if err != nil {
		return source{}, err
	}
	return source{from.Recv, from.Close}, nil
}

// everything is the count that other clients send for no limit.
const everything = math.MaxInt64

// count is how many events to ask for.
func (r *reading) count() uint64 {
	if r.limit == 0 {
		return everything
	}
	n := uint64(r.limit) + r.extra
	if r.spare != nil {
		n += r.spare()
	}
	return n
}

// read yields the events of a reading. When the server does not answer in
// between, it waits for at most Config.Patience since the last event, and goes
// on; a reading that goes on for ever is waited for without a limit.
func (s *Store) read(ctx context.Context, start func() reading) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		r := start()
		began := time.Now()
		for {
			moved, more, err := s.readOnce(ctx, &r, began, yield)
			if !more {
				return
			}
			if err == nil {
				began = time.Now()
				continue
			}
			if ended := s.ended(ctx); ended != nil {
				yield(events.Recorded{}, ended)
				return
			}
			if moved {
				began = time.Now()
			}
			if !repeatable(err) || r.dropped == nil && time.Since(began) >= s.cfg.Patience {
				yield(events.Recorded{}, err)
				return
			}
			if r.dropped != nil {
				r.dropped(err)
			}
			s.backoff(ctx, began)
		}
	}
}

// repeatable reports whether a read or subscription may go on after an error.
func repeatable(err error) bool {
	if _, ok := errors.AsType[*errNotLeader](err); ok {
		return true
	}
	return errors.Is(err, events.ErrAway) || errors.Is(err, errNotSent)
}

// readOnce reads until the answer or the connection ends, or the consumer
// stops. moved says that there was an event. more says that the reading is not
// at its end: there is an error, or the server counted events that take
// skipped.
func (s *Store) readOnce(
	ctx context.Context, r *reading, began time.Time, yield func(events.Recorded, error) bool,
) (moved, more bool, err error) {
	ctx, cancel := s.scope(ctx)
	defer cancel()
	var h *lease
	var idle *time.Timer
	if r.dropped != nil {
		h, err = s.acquire(ctx)
	} else {
		h, err = s.acquireWithin(ctx, time.Until(began.Add(s.cfg.Patience)))
		idle = time.NewTimer(s.cfg.CallTimeout)
		defer idle.Stop()
	}
	if err != nil {
		return false, true, err
	}
	asked, answered := r.count(), uint64(0)
	in := h.feed(ctx, func(ctx context.Context, c *esdb.Client) (source, error) {
		return r.open(ctx, c, asked)
	})
	h.release() // The feed holds the session itself, and Close need not wait for our consumer.
	for {
		m, err := s.receive(ctx, h, in, idle)
		switch {
		case err != nil:
			return moved, true, err
		case m.event == nil:
			if ended := s.ended(ctx); ended != nil { // It may have ended the feed.
				return moved, true, ended
			}
			if r.dropped != nil {
				return moved, true, away(errLost)
			}
			if answered < asked {
				return moved, false, nil
			}
			// As many events came as were asked for, but take skipped some.
			if r.extra = 0; !moved {
				r.extra = asked
			}
			return moved, true, nil
		}
		answered++
		event, ok := r.take(m.event)
		if !ok {
			continue
		}
		if ended := s.ended(ctx); ended != nil {
			return moved, true, ended
		}
		moved = true
		if !yield(event, nil) || r.limit == 1 {
			return moved, false, nil
		}
		r.limit = max(r.limit-1, 0)
	}
}

// receive returns the next message of a feed, none at its end. Without idle it
// waits for ever, but not longer than the session lasts. With it, the keeper looks whether
// the node answers at all when there is no message for a while, and only then the end of the
// session matters: a node that takes no appends may go on with a read.
func (s *Store) receive(ctx context.Context, h *lease, in <-chan message, idle *time.Timer) (message, error) {
	var timeout <-chan time.Time
	lost := h.lost
	if idle != nil {
		idle.Reset(s.cfg.CallTimeout / slowShare)
		timeout, lost = idle.C, nil
	}
	for {
		select {
		case m := <-in:
			if errors.Is(m.err, events.ErrAway) || errors.Is(m.err, events.ErrDenied) {
				h.suspect()
			}
			if leader, ok := errors.AsType[*errNotLeader](m.err); ok {
				h.markLost(leader)
			}
			return m, m.err
		case <-timeout:
			h.suspect()
			if lost != nil {
				return message{}, away(fmt.Errorf("no answer within %v", s.cfg.CallTimeout))
			}
			idle.Reset(s.cfg.CallTimeout - s.cfg.CallTimeout/slowShare)
			lost = h.lost
		case <-lost:
			return message{}, h.why()
		case <-ctx.Done():
			return message{}, ctx.Err()
		}
	}
}

// acquireWithin is acquire with a limit of its own.
func (s *Store) acquireWithin(ctx context.Context, patience time.Duration) (*lease, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	return s.acquire(ctx)
}

// ReadStream implements events.Store. A virtual stream is read with its links
// resolved.
func (s *Store) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return during("read "+stream, s.read(ctx, func() reading { return streamReading(stream, q) }))
}

// during adds to an error what was being done.
func during(what string, all iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for event, err := range all {
			if err != nil {
				err = fmt.Errorf("%s: %w", what, err)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

func streamReading(stream string, q events.ReadStream) reading {
	o := esdb.ReadStreamOptions{ResolveLinkTos: events.IsVirtual(stream)}
	if q.Backward {
		o.Direction = esdb.Backwards
	}
	next, over := q.From, false
	return reading{
		limit: max(q.Limit, 0),
		open: func(ctx context.Context, c *esdb.Client, count uint64) (source, error) {
			o.From = revisionAt(next, q.Backward)
			return sourceOf(c.ReadStream(ctx, stream, o, count))
		},
		take: func(e *esdb.ResolvedEvent) (events.Recorded, bool) {
			at := e.OriginalEvent()
			if at == nil || over {
				return events.Recorded{}, false
			}
			switch {
			case !q.Backward:
				next = at.EventNumber + 1
			case at.EventNumber == 0:
				over = true // Who reads on begins at 0 again.
			default:
				next = at.EventNumber - 1
			}
			if !o.ResolveLinkTos || e.Link == nil {
				return recorded(at), true
			}
			link := &events.Link{
				Stream: e.Link.StreamID, Revision: e.Link.EventNumber,
				Target: string(e.Link.Data), Meta: events.LinkMeta{Stored: string(e.Link.UserMetadata)},
			}
			if e.Event == nil {
				return events.Unresolved(link, events.Position(e.Link.Position.Commit), e.Link.CreatedDate), true
			}
			r := recorded(e.Event)
			r.Link = link
			return r, true
		},
	}
}

// revisionAt converts a revision to the signed number that the server expects.
func revisionAt(revision uint64, backward bool) esdb.StreamPosition {
	switch {
	case revision > math.MaxInt64 && backward:
		return esdb.End{}
	case revision == 0 && !backward:
		return esdb.Start{}
	}
	return esdb.Revision(min(revision, math.MaxInt64-1))
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return s.readLog(ctx, after, limit, esdb.Forwards)
}

// ReadBack implements events.Store.
func (s *Store) ReadBack(ctx context.Context, before events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return s.readLog(ctx, before, limit, esdb.Backwards)
}

// readLog reads on from a position, or back from it.
func (s *Store) readLog(
	ctx context.Context, at events.Position, limit int, way esdb.Direction,
) iter.Seq2[events.Recorded, error] {
	return s.read(ctx, func() reading {
		at := at
		return reading{
			limit: max(limit, 0),
			open: func(ctx context.Context, c *esdb.Client, count uint64) (source, error) {
				return sourceOf(c.ReadAll(ctx, esdb.ReadAllOptions{Direction: way, From: positionAt(at, way)}, count))
			},
			// The server begins with the event at the position, which is skipped. Backwards, some
			// servers begin with the one before it.
			spare: func() uint64 {
				if _, exact := positionAt(at, way).(esdb.Position); exact {
					return 1
				}
				return 0
			},
			take: takeBeyond(&at, way),
		}
	})
}

// takeBeyond takes the events of the log that are beyond a position, and moves it to each.
func takeBeyond(at *events.Position, way esdb.Direction) func(e *esdb.ResolvedEvent) (events.Recorded, bool) {
	return func(e *esdb.ResolvedEvent) (events.Recorded, bool) {
		if e.Event == nil {
			return events.Recorded{}, false
		}
		next := events.Position(e.Event.Position.Commit)
		if next == *at || (next < *at) != (way == esdb.Backwards) {
			return events.Recorded{}, false
		}
		*at = next
		return recorded(e.Event), true
	}
}

// positionAt is the position of an event, or the start or end of the log.
func positionAt(at events.Position, way esdb.Direction) esdb.AllPosition {
	switch {
	case at == 0 && way == esdb.Forwards:
		return esdb.Start{}
	case at > math.MaxInt64 && way == esdb.Backwards:
		return esdb.End{}
	}
	n := uint64(min(at, math.MaxInt64))
	return esdb.Position{Commit: n, Prepare: n}
}

// Head implements events.Store.
func (s *Store) Head(ctx context.Context) (events.Position, error) {
	for r, err := range s.ReadBack(ctx, events.EndPosition, 1) {
		return r.Position, err
	}
	return 0, nil
}

// answers reads the last event of $all, for the keeper. Success shows that the
// node answers, lets us read, and leads, because every call demands the leader
// (session.enter).
func (l *session) answers(ctx context.Context) error {
	if !l.hold() {
		return l.why()
	}
	return l.call(ctx, func(ctx context.Context, c *esdb.Client) error {
		from, err := c.ReadAll(ctx, esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}}, 1)
		if err != nil {
			return explainRead(err)
		}
		defer from.Close()
		if _, err := from.Recv(); !errors.Is(err, io.EOF) {
			return explainRead(err)
		}
		return nil
	}, l.drop)
}

// jsonType is the content type of events whose data is JSON.
const jsonType = "application/json"

func recorded(e *esdb.RecordedEvent) events.Recorded {
	meta, foreign := events.DecodeMetadata(e.UserMetadata)
	return events.Recorded{
		ID: events.EventID(e.EventID), Stream: e.StreamID, Revision: e.EventNumber,
		Position: events.Position(e.Position.Commit), Type: e.EventType, Data: e.Data,
		Meta: meta, Foreign: foreign, Binary: e.ContentType != jsonType, Recorded: e.CreatedDate,
	}
}
