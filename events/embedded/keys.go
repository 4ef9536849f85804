package embedded

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// The first byte of a key says what it is. The letter m is for facts about the
// store.
//
//	e position                  -> the event (record.go)
//	s stream, end, revision     -> position and event id
//	h stream, end               -> the head of the stream (head.go)
//	v virtual stream, end, n    -> position of its event n
//	w virtual stream, end       -> the head of the virtual stream
//	m "indexes"                 -> how far an upgrade has come (upgrade.go)
//	m "upgrade"                 -> the same, of an upgrade to format 2
//
// Numbers are big-endian, so that keys sort like the numbers. Names may contain
// any bytes: a NUL in a name is stored as 00 FF, and the name ends with 00 01.
// So no stream's keys begin with another stream's, and keys sort like the
// names.
//
// Virtual streams have letters of their own because format 1 accepted any name:
// a stream of an old store may be called like a virtual one, and must not be
// mixed up with it.
const (
	prefixEvent       = 'e'
	prefixIndex       = 's'
	prefixHead        = 'h'
	prefixVirtual     = 'v'
	prefixVirtualHead = 'w'
	prefixFact        = 'm'
)

const (
	nameEscape   = 0xff // behind a NUL: the name has a NUL
	nameEnd      = 0x01 // behind a NUL: the name is over
	numberBytes  = 8
	indexBytes   = numberBytes + 16 // of the index of a stream
	virtualBytes = numberBytes      // of the index of a virtual stream
)

// under bounds a read to the keys with a letter.
func under(letter byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: []byte{letter}, UpperBound: []byte{letter + 1}}
}

// between bounds a read to the events from a position on, before end.
func between(first, end events.Position) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: appendEventKey(nil, first), UpperBound: appendEventKey(nil, end)}
}

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
	for {
		before, behind, found := strings.Cut(stream, "\x00")
		dst = append(dst, before...)
		if !found {
			return append(dst, 0, nameEnd)
		}
		dst, stream = append(dst, 0, nameEscape), behind
	}
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

// indexPrefix is the letter of a stream's index keys, headPrefix that of its head.
func indexPrefix(stream string) byte {
	if events.IsVirtual(stream) {
		return prefixVirtual
	}
	return prefixIndex
}

func headPrefix(stream string) byte { return headLetter(indexPrefix(stream)) }

// headLetter is the letter of the heads that belong to an index letter.
func headLetter(index byte) byte {
	if index == prefixVirtual {
		return prefixVirtualHead
	}
	return prefixHead
}

// appendStreamPrefix is the beginning of all index keys of a stream.
func appendStreamPrefix(dst []byte, stream string) []byte {
	return appendName(append(dst, indexPrefix(stream)), stream)
}

func appendIndexKey(dst []byte, stream string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(appendStreamPrefix(dst, stream), revision)
}

// parseIndexKey reads the key of an index entry with this letter.
func parseIndexKey(key []byte, letter byte) (stream string, revision uint64, err error) {
	if len(key) == 0 || key[0] != letter {
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
	return appendName(append(dst, headPrefix(stream)), stream)
}

// parseHeadKey reads the key of a head with this letter.
func parseHeadKey(key []byte, letter byte) (stream string, err error) {
	if len(key) == 0 || key[0] != letter {
		return "", fmt.Errorf("%w: %x is no head key", errKey, key)
	}
	stream, rest, err := parseName(key[1:])
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: head key has %d bytes behind its name", errKey, len(rest))
	}
	return stream, err
}

// indexEntry is the value of an index key. Entries of virtual streams have no
// event id.
type indexEntry struct {
	position events.Position
	id       events.EventID
}

func appendIndexEntry(dst []byte, e indexEntry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.position))
	return append(dst, e.id[:]...)
}

func appendVirtualEntry(dst []byte, position events.Position) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(position))
}

// parseEntry reads the value of an index key with this letter.
func parseEntry(value []byte, letter byte) (e indexEntry, err error) {
	want := indexBytes
	if letter == prefixVirtual {
		want = virtualBytes
	}
	if len(value) != want {
		return indexEntry{}, fmt.Errorf("%w: index entry of %d bytes, want %d", errLayout, len(value), want)
	}
	e.position = events.Position(binary.BigEndian.Uint64(value))
	copy(e.id[:], value[numberBytes:])
	return e, nil
}

// revisionOf is the number at the end of an index key.
func revisionOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-numberBytes:]) }
