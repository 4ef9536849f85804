package wire

import (
	"context"
	"errors"
	"iter"

	"github.com/hostnode/hostnode/events"
)

// page is a piece of the store that is in memory while its client takes it. The
// store's own iterator is closed by then, so that a slow client holds on to
// nothing in the store.
type page struct {
	all   []events.Recorded
	ended bool // There is nothing after it, as far as the store knew.
}

// fill takes from the store at most limit events, and not more than the limits
// of the server.
func (s *Server) fill(p *page, limit int, from iter.Seq2[events.Recorded, error]) error {
	p.all, p.ended = p.all[:0], false
	bytes := 0
	for r, err := range from {
		if err != nil {
			return err
		}
		p.all = append(p.all, r)
		bytes += len(r.Data) + len(r.Foreign) + eventOverhead
		if bytes >= s.cfg.Limits.SubscriptionBytes {
			return nil
		}
	}
	p.ended = len(p.all) < limit
	return nil
}

// size is how many events the next page has, when remaining are wanted.
func (s *Server) size(remaining uint64) int {
	return int(min(remaining, uint64(s.cfg.Limits.SubscriptionEvents)))
}

// revisionIn is where an event stands in the stream that was read: a virtual
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
	last := events.ReadStream{From: events.End, Backward: true, Limit: 1}
	for r, err := range s.cfg.Store.ReadStream(ctx, stream, last) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		return revisionIn(&r), true, nil
	}
	return 0, false, nil
}
