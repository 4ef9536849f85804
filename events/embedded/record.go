package embedded

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hostnode/hostnode/events"
)

// A record is an event as it stands under its position:
//
//	crc-32c of all that follows   4 bytes, big-endian
//	layout                        1 byte
//	position, revision            8 bytes each, big-endian
//	time of recording             8 bytes, nanoseconds since 1970
//	event id                      16 bytes
//	stream, type, correlation, causation, node, data: length and bytes each
//	schema version, host epoch    lengths and these numbers are uvarints
//
// Position and revision are in the key and in the index too: a record that
// ended up in the wrong place does not pass as the right one.
const (
	recordLayout = 1
	crcBytes     = 4
	headerBytes  = crcBytes + 1 + 3*numberBytes
	maxUvarint   = binary.MaxVarintLen64
)

// crcTable is Castagnoli's polynomial, which processors compute in hardware.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// encodeRecord is the record of an event without its header, which sealRecord
// fills in when the event has its place.
func encodeRecord(stream string, e events.NewEvent) []byte {
	size := headerBytes + len(e.ID) + len(stream) + len(e.Type) + len(e.Meta.Correlation) +
		len(e.Meta.Causation) + len(e.Meta.Node) + len(e.Data) + 8*maxUvarint
	b := make([]byte, headerBytes, size)
	b = append(b, e.ID[:]...)
	for _, s := range [...]string{
		stream, e.Type, e.Meta.Correlation, e.Meta.Causation, e.Meta.Node,
	} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Data)))
	b = append(b, e.Data...)
	b = binary.AppendUvarint(b, uint64(e.Meta.Version))
	return binary.AppendUvarint(b, e.Meta.Epoch)
}

// sealRecord gives a record its place, its time and its checksum.
func sealRecord(b []byte, position events.Position, revision uint64, at time.Time) {
	b[crcBytes] = recordLayout
	place := b[crcBytes+1:]
	binary.BigEndian.PutUint64(place, uint64(position))
	binary.BigEndian.PutUint64(place[8:], revision)
	binary.BigEndian.PutUint64(place[16:], uint64(at.UnixNano()))
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[crcBytes:], crcTable))
}

// decodeRecord reads a record and copies what it keeps. The strings go through
// names, because the same few come again and again.
func decodeRecord(b []byte, names *interner) (events.Recorded, error) {
	if len(b) < headerBytes+16 {
		return events.Recorded{}, fmt.Errorf("%w: %d bytes", errShort, len(b))
	}
	if got, want := crc32.Checksum(b[crcBytes:], crcTable), binary.BigEndian.Uint32(b); got != want {
		return events.Recorded{}, fmt.Errorf("%w: is %08x, stored %08x", errChecksum, got, want)
	}
	if b[crcBytes] != recordLayout {
		return events.Recorded{}, fmt.Errorf("%w: %d", errLayout, b[crcBytes])
	}
	place := b[crcBytes+1:]
	r := events.Recorded{
		Position: events.Position(binary.BigEndian.Uint64(place)),
		Revision: binary.BigEndian.Uint64(place[8:]),
		Recorded: time.Unix(0, int64(binary.BigEndian.Uint64(place[16:]))).UTC(),
		ID:       events.EventID(b[headerBytes : headerBytes+16]),
	}
	f := fields{rest: b[headerBytes+16:]}
	r.Stream = names.string(f.bytes())
	r.Type = names.string(f.bytes())
	r.Meta.Correlation = names.string(f.bytes())
	r.Meta.Causation = string(f.bytes())
	r.Meta.Node = names.string(f.bytes())
	r.Data = append(make([]byte, 0), f.bytes()...)
	version := f.number()
	r.Meta.Version, r.Meta.Epoch = uint32(version), f.number()
	switch {
	case f.err != nil:
		return events.Recorded{}, f.err
	case version > 1<<32-1:
		return events.Recorded{}, fmt.Errorf("%w: schema version %d", errLayout, version)
	case len(f.rest) != 0:
		return events.Recorded{}, fmt.Errorf("%w: %d", errLong, len(f.rest))
	}
	return r, nil
}

// fields reads lengths, bytes and numbers until something does not fit.
type fields struct {
	rest []byte
	err  error
}

func (f *fields) number() uint64 {
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.err, f.rest = errShort, nil
		return 0
	}
	f.rest = f.rest[size:]
	return n
}

func (f *fields) bytes() []byte {
	n := f.number()
	if n > uint64(len(f.rest)) {
		f.err, f.rest = errShort, nil
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

// maxInterned bounds an interner: names of streams and conversations are many,
// those near each other in a log are few.
const maxInterned = 1024

// interner returns the same string for the same bytes. Its zero value works;
// it is not safe for concurrent use.
type interner struct{ seen map[string]string }

func (n *interner) string(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.seen[string(b)]; ok {
		return s
	}
	if n.seen == nil || len(n.seen) >= maxInterned {
		n.seen = make(map[string]string)
	}
	s := string(b)
	n.seen[s] = s
	return s
}
