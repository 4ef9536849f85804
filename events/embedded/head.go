package embedded

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/hostnode/hostnode/events"
)

// head is what must be known of a stream before its events are read. It is
// stored under the stream's name, in one of two layouts:
//
//	1, count                                              (of format 1)
//	2, flags, count [, position, $tb, $maxCount, $maxAge]
//
// Layout and flags are bytes, the others 8 bytes each, big-endian. The part in
// brackets is present if the stream has metadata: the position of the metadata
// event and its values, $maxAge in seconds. It is written in the same batch as
// that event, which therefore need not be read to know what can be read.
type head struct {
	count uint64 // events; deletion and truncation take none away
	// ended: the last event is a tombstone.
	ended bool
	// metadata is the position of the event that set it; 0: never set.
	metadata events.Position
	shown    shown
}

// shown says which events of a stream can be read.
type shown struct {
	truncateBefore, maxCount, maxAgeSeconds uint64
}

const (
	headLayout1 = 1
	headLayout2 = 2

	flagEnded    = 1 << 0
	flagMetadata = 1 << 1

	headBytes1 = 1 + numberBytes
	headBytes2 = 2 + numberBytes
	headMeta   = 4 * numberBytes
	// mostMaxAge is the largest number of whole seconds in a time.Duration.
	mostMaxAge = uint64(math.MaxInt64 / time.Second)
)

func appendHead(dst []byte, h head) []byte {
	var flags byte
	if h.ended {
		flags |= flagEnded
	}
	if h.metadata != 0 {
		flags |= flagMetadata
	}
	dst = binary.BigEndian.AppendUint64(append(dst, headLayout2, flags), h.count)
	if h.metadata == 0 {
		return dst
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.metadata))
	dst = binary.BigEndian.AppendUint64(dst, h.shown.truncateBefore)
	dst = binary.BigEndian.AppendUint64(dst, h.shown.maxCount)
	return binary.BigEndian.AppendUint64(dst, h.shown.maxAgeSeconds)
}

func parseHead(value []byte) (h head, err error) {
	fail := fmt.Errorf("%w: head %x", errLayout, value)
	if len(value) == headBytes1 && value[0] == headLayout1 {
		return head{count: binary.BigEndian.Uint64(value[1:])}, nil
	}
	if len(value) < headBytes2 || value[0] != headLayout2 || value[1]&^(flagEnded|flagMetadata) != 0 {
		return head{}, fail
	}
	h = head{count: binary.BigEndian.Uint64(value[2:]), ended: value[1]&flagEnded != 0}
	rest := value[headBytes2:]
	switch described := value[1]&flagMetadata != 0; {
	case !described && len(rest) == 0:
		return h, nil
	case !described || len(rest) != headMeta:
		return head{}, fail
	}
	h.metadata = events.Position(binary.BigEndian.Uint64(rest))
	h.shown = shown{
		truncateBefore: binary.BigEndian.Uint64(rest[8:]),
		maxCount:       binary.BigEndian.Uint64(rest[16:]),
		maxAgeSeconds:  binary.BigEndian.Uint64(rest[24:]),
	}
	if h.metadata == 0 || h.shown.maxAgeSeconds > mostMaxAge {
		return head{}, fail
	}
	return h, nil
}

// setMetadata notes the contents of a metadata event at a position.
func (h *head) setMetadata(m events.StreamMetadata, position events.Position) {
	h.metadata = position
	h.shown = shownBy(m)
}

func shownBy(m events.StreamMetadata) shown {
	return shown{m.TruncateBefore, m.MaxCount, uint64(m.MaxAge / time.Second)}
}

// metadata converts the limits to the type that applies them.
func (s shown) metadata() events.StreamMetadata {
	return events.StreamMetadata{
		TruncateBefore: s.truncateBefore, MaxCount: s.maxCount,
		MaxAge: time.Duration(s.maxAgeSeconds) * time.Second,
	}
}

// deleted reports whether the stream was deleted softly.
func (h *head) deleted() bool { return h.shown.metadata().Deleted() }

// metadataEvent returns what an event says about another stream; ok is false
// unless it is a well-formed event of type $metadata in a metadata stream.
// What is no JSON object is refused when appended, but format 1 accepted it.
func metadataEvent(stream, eventType string, data []byte) (of string, m events.StreamMetadata, ok bool) {
	of, ok = events.MetadataOf(stream)
	if !ok || eventType != events.TypeMetadata {
		return "", m, false
	}
	m, err := events.ParseStreamMetadata(data)
	return of, m, err == nil
}
