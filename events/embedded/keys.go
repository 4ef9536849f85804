package embedded

import (
	"encoding/binary"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// The first byte of a key says what it is. The letters c (category and
// position) and t (type and position) are reserved for indexes, m for facts
// about the store.
//
//	e position                  -> the event (record.go)
//	s stream, end, revision     -> position and event id
//	h stream, end               -> layout and number of events
//
// Numbers are big-endian, so that keys sort as numbers do. Names are any
// bytes: a NUL in a name is stored as 00 FF, the name ends with 00 01. So no
// name is the beginning of another one's keys, and names sort as they are.
const (
	prefixEvent = 'e'
	prefixIndex = 's'
	prefixHead  = 'h'
)

const (
	nameEscape  = 0xff // behind a NUL: the name has a NUL
	nameEnd     = 0x01 // behind a NUL: the name is over
	indexBytes  = 8 + 16
	headBytes   = 1 + 8
	headLayout  = 1
	numberBytes = 8
)

func appendEventKey(dst []byte, position events.Position) []byte {
	dst = append(dst, prefixEvent)
	return binary.BigEndian.AppendUint64(dst, uint64(position))
}

func parseEventKey(key []byte) (events.Position, error) {
	if len(key) != 1+numberBytes || key[0] != prefixEvent {
		return 0, fmt.Errorf("%w: %x is no event key", errKey, key)
	}
	return events.Position(binary.BigEndian.Uint64(key[1:])), nil
}

// appendName writes a stream's name with its end.
func appendName(dst []byte, stream string) []byte {
	for i := range len(stream) {
		dst = append(dst, stream[i])
		if stream[i] == 0 {
			dst = append(dst, nameEscape)
		}
	}
	return append(dst, 0, nameEnd)
}

// parseName reads what appendName wrote and returns what follows it.
func parseName(key []byte) (stream string, rest []byte, err error) {
	name := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] != 0 {
			name = append(name, key[i])
			continue
		}
		i++
		switch {
		case i == len(key):
			return "", nil, fmt.Errorf("%w: name ends in the middle", errKey)
		case key[i] == nameEnd:
			return string(name), key[i+1:], nil
		case key[i] == nameEscape:
			name = append(name, 0)
		default:
			return "", nil, fmt.Errorf("%w: name has 00 %02x", errKey, key[i])
		}
	}
	return "", nil, fmt.Errorf("%w: name has no end", errKey)
}

// appendStreamPrefix is the beginning of all index keys of a stream.
func appendStreamPrefix(dst []byte, stream string) []byte {
	return appendName(append(dst, prefixIndex), stream)
}

func appendIndexKey(dst []byte, stream string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(appendStreamPrefix(dst, stream), revision)
}

func parseIndexKey(key []byte) (stream string, revision uint64, err error) {
	if len(key) == 0 || key[0] != prefixIndex {
		return "", 0, fmt.Errorf("%w: %x is no index key", errKey, key)
	}
	stream, rest, err := parseName(key[1:])
	if err != nil {
		return "", 0, err
	}
	if len(rest) != numberBytes {
		return "", 0, fmt.Errorf("%w: index key has %d bytes of revision", errKey, len(rest))
	}
	return stream, binary.BigEndian.Uint64(rest), nil
}

func appendHeadKey(dst []byte, stream string) []byte {
	return appendName(append(dst, prefixHead), stream)
}

func parseHeadKey(key []byte) (stream string, err error) {
	if len(key) == 0 || key[0] != prefixHead {
		return "", fmt.Errorf("%w: %x is no head key", errKey, key)
	}
	stream, rest, err := parseName(key[1:])
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: head key has %d bytes behind its name", errKey, len(rest))
	}
	return stream, err
}

// indexEntry is the value of an index key.
type indexEntry struct {
	position events.Position
	id       events.EventID
}

func appendIndexEntry(dst []byte, e indexEntry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.position))
	return append(dst, e.id[:]...)
}

func parseIndexEntry(value []byte) (indexEntry, error) {
	if len(value) != indexBytes {
		return indexEntry{}, fmt.Errorf("%w: index entry of %d bytes, want %d",
			errLayout, len(value), indexBytes)
	}
	return indexEntry{
		position: events.Position(binary.BigEndian.Uint64(value)),
		id:       events.EventID(value[numberBytes:]),
	}, nil
}

// appendHead writes the number of events of a stream.
func appendHead(dst []byte, count uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, headLayout), count)
}

func parseHead(value []byte) (count uint64, err error) {
	if len(value) != headBytes || value[0] != headLayout {
		return 0, fmt.Errorf("%w: head %x", errLayout, value)
	}
	return binary.BigEndian.Uint64(value[1:]), nil
}
