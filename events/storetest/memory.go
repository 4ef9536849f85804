package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Memory is the Store that keeps everything in memory: for tests, simulations
// and trials. It does all that Store demands (storetest checks it), except that
// nothing outlives the process. It starts no goroutine and waits only on
// mutexes and channels, so that it works inside a testing/synctest bubble.
type Memory struct {
	// Clock gives the time of Recorded. It is time.Now unless set before the
	// first append.
	Clock func() time.Time

	mu      sync.Mutex
	all     []events.Recorded // by position-1; never changed once written
	streams map[string]*memoryStream
	// changed is closed and replaced by each append; Close closes it.
	changed chan struct{}
	closed  bool
}

// memoryStream is the index of one stream, virtual ones included.
type memoryStream struct {
	positions []events.Position         // by revision
	revisions map[events.EventID]uint64 // the last revision that was written with this id
	meta      events.StreamMetadata
	hasMeta   bool
	ended     bool // a tombstone is its last event
}

var _ events.Store = (*Memory)(nil)

// NewMemory is an empty store.
func NewMemory() *Memory {
	return &Memory{
		Clock:   time.Now,
		streams: map[string]*memoryStream{},
		changed: make(chan struct{}),
	}
}

// Append implements Store. It is durable at once, as far as memory can be.
func (m *Memory) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if err := ctx.Err(); err != nil {
		return events.AppendResult{}, err
	}
	if err := events.CheckAppend(stream, batch); err != nil {
		return events.AppendResult{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return events.AppendResult{}, events.ErrClosed
	}
	s := m.stream(stream)
	repeated, err := m.decide(s, stream, expected, batch)
	if err != nil || repeated != nil {
		return *cmp.Or(repeated, &events.AppendResult{}), err
	}
	return m.write(s, stream, batch), nil
}

// stream returns the index of a stream; that of an unknown stream is new, and not kept.
func (m *Memory) stream(name string) *memoryStream {
	if s := m.streams[name]; s != nil {
		return s
	}
	return &memoryStream{revisions: map[events.EventID]uint64{}}
}

// decide applies the rules of Store.Append. It returns a result when the append
// is a repeat.
func (m *Memory) decide(
	s *memoryStream, stream string, expected events.Expected, batch []events.NewEvent,
) (*events.AppendResult, error) {
	count := uint64(len(s.positions))
	n, exact := expected.Count()
	if s.ended || m.endedWith(s, stream) || expected.IsExists() && s.meta.Deleted() {
		return nil, fmt.Errorf("append to %s: %w", stream, events.ErrStreamDeleted)
	}
	wrong := &events.WrongRevisionError{Stream: stream, Expected: expected, Exists: count > 0, Actual: max(count, 1) - 1}
	switch {
	case expected.IsExists() && count == 0 && !s.hasMeta, exact && n > count:
		return nil, wrong
	case exact && n == count, !exact && len(batch) == 0:
		return nil, nil
	}
	var last uint64
	var known int
	if exact {
		last, known = m.same(s, n, batch)
	} else {
		last, known = s.known(batch)
	}
	switch {
	case known == len(batch) && known > 0:
		return m.repeated(s, last), nil
	case known == 0 && !exact, known == 0 && len(batch) > 0 && n == 0 && s.meta.Deleted():
		return nil, nil
	}
	return nil, wrong
}

// endedWith reports whether a stream holds metadata whose stream was tombstoned
// before it had any.
func (m *Memory) endedWith(s *memoryStream, stream string) bool {
	of, ok := events.MetadataOf(stream)
	return ok && len(s.positions) == 0 && m.stream(of).ended
}

// known counts the leading ids of a batch that the stream has, and returns the
// revision of the last of them.
func (s *memoryStream) known(batch []events.NewEvent) (revision uint64, known int) {
	for _, e := range batch {
		r, ok := s.revisions[e.ID]
		if !ok {
			break
		}
		revision = r
		known++
	}
	return revision, known
}

// same counts the leading ids of a batch that the stream has from a revision on,
// and returns the revision of the last of them.
func (m *Memory) same(s *memoryStream, from uint64, batch []events.NewEvent) (revision uint64, known int) {
	for _, e := range batch {
		at := from + uint64(known)
		if at >= uint64(len(s.positions)) || m.all[s.positions[at]-1].ID != e.ID {
			break
		}
		revision = at
		known++
	}
	return revision, known
}

