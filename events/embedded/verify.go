package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// maxFindings is how many findings Verify lists; further ones are only counted.
const maxFindings = 1000

// Finding is one thing that Verify found to be wrong.
type Finding struct {
	// Position and Through are the first and last position that a finding is
	// about; both are 0 when it is about an index entry whose position is
	// unreadable.
	Position, Through events.Position
	// Stream and Revision are set when they are known.
	Stream   string
	Revision uint64
	// Problem is the reason, in words.
	Problem string
}

func (f Finding) String() string {
	where := fmt.Sprintf("position %d", f.Position)
	if f.Through > f.Position {
		where = fmt.Sprintf("positions %d to %d", f.Position, f.Through)
	}
	if f.Stream != "" {
		where += fmt.Sprintf(", %q revision %d", f.Stream, f.Revision)
	}
	return where + ": " + f.Problem
}

// Verification is what Verify saw.
type Verification struct {
	// Events, Streams and Entries count what is readable: events, streams, and
	// entries of their indexes. Links counts the entries of the virtual streams.
	Events, Streams, Entries, Links uint64
	// Findings lists what is wrong, at most 1,000; More counts the rest.
	Findings []Finding
	More     uint64
}

// OK reports whether nothing is wrong.
func (v *Verification) OK() bool { return len(v.Findings) == 0 }

func (v *Verification) add(f Finding) {
	if n := len(v.Findings); n > 0 {
		last := &v.Findings[n-1]
		if last.Problem == f.Problem && f.Position == last.Through+1 && f.Stream == last.Stream &&
			f.Stream == "" {
			last.Through = f.Position
			return
		}
	}
	if len(v.Findings) == maxFindings {
		v.More++
		return
	}
	f.Through = max(f.Through, f.Position)
	v.Findings = append(v.Findings, f)
}

// Verify reads everything that is durable now and checks: positions without
// gaps from 1, every checksum, the index entry of every event, revisions
// without gaps from 0, no index entry without its event, the virtual streams of
// every event, and the head of every stream with its metadata and tombstone. It
// goes on after damage. The error is ErrClosed or ctx's; damage is in the
// findings. The store can be used meanwhile.
func (s *Store) Verify(ctx context.Context) (Verification, error) {
	s.reading.RLock()
	defer s.reading.RUnlock()
	v := Verification{}
	if err := s.usable(ctx); err != nil {
		return v, err
	}
	w := &walker{store: s, v: &v, ctx: ctx, seed: maphash.MakeSeed()}
	s.durable.now(func(before map[string]head) {
		w.synced = events.Position(s.synced.Load())
		w.before = maps.Clone(before)
		w.snapshot = s.db.NewSnapshot()
	})
	err := w.walk()
	return v, errors.Join(err, w.snapshot.Close())
}

// walker is one run of Verify. It reads a snapshot, which may contain a batch
// that is not durable: positions after synced do not count, and heads that the
// batch changes are replaced by those in before.
type walker struct {
	store    *Store
	ctx      context.Context
	snapshot *pebble.Snapshot
	synced   events.Position
	before   map[string]head
	v        *Verification
	seed     maphash.Seed
	links    uint64 // the links by the events without those by the indexes (hashOf)
	names    interner
}

