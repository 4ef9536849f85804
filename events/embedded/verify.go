package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// maxFindings is how many findings Verify lists; it counts the others.
const maxFindings = 1000

// Finding is one thing that Verify found to be wrong.
type Finding struct {
	// Position and Through are the first and last position it is about; both
	// are 0 when it is about an index whose position is not legible.
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
	// Events, Streams and Entries count what is legible: events, heads of
	// streams, entries of the index.
	Events, Streams, Entries uint64
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
// without gaps from 0, no index entry without its event, and the head of every
// stream. It goes on behind what is damaged. The error is ErrClosed or ctx's;
// damage is in the findings. Writers and readers may go on meanwhile.
func (s *Store) Verify(ctx context.Context) (Verification, error) {
	s.reading.RLock()
	defer s.reading.RUnlock()
	v := Verification{}
	if err := s.usable(ctx); err != nil {
		return v, err
	}
	w := &walker{store: s, v: &v, ctx: ctx}
	// Nothing before synced changes any more; a snapshot keeps what is written
	// meanwhile out of sight.
	w.synced = events.Position(s.synced.Load())
	w.snapshot = s.db.NewSnapshot()
	err := w.walk()
	return v, errors.Join(err, w.snapshot.Close())
}

// walker is one run of Verify.
type walker struct {
	store    *Store
	ctx      context.Context
	snapshot *pebble.Snapshot
	synced   events.Position
	v        *Verification
	names    interner
}

func (w *walker) walk() error {
	if err := w.walkEvents(); err != nil {
		return err
	}
	if err := w.walkIndex(); err != nil {
		return err
	}
	if err := w.walkHeads(); err != nil {
		return err
	}
	if w.v.OK() && w.v.Entries != w.v.Events {
		w.v.add(Finding{Problem: fmt.Sprintf("%v: %d entries for %d events",
			errIndex, w.v.Entries, w.v.Events)})
	}
	return nil
}

// usable is checked between steps, so that a long walk can be ended.
func (w *walker) usable() error {
	select {
	case <-w.store.closing:
		return events.ErrClosed
	default:
		return w.ctx.Err()
	}
}

// walkEvents checks every position. After an unreadable block it tries each
// position of it anew, because where the block ends is not known.
func (w *walker) walkEvents() error {
	for position := events.Position(1); position <= w.synced; {
		next, err := w.walkEventsFrom(position)
		if err != nil {
			return err
		}
		position = next
	}
	return nil
}

// walkEventsFrom goes as far as one iterator does.
func (w *walker) walkEventsFrom(position events.Position) (events.Position, error) {
	it, err := w.snapshot.NewIter(&pebble.IterOptions{
		LowerBound: appendEventKey(nil, position), UpperBound: appendEventKey(nil, w.synced+1),
	})
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
			w.checkEvent(at, value)
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

// checkEvent checks one record and what the index says about it.
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
	f := Finding{Position: position, Stream: e.Stream, Revision: e.Revision}
	entry, closer, err := w.snapshot.Get(appendIndexKey(nil, e.Stream, e.Revision))
	if err != nil {
		f.Problem = fmt.Sprintf("index entry: %v", err)
		w.v.add(f)
		return
	}
	index, err := parseIndexEntry(entry)
	if err == nil && (index.position != position || index.id != e.ID) {
		err = fmt.Errorf("%w: it points to position %d, id %s", errIndex, index.position, index.id)
	}
	if err := errors.Join(err, closer.Close()); err != nil {
		f.Problem = err.Error()
		w.v.add(f)
	}
}

// walkIndex checks that the revisions of every stream have no gap and that its
// head agrees. An unreadable part ends the walk, with a finding.
func (w *walker) walkIndex() error {
	it, err := w.snapshot.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixIndex}, UpperBound: []byte{prefixIndex + 1},
	})
	if err != nil {
		return err
	}
	defer it.Close()
	var at string    // the stream
	var due uint64   // its next revision
	var unsynced int // of its entries, at its end
	for ok := it.First(); ok; ok = it.Next() {
		if err := w.usable(); err != nil {
			return err
		}
		stream, revision, err := parseIndexKey(it.Key())
		if err != nil {
			w.v.add(Finding{Problem: err.Error()})
			continue
		}
		if stream != at {
			w.checkHead(at, due, unsynced)
			at, due, unsynced = w.names.string([]byte(stream)), 0, 0
		}
		value, err := it.ValueAndErr()
		if err != nil {
			w.v.add(Finding{Stream: at, Revision: revision, Problem: err.Error()})
			continue
		}
		entry, err := parseIndexEntry(value)
		if entry.position > w.synced {
			unsynced++
			continue
		}
		w.v.Entries++
		f := Finding{Position: entry.position, Stream: at, Revision: revision}
		if err == nil && revision != due {
			err = fmt.Errorf("%w: revision %d is due", errMissing, due)
		}
		if err != nil {
			f.Problem = err.Error()
			w.v.add(f)
		}
		due = revision + 1
	}
	if it.Error() != nil {
		w.v.add(Finding{
			Stream: at, Revision: due,
			Problem: "index unreadable from here on: " + it.Error().Error(),
		})
		return nil
	}
	w.checkHead(at, due, unsynced)
	return nil
}

// checkHead compares a stream's head with the entries that were counted.
func (w *walker) checkHead(stream string, count uint64, unsynced int) {
	if count == 0 {
		return
	}
	w.v.Streams++
	value, closer, err := w.snapshot.Get(appendHeadKey(nil, stream))
	var head uint64
	if err == nil {
		head, err = parseHead(value)
		err = errors.Join(err, closer.Close())
	}
	if err == nil && head != count+uint64(unsynced) {
		err = fmt.Errorf("%w: it says %d events", errHead, head)
	}
	if err != nil {
		w.v.add(Finding{Stream: stream, Revision: count - 1, Problem: err.Error()})
	}
}

// walkHeads checks that no head stands for a stream that has no events.
func (w *walker) walkHeads() error {
	it, err := w.snapshot.NewIter(&pebble.IterOptions{
		LowerBound: []byte{prefixHead}, UpperBound: []byte{prefixHead + 1},
	})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := w.usable(); err != nil {
			return err
		}
		stream, err := parseHeadKey(it.Key())
		if err == nil {
			_, closer, missing := w.snapshot.Get(appendIndexKey(nil, stream, 0))
			if err = missing; err == nil {
				err = closer.Close()
			}
		}
		if err != nil {
			w.v.add(Finding{Stream: stream, Problem: fmt.Sprintf("%v: first event: %v", errHead, err)})
		}
	}
	if it.Error() != nil {
		w.v.add(Finding{Problem: "heads unreadable: " + it.Error().Error()})
	}
	return nil
}
