package embedded

import (
	"context"
	"sync/atomic"

	"github.com/hostnode/hostnode/events"
)

// request is one append or deletion that the committer is to do.
type request struct {
	stream   string
	expected events.Expected
	change   change
	events   []newEvent // none when something is deleted
	bytes    int        // about what it adds to the batch

	state  atomic.Int32
	done   chan struct{} // closed when result and err are set
	result events.AppendResult
	err    error
	wrote  int // events, those of the store itself included
}

// change is what a request wants.
type change uint8

const (
	changeAppend change = iota
	changeDelete
	changeTombstone
)

// newEvent is an event that has no place yet.
type newEvent struct {
	id     events.EventID
	record []byte
	// virtual are the virtual streams that it belongs to if it is the first of
	// its stream.
	virtual   []string
	tombstone bool
	sets      *setting // nil for all but metadata events
}

// setting is metadata for a stream.
type setting struct {
	of   string
	meta events.StreamMetadata
}

// entryBytes is what the key and value of an index entry have in addition to the name.
const entryBytes = 2 + 2*numberBytes + idBytes

// virtualOf are the virtual streams that an event belongs to if it is the first
// of its stream.
func virtualOf(stream string, e *events.NewEvent) []string {
	return events.VirtualOf(&events.Recorded{
		Stream: stream, Type: e.Type, Data: e.Data, Meta: e.Meta, Foreign: e.Foreign,
	})
}

// alike reports whether two events of a stream must belong to the same virtual
// streams, without reading their contents.
func alike(a, b *events.NewEvent) bool {
	return a.Type == b.Type && a.Meta.Correlation == b.Meta.Correlation && a.Foreign == nil && b.Foreign == nil &&
		!events.IsSystem(a.Type)
}

// prepare encodes an event. Adjacent events that are alike share their list of
// virtual streams.
func prepare(stream string, e events.NewEvent, virtual []string) newEvent {
	n := newEvent{
		id: e.ID, record: encodeRecord(stream, e), virtual: virtual, tombstone: e.Type == events.TypeTombstone,
	}
	if of, meta, ok := metadataEvent(stream, e.Type, e.Data); ok {
		n.sets = &setting{of, meta}
	}
	return n
}

func newRequest(stream string, expected events.Expected, batch []events.NewEvent) *request {
	r := &request{
		stream: stream, expected: expected, done: make(chan struct{}), events: make([]newEvent, len(batch)),
	}
	var virtual []string
	for i, e := range batch {
		if i == 0 || !alike(&e, &batch[i-1]) {
			virtual = virtualOf(stream, &e)
		}
		r.events[i] = prepare(stream, e, virtual)
		r.bytes += len(r.events[i].record) + len(stream) + entryBytes
		for _, name := range virtual {
			r.bytes += len(name) + entryBytes
		}
	}
	return r
}

// Who has a request. A caller that gives up before the committer begins takes
// it back, so that nothing is written after the caller has left.
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
	return s.do(ctx, newRequest(stream, expected, batch))
}

// Delete implements events.Store.
func (s *Store) Delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (events.Position, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	if err := events.CheckAppend(stream, nil); err != nil {
		return 0, err
	}
	r := newRequest(stream, expected, nil)
	r.change = changeDelete
	if forever {
		r.change = changeTombstone
	}
	result, err := s.do(ctx, r)
	return result.Position, err
}

// do gives the committer a request and waits for the answer.
func (s *Store) do(ctx context.Context, r *request) (events.AppendResult, error) {
	if err := s.hand(ctx, r); err != nil {
		return events.AppendResult{}, err
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
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
