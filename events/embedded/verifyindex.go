package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// hashOf hashes a link, so that two sets of them can be compared without storing them: the hashes of one are
// added to a sum and those of the other taken from it, which leaves zero if the sets are equal.
func (w *walker) hashOf(virtual string, position events.Position) uint64 {
	return maphash.Comparable(w.seed, struct {
		virtual  string
		position events.Position
	}{virtual, position})
}

// head returns the durable head under this letter; the zero head if there is none.
func (w *walker) head(letter byte, stream string) (head, error) {
	if headPrefix(stream) == letter {
		if before, ok := w.before[stream]; ok {
			return before, nil
		}
	}
	return readHead(w.snapshot, appendName([]byte{letter}, stream), stream)
}

// counted is what walkIndex knows of the stream that it is in.
type counted struct {
	stream string
	due    uint64          // its next revision
	last   events.Position // of the entry before
}

// eachKey calls do at every key with this letter. An unreadable part ends that.
func (w *walker) eachKey(letter byte, do func(*pebble.Iterator)) (unreadable, err error) {
	it, err := w.snapshot.NewIter(under(letter))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := w.usable(); err != nil {
			return nil, err
		}
		do(it)
	}
	return it.Error(), nil
}

// walkIndex checks that the revisions of every stream have no gap, that
// positions increase and that the head agrees. An unreadable part ends the walk,
// with a finding.
func (w *walker) walkIndex(letter byte) error {
	var at counted
	unreadable, err := w.eachKey(letter, func(it *pebble.Iterator) {
		stream, revision, err := parseIndexKey(it.Key(), letter)
		if err != nil {
			w.v.add(Finding{Problem: err.Error()})
			return
		}
		if stream != at.stream {
			w.checkCount(letter, at)
			at = counted{stream: w.names.string([]byte(stream))}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			w.v.add(Finding{Stream: at.stream, Revision: revision, Problem: err.Error()})
			return
		}
		w.checkIndexed(letter, &at, revision, value)
	})
	switch {
	case err != nil:
		return err
	case unreadable != nil:
		w.v.add(Finding{
			Stream: at.stream, Revision: at.due, Problem: "index unreadable from here on: " + unreadable.Error(),
		})
	default:
		w.checkCount(letter, at)
	}
	return nil
}

// checkIndexed checks one entry; entries that are not durable do not count.
func (w *walker) checkIndexed(letter byte, at *counted, revision uint64, value []byte) {
	entry, err := parseEntry(value, letter)
	if entry.position > w.synced {
		return
	}
	if letter == prefixVirtual {
		w.v.Links++
		w.links -= w.hashOf(at.stream, entry.position)
	} else {
		w.v.Entries++
	}
	if err == nil && revision != at.due {
		err = fmt.Errorf("%w: revision %d is due", errMissing, at.due)
	}
	if err == nil && entry.position <= at.last {
		err = fmt.Errorf("%w: position %d was before it", errIndex, at.last)
	}
	if err != nil {
		w.v.add(Finding{Position: entry.position, Stream: at.stream, Revision: revision, Problem: err.Error()})
	}
	at.due, at.last = revision+1, entry.position
}

// checkCount compares a stream's head with the entries that were counted.
func (w *walker) checkCount(letter byte, at counted) {
	if at.due == 0 {
		return
	}
	if letter == prefixIndex {
		w.v.Streams++
	}
	h, err := w.head(headLetter(letter), at.stream)
	if err == nil && h.count != at.due {
		err = fmt.Errorf("%w: it says %d events", errHead, h.count)
	}
	if err == nil && h.ended {
		if e, unread := readEvent(w.snapshot, at.last, &w.names); unread == nil && e.Type != events.TypeTombstone {
			err = fmt.Errorf("%w: it is ended, and its last event is no tombstone", errHead)
		}
	}
	if err != nil {
		w.v.add(Finding{Stream: at.stream, Revision: at.due - 1, Problem: err.Error()})
	}
}