func (m *Memory) repeated(s *memoryStream, revision uint64) *events.AppendResult {
	r := &events.AppendResult{Revision: revision, Exists: true, Repeated: true}
	if revision >= s.meta.TruncateBefore {
		r.Position = s.positions[revision]
	}
	return r
}

// write appends the batch and wakes the subscribers. The lock is held.
func (m *Memory) write(s *memoryStream, stream string, batch []events.NewEvent) events.AppendResult {
	now := m.Clock()
	revived, deleted := stream, s.meta.Deleted()
	if of, ok := events.MetadataOf(stream); ok && !deleted {
		revived, deleted = of, m.stream(of).meta.Deleted()
	}
	before := uint64(len(m.stream(revived).positions))
	for _, e := range batch {
		m.add(stream, e, now)
	}
	count := uint64(len(m.stream(stream).positions))
	r := events.AppendResult{Revision: max(count, 1) - 1, Exists: count > 0}
	if len(batch) > 0 {
		r.Position = events.Position(len(m.all))
	}
	if deleted { // Now it can be read again; the events before stay hidden.
		meta := m.stream(revived).meta
		meta.TruncateBefore = before
		m.add(events.MetadataStream(revived), metadataEvent(revived, meta, len(m.all)), now)
	}
	m.wake()
	return r
}

// metadataEvent is metadata that the store sets itself; cause determines its id.
func metadataEvent(stream string, meta events.StreamMetadata, cause int) events.NewEvent {
	return events.NewEvent{
		ID:   events.NewEventID(events.MetadataStream(stream), "store", cause),
		Type: events.TypeMetadata, Data: meta.Marshal(),
	}
}

func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// add writes one event, its effect on the streams, and the links of the virtual
// streams.
func (m *Memory) add(stream string, e events.NewEvent, now time.Time) {
	position := events.Position(len(m.all) + 1)
	s := m.link(stream, e.ID, position)
	m.all = append(m.all, events.Recorded{
		ID: e.ID, Stream: stream, Revision: uint64(len(s.positions)) - 1, Position: position, Type: e.Type,
		Data: bytes.Clone(e.Data), Meta: e.Meta, Foreign: bytes.Clone(e.Foreign), Binary: e.Binary, Recorded: now,
	})
	if of, ok := events.MetadataOf(stream); ok && e.Type == events.TypeMetadata {
		target := m.stream(of)
		m.streams[of] = target
		// CheckAppend has parsed it before.
		target.meta, _ = events.ParseStreamMetadata(e.Data)
		target.hasMeta = true
	}
	s.ended = e.Type == events.TypeTombstone
	for _, virtual := range events.VirtualOf(&m.all[position-1]) {
		m.link(virtual, e.ID, position)
	}
}

func (m *Memory) link(stream string, id events.EventID, position events.Position) *memoryStream {
	s := m.stream(stream)
	m.streams[stream] = s
	s.positions = append(s.positions, position)
	s.revisions[id] = uint64(len(s.positions)) - 1
	return s
}

// Delete implements Store.
func (m *Memory) Delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (events.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := events.CheckAppend(stream, nil); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, events.ErrClosed
	}
	s := m.stream(stream)
	// It is judged like the append of one new event.
	if _, err := m.decide(s, stream, expected, make([]events.NewEvent, 1)); err != nil {
		return 0, err
	}
	switch {
	case forever:
		m.add(stream, events.NewEvent{
			ID: events.NewEventID(stream, "tombstone", len(s.positions)), Type: events.TypeTombstone, Data: []byte("{}"),
		}, m.Clock())
	case len(s.positions) == 0 && !s.hasMeta:
		return 0, &events.WrongRevisionError{Stream: stream, Expected: expected}
	default:
		m.add(events.MetadataStream(stream), metadataEvent(stream, s.meta.DeletedMetadata(), len(m.all)), m.Clock())
	}
	m.wake()
	return events.Position(len(m.all)), nil
}

// usable returns why a call must end: the context's error, or ErrClosed.
func (m *Memory) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return events.ErrClosed
	}
	return nil
}

// Head implements Store.
func (m *Memory) Head(ctx context.Context) (events.Position, error) {
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	head, _ := m.head()
	return head, nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.changed)
	}
	return nil
}
