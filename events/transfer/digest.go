package transfer

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// Digest describes everything in a store that is transferred. Two stores with
// the same Sum have the same contents, whatever their positions, recording
// times and the order between streams.
type Digest struct {
	Sum    Sum
	Events uint64
	// Streams are sorted by name.
	Streams []StreamDigest
	// Position is the last position of the log that was read.
	Position events.Position
}

// StreamDigest says what a stream holds.
type StreamDigest struct {
	Stream string
	// Events is how many events of it are in the log, hidden ones included.
	Events uint64
	// Missing is how many revisions are no longer in the log, because the store
	// was scavenged. The others are counted as if these had never been.
	Missing uint64
	// Ended says that the stream was deleted for good.
	Ended bool
	// Metadata is what its metadata says, nil if that is nothing.
	Metadata []byte
	// Chain is the digest of the events, in order.
	Chain Sum
}

// same reports whether two streams hold the same.
func (s StreamDigest) same(o StreamDigest) bool {
	return s.Events == o.Events && s.Ended == o.Ended && s.Chain == o.Chain && bytes.Equal(s.Metadata, o.Metadata)
}

// DigestOf reads the log of a store from its start to its present end.
func DigestOf(ctx context.Context, store events.Store) (Digest, error) {
	last, err := store.Head(ctx)
	t := tally{}
	if err == nil {
		err = (&logSource{store: store, last: last}).each(ctx, t.add)
	}
	if err != nil {
		return Digest{}, fmt.Errorf("digest: %w", err)
	}
	return t.digest(last), nil
}

// tally is what is known of each stream while its events are read.
type tally map[string]*tallied

type tallied struct {
	events   uint64
	next     uint64 // the revision that is due
	chain    Sum
	metadata events.StreamMetadata
	told     bool // metadata was set
	ended    bool
}

func (t tally) of(stream string) *tallied {
	s := t[stream]
	if s == nil {
		s = &tallied{}
		t[stream] = s
	}
	return s
}

// add adds the next item. Revisions may be missing, as after scavenging, but
// must not come twice.
func (t tally) add(i item) error {
	s := t.of(i.stream)
	switch i.about {
	case hasMetadata:
		s.metadata, s.told = i.metadata, true
		return nil
	case hasEnded:
		s.ended = true
		return nil
	case isEvent:
	}
	if i.revision < s.next {
		return fmt.Errorf("%w: %s has revision %d where %d or more is due", events.ErrMalformed,
			i.stream, i.revision, s.next)
	}
	s.next = i.revision + 1
	s.events++
	s.chain = chain(s.chain, i.sum)
	return nil
}

// target is the metadata that a copy of the stream must have: with the copy's
// revisions, and without the truncation of the queue, because the snapshots that
// make up for it are not copied.
func (s *tallied) target(stream string) events.StreamMetadata {
	m := s.metadata
	switch missing := s.next - s.events; {
	case m.Deleted():
	case catalog.Streams().MayTruncate(stream):
		m.TruncateBefore = 0
	default:
		m.TruncateBefore -= min(m.TruncateBefore, missing)
	}
	return m
}

// said normalises metadata for a comparison: nil when it is empty.
func said(m events.StreamMetadata) []byte {
	text := canonical(m.Marshal())
	if string(text) == "{}" {
		return nil
	}
	return text
}

// digest sums up what was read up to a position. Streams without any contents are left out.
func (t tally) digest(last events.Position) Digest {
	d := Digest{Position: last}
	total := newHashing("hostnode digest 1")
	for _, name := range slices.Sorted(maps.Keys(t)) {
		s := t[name]
		one := StreamDigest{
			Stream: name, Events: s.events, Missing: s.next - s.events, Ended: s.ended, Chain: s.chain,
		}
		if !s.ended { // Nobody can read the metadata of a stream that ended.
			one.Metadata = said(s.target(name))
		}
		if one.Events == 0 && !one.Ended && one.Metadata == nil {
			continue
		}
		d.Events += one.Events
		d.Streams = append(d.Streams, one)
		h := newHashing("stream")
		h.text(name)
		h.number(one.Events)
		h.Write(one.Chain[:])
		h.bytes(one.Metadata)
		if one.Ended {
			h.text("ended")
		}
		sum := h.sum()
		total.Write(sum[:])
	}
	d.Sum = total.sum()
	return d
}