// walkHeads checks that every head belongs to a stream with events or metadata,
// and that it agrees with the metadata.
func (w *walker) walkHeads(index byte) error {
	unreadable, err := w.eachKey(headLetter(index), func(it *pebble.Iterator) {
		stream, err := parseHeadKey(it.Key(), headLetter(index))
		if err == nil {
			err = w.checkHead(index, stream)
		}
		if err != nil {
			w.v.add(Finding{Stream: stream, Problem: err.Error()})
		}
	})
	if unreadable != nil {
		w.v.add(Finding{Problem: "heads unreadable: " + unreadable.Error()})
	}
	return err
}

func (w *walker) checkHead(index byte, stream string) error {
	h, err := w.head(headLetter(index), stream)
	if err != nil {
		return err
	}
	if before, ok := w.before[stream]; ok && before == (head{}) && indexPrefix(stream) == index {
		return nil // Its first event is not durable yet.
	}
	if h.metadata != 0 {
		if err := w.checkShown(stream, h); err != nil {
			return err
		}
	}
	if h.count == 0 {
		if h.metadata == 0 {
			return fmt.Errorf("%w: it stands for nothing", errHead)
		}
		return nil
	}
	key := binary.BigEndian.AppendUint64(appendName([]byte{index}, stream), 0)
	if _, err := readEntry(w.snapshot, key, stream, 0); err != nil {
		return fmt.Errorf("%w: first event: %w", errHead, err)
	}
	return nil
}

// checkShown compares a head with the event that set its metadata.
func (w *walker) checkShown(stream string, h head) error {
	if h.metadata > w.synced {
		return fmt.Errorf("%w: position %d is behind the end", errMetadata, h.metadata)
	}
	e, err := readEvent(w.snapshot, h.metadata, &w.names)
	if err != nil {
		return err
	}
	of, meta, ok := metadataEvent(e.Stream, e.Type, e.Data)
	if !ok || of != stream || shownBy(meta) != h.shown {
		return fmt.Errorf("%w: position %d has type %s of %q", errMetadata, h.metadata, e.Type, e.Stream)
	}
	return nil
}

// compareLinks finds where the virtual streams differ from the events, once their
// hash shows that they do. It takes several reads per event.
func (w *walker) compareLinks() error {
	if w.links == 0 {
		return nil
	}
	found := len(w.v.Findings)
	again := *w
	again.v = &Verification{} // What walkEvents finds is known already.
	err := again.walkEvents(func(position events.Position, value []byte) {
		e, err := decodeRecord(value, &w.names)
		if err != nil {
			return
		}
		for _, virtual := range events.VirtualOf(&e) {
			if !w.linked(virtual, position) {
				w.v.add(Finding{
					Position: position, Stream: e.Stream, Revision: e.Revision,
					Problem: fmt.Sprintf("%v: %q lacks it", errVirtual, virtual),
				})
			}
		}
	})
	if err != nil {
		return err
	}
	if err := w.walkLinks(); err != nil {
		return err
	}
	if found == len(w.v.Findings) && found == 0 {
		w.v.add(Finding{Problem: errVirtual.Error()})
	}
	return nil
}

// linked reports whether a virtual stream has an event.
func (w *walker) linked(virtual string, position events.Position) bool {
	h, err := w.head(prefixVirtualHead, virtual)
	if err != nil {
		return false
	}
	for low, high := uint64(0), h.count; low < high; {
		middle := low + (high-low)/2
		e, err := readEntry(w.snapshot, appendIndexKey(nil, virtual, middle), virtual, middle)
		switch {
		case err != nil:
			return false
		case e.position == position:
			return true
		case e.position < position:
			low = middle + 1
		default:
			high = middle
		}
	}
	return false
}

// walkLinks finds entries of virtual streams that should not exist.
func (w *walker) walkLinks() error {
	_, err := w.eachKey(prefixVirtual, func(it *pebble.Iterator) {
		virtual, n, err := parseIndexKey(it.Key(), prefixVirtual)
		entry, malformed := parseEntry(it.Value(), prefixVirtual)
		if err != nil || malformed != nil || entry.position > w.synced {
			return // walkIndex has seen it.
		}
		e, err := readEvent(w.snapshot, entry.position, &w.names)
		if err == nil && events.Belongs(virtual, &e) {
			return
		}
		if err != nil && !errors.Is(err, errMissing) {
			return // walkEvents has seen it.
		}
		w.v.add(Finding{Position: entry.position, Stream: virtual, Revision: n, Problem: errVirtual.Error()})
	})
	return err
}
