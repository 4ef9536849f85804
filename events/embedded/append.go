package embedded

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hostnode/hostnode/events"
)

// MaxAppendBytes is the most bytes of one append, all events together.
const MaxAppendBytes = 64 << 20

// request is one append on its way through the committer.
type request struct {
	stream   string
	expected events.Expected
	ids      []events.EventID
	records  [][]byte // encoded, without their place
	bytes    int

	state  atomic.Int32
	done   chan struct{} // closed when result and err are set
	result events.AppendResult
	err    error
}

// Who has a request: a caller that gives up in time takes it back, so that
// nothing is written behind its back.
const (
	requestWaiting = iota
	requestTaken
	requestAbandoned
)

// take claims a request for the committer.
func (r *request) take() bool { return r.state.CompareAndSwap(requestWaiting, requestTaken) }

// abandon claims a request for its caller.
func (r *request) abandon() bool { return r.state.CompareAndSwap(requestWaiting, requestAbandoned) }

func (r *request) answer(err error) {
	if err != nil {
		r.result, r.err = events.AppendResult{}, err
	}
	close(r.done)
}

func newRequest(
	stream string, expected events.Expected, batch []events.NewEvent,
) (*request, error) {
	r := &request{
		stream: stream, expected: expected, done: make(chan struct{}),
		ids: make([]events.EventID, len(batch)), records: make([][]byte, len(batch)),
	}
	for i, e := range batch {
		r.ids[i], r.records[i] = e.ID, encodeRecord(stream, e)
		r.bytes += len(r.records[i])
		if r.bytes > MaxAppendBytes {
			return nil, fmt.Errorf("%w: append of %d events to %s, the limit is %d bytes",
				events.ErrTooLarge, len(batch), stream, MaxAppendBytes)
		}
	}
	return r, nil
}

// Append implements events.Store. When ctx ends before the committer has taken
// the request, nothing is written; when it ends later, the outcome is unknown
// and the append is to be repeated with the same ids and expectation.
func (s *Store) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if err := s.usable(ctx); err != nil {
		return events.AppendResult{}, err
	}
	if err := events.CheckAppend(stream, batch); err != nil {
		return events.AppendResult{}, err
	}
	r, err := newRequest(stream, expected, batch)
	if err != nil {
		return events.AppendResult{}, err
	}
	if err := s.hand(ctx, r); err != nil {
		return events.AppendResult{}, err
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		r.abandon()
		return events.AppendResult{}, ctx.Err()
	}
}

// hand gives a request to the committer.
func (s *Store) hand(ctx context.Context, r *request) error {
	s.accept.RLock()
	defer s.accept.RUnlock()
	if s.closed {
		return events.ErrClosed
	}
	if err := s.failed(); err != nil {
		return err
	}
	select {
	case s.requests <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