func (w *walker) walk() error {
	for _, step := range []func() error{
		func() error { return w.walkEvents(w.checkEvent) },
		func() error { return w.walkIndex(prefixIndex) },
		func() error { return w.walkIndex(prefixVirtual) },
		func() error { return w.walkHeads(prefixIndex) },
		func() error { return w.walkHeads(prefixVirtual) },
		w.compareLinks,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if w.v.OK() && w.v.Entries != w.v.Events {
		w.v.add(Finding{Problem: fmt.Sprintf("%v: %d entries for %d events",
			errIndex, w.v.Entries, w.v.Events)})
	}
	return nil
}

// usable is checked between steps, so that a long run can be ended.
func (w *walker) usable() error { return w.store.usable(w.ctx) }

// walkEvents calls check with the record at every position. After an unreadable
// block it tries each position of the block, because it is not known where the
// block ends.
func (w *walker) walkEvents(check func(events.Position, []byte)) error {
	for position := events.Position(1); position <= w.synced; {
		next, err := w.walkEventsFrom(position, check)
		if err != nil {
			return err
		}
		position = next
	}
	return nil
}

// walkEventsFrom goes as far as one iterator does.
func (w *walker) walkEventsFrom(
	position events.Position, check func(events.Position, []byte),
) (events.Position, error) {
	it, err := w.snapshot.NewIter(between(position, w.synced+1))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := w.usable(); err != nil {
			return 0, err
		}
		at, err := parseEventKey(it.Key())
		if err != nil {
			w.v.add(Finding{Position: position, Problem: err.Error()})
			continue
		}
		for ; position < at; position++ {
			w.v.add(Finding{Position: position, Problem: errMissing.Error()})
		}
		value, err := it.ValueAndErr()
		if err != nil {
			w.v.add(Finding{Position: at, Problem: err.Error()})
		} else {
			check(at, value)
		}
		position = at + 1
	}
	if it.Error() != nil {
		w.v.add(Finding{Position: position, Problem: "unreadable: " + it.Error().Error()})
		return position + 1, nil
	}
	for ; position <= w.synced; position++ {
		w.v.add(Finding{Position: position, Problem: errMissing.Error()})
	}
	return position, nil
}

// checkEvent checks one record and what the indexes say about it.
func (w *walker) checkEvent(position events.Position, value []byte) {
	e, err := decodeRecord(value, &w.names)
	if err == nil && e.Position != position {
		err = fmt.Errorf("%w: record says position %d", errIndex, e.Position)
	}
	if err != nil {
		w.v.add(Finding{Position: position, Problem: err.Error()})
		return
	}
	w.v.Events++
	for _, virtual := range events.VirtualOf(&e) {
		w.links += w.hashOf(virtual, position)
	}
	for _, err := range []error{w.checkEntry(&e), w.checkEnd(&e), w.checkMetadata(&e)} {
		if err != nil {
			w.v.add(Finding{
				Position: position, Stream: e.Stream, Revision: e.Revision, Problem: err.Error(),
			})
		}
	}
}

// checkEntry compares an event with its index entry.
func (w *walker) checkEntry(e *events.Recorded) error {
	key := appendName([]byte{prefixIndex}, e.Stream)
	key = binary.BigEndian.AppendUint64(key, e.Revision)
	value, closer, err := w.snapshot.Get(key)
	if err != nil {
		return fmt.Errorf("index entry: %w", err)
	}
	index, err := parseEntry(value, prefixIndex)
	if err == nil && (index.position != e.Position || index.id != e.ID) {
		err = fmt.Errorf("%w: it points to position %d, id %s", errIndex, index.position, index.id)
	}
	return errors.Join(err, closer.Close())
}

// checkEnd: a tombstone must be the last event of its stream, and the head must say that it ended.
func (w *walker) checkEnd(e *events.Recorded) error {
	if e.Type != events.TypeTombstone {
		return nil
	}
	h, err := w.head(prefixHead, e.Stream)
	if err == nil && !h.ended && h.count == e.Revision+1 {
		err = fmt.Errorf("%w: a tombstone, and the stream goes on", errHead)
	}
	return err
}

// checkMetadata: the head must have the metadata of this event, or of a later one.
func (w *walker) checkMetadata(e *events.Recorded) error {
	of, _, ok := metadataEvent(e.Stream, e.Type, e.Data)
	if !ok {
		return nil
	}
	h, err := w.head(headPrefix(of), of)
	if err == nil && h.metadata < e.Position {
		err = fmt.Errorf("%w: that of %q is at position %d", errMetadata, of, h.metadata)
	}
	return err
}
