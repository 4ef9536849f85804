package embedded

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// get reads a value and parses it before it is released. When it is missing or damaged,
// the error is about where.
func get[T any](db pebble.Reader, key []byte, where DamagedError, parse func([]byte) (T, error)) (v T, err error) {
	value, closer, err := db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		err = errMissing
	case err != nil:
		return v, damaged(err, where.Stream, where.Revision, where.Position)
	default:
		v, err = parse(value)
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		return v, &DamagedError{where.Stream, where.Revision, where.Position, err}
	}
	return v, nil
}

// readHead reads a stored head; the zero head if there is none.
func readHead(db pebble.Reader, key []byte, stream string) (head, error) {
	h, err := get(db, key, DamagedError{Stream: stream}, parseHead)
	if errors.Is(err, errMissing) {
		return head{}, nil
	}
	return h, err
}

// readEntry reads an entry of the index of a stream.
func readEntry(db pebble.Reader, key []byte, stream string, revision uint64) (indexEntry, error) {
	return get(db, key, DamagedError{Stream: stream, Revision: revision}, func(value []byte) (indexEntry, error) {
		return parseEntry(value, key[0])
	})
}

// readEvent reads the event at a position.
func readEvent(db pebble.Reader, position events.Position, names *interner) (events.Recorded, error) {
	return get(db, appendEventKey(nil, position), DamagedError{Position: position},
		func(value []byte) (events.Recorded, error) { return decodeRecord(value, names) })
}

// same counts the leading ids of a batch that the stream has from a revision on,
// and returns the last of them.
func (c *committer) same(
	stream string, batch []newEvent, from, count uint64,
) (last recentEvent, known int, err error) {
	for i := range batch {
		revision := from + uint64(i)
		if revision >= count {
			break
		}
		c.key = appendIndexKey(c.key[:0], stream, revision)
		entry, err := readEntry(c.store.db, c.key, stream, revision)
		if err != nil {
			return last, 0, err
		}
		if entry.id != batch[i].id {
			break
		}
		last.revision, last.position = revision, entry.position
		known++
	}
	return last, known, nil
}

// metadata returns the complete metadata of a stream; the head has only the
// part that readers need.
func (c *committer) metadata(e *entry) (events.StreamMetadata, error) {
	if e.head.metadata == 0 {
		return events.StreamMetadata{}, nil
	}
	event, err := readEvent(c.store.db, e.head.metadata, &interner{})
	if err != nil {
		return events.StreamMetadata{}, err
	}
	of, meta, ok := metadataEvent(event.Stream, event.Type, event.Data)
	if !ok || of != e.stream {
		return meta, &DamagedError{
			Stream: e.stream, Position: e.head.metadata, Reason: errMetadata,
		}
	}
	return meta, nil
}

// lookUp finds the heads that the events change in addition to that of their own
// stream, in the order in which write asks for them.
func (c *committer) lookUp(batch []newEvent) error {
	c.found = c.found[:0]
	for i := range batch {
		names := batch[i].virtual
		if sets := batch[i].sets; sets != nil {
			names = slices.Concat([]string{sets.of}, names)
		}
		for _, name := range names {
			e, err := c.heads.head(name)
			if err != nil {
				return err
			}
			c.found = append(c.found, e)
		}
	}
	return nil
}

// change notes that the batch changes a head, and the previous value.
func (c *committer) change(e *entry) {
	if !e.changed {
		e.changed = true
		c.changed = append(c.changed, e)
		c.before[e.stream] = e.head
	}
}

// write numbers events and adds them to the batch, with what follows from them
// for other streams. If a read fails, the batch is as it was before.
func (c *committer) write(r *request, e *entry, batch []newEvent, now time.Time) error {
	if err := c.lookUp(batch); err != nil {
		return err
	}
	c.change(e)
	found := c.found
	for i := range batch {
		n := &batch[i]
		if err := c.assign(e, n, now); err != nil {
			return c.broken(err)
		}
		if n.sets != nil {
			c.change(found[0])
			found[0].head.setMetadata(n.sets.meta, c.last)
			found = found[1:]
		}
		first := e.head.count == 1
		for j, name := range n.virtual {
			if name != events.VirtualStreams || first {
				c.change(found[j])
				found[j].head.count++
				found[j].added = append(found[j].added, indexEntry{position: c.last})
			}
		}
		found = found[len(n.virtual):]
	}
	r.wrote += len(batch)
	return nil
}

// assign gives an event the next position, and the next revision of its stream.
func (c *committer) assign(e *entry, n *newEvent, now time.Time) error {
	c.last++
	revision := e.head.count
	sealRecord(n.record, c.last, revision, now)
	c.key = appendEventKey(c.key[:0], c.last)
	if err := c.batch.Set(c.key, n.record, nil); err != nil {
		return err
	}
	n.record = nil // The batch has it; a large one need not be there twice.
	c.recent.add(recentEvent{recentKey{n.id, e.stream}, revision, c.last})
	e.head.count++
	e.head.ended = n.tombstone
	e.added = append(e.added, indexEntry{c.last, n.id})
	return nil
}

// index adds the changes of a stream's index and head to the batch. Entries of
// one stream are added together, because pebble is faster with adjacent keys.
func (c *committer) index(e *entry) error {
	letter := indexPrefix(e.stream)
	c.key = appendName(append(c.key[:0], letter), e.stream)
	name := len(c.key)
	for i, entry := range e.added {
		revision := e.head.count - uint64(len(e.added)-i)
		c.key = binary.BigEndian.AppendUint64(c.key[:name], revision)
		if letter == prefixVirtual {
			c.value = appendVirtualEntry(c.value[:0], entry.position)
		} else {
			c.value = appendIndexEntry(c.value[:0], entry)
		}
		if err := c.batch.Set(c.key, c.value, nil); err != nil {
			return err
		}
	}
	c.key[0] = headPrefix(e.stream)
	c.value = appendHead(c.value[:0], e.head)
	return c.batch.Set(c.key[:name], c.value, nil)
}
