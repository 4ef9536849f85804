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
//	flags                         1 byte, not in layout 1
//	cause                         length and bytes, only with its flag
//	foreign metadata              the same
//
// Position and revision are in the key and in the index too: a record that
// ended up in the wrong place does not pass as the right one.
const (
	recordLayout1 = 1 // of format 1: without flags and foreign metadata
	recordLayout2 = 2
	crcBytes      = 4
	idBytes       = 16
	headerBytes   = crcBytes + 1 + 3*numberBytes
	maxUvarint    = binary.MaxVarintLen64

	flagBinary  = 1 << 0 // the data is no JSON
	flagForeign = 1 << 1 // another writer's metadata follows
	flagCause   = 1 << 2 // the cause's key follows; since format 3
)

// crcTable is Castagnoli's polynomial, which processors compute in hardware.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// encodeRecord is the record of an event without its header, which sealRecord
// fills in when the event has its place.
func encodeRecord(stream string, e events.NewEvent) []byte {
	size := headerBytes + len(e.ID) + len(stream) + len(e.Type) + len(e.Meta.Correlation) +
		len(e.Meta.Causation) + len(e.Meta.Cause) + len(e.Meta.Node) + len(e.Data) + len(e.Foreign) + 10*maxUvarint + 1
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
	b = binary.AppendUvarint(b, e.Meta.Epoch)
	var flags byte
	if e.Binary {
		flags |= flagBinary
	}
	if e.Meta.Cause != "" {
		flags |= flagCause
	}
	if e.Foreign != nil {
		flags |= flagForeign
	}
	b = append(b, flags)
	if e.Meta.Cause != "" {
		b = binary.AppendUvarint(b, uint64(len(e.Meta.Cause)))
		b = append(b, e.Meta.Cause...)
	}
	if e.Foreign != nil {
		b = binary.AppendUvarint(b, uint64(len(e.Foreign)))
		b = append(b, e.Foreign...)
	}
	return b
}

// sealRecord gives a record its place, its time and its checksum.
func sealRecord(b []byte, position events.Position, revision uint64, at time.Time) {
	b[crcBytes] = recordLayout2
	place := b[crcBytes+1:]
	binary.BigEndian.PutUint64(place, uint64(position))
	binary.BigEndian.PutUint64(place[8:], revision)
	binary.BigEndian.PutUint64(place[16:], uint64(at.UnixNano()))
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[crcBytes:], crcTable))
}

// checkRecord says whether a record is whole and of a layout that is known.
func checkRecord(b []byte) error {
	if len(b) < headerBytes+idBytes {
		return fmt.Errorf("%w: %d bytes", errShort, len(b))
	}
	if got, want := crc32.Checksum(b[crcBytes:], crcTable), binary.BigEndian.Uint32(b); got != want {
		return fmt.Errorf("%w: is %08x, stored %08x", errChecksum, got, want)
	}
	if b[crcBytes] != recordLayout1 && b[crcBytes] != recordLayout2 {
		return fmt.Errorf("%w: %d", errLayout, b[crcBytes])
	}
	return nil
}

// recordTime is when the event of a checked record was recorded.
func recordTime(b []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(b[crcBytes+1+2*numberBytes:]))).UTC()
}

// decodeRecord reads a record and copies what it keeps. The strings go through
// names, because the same few come again and again.
func decodeRecord(b []byte, names *interner) (events.Recorded, error) {
	if err := checkRecord(b); err != nil {
		return events.Recorded{}, err
	}
	place := b[crcBytes+1:]
	r := events.Recorded{
		Position: events.Position(binary.BigEndian.Uint64(place)),
		Revision: binary.BigEndian.Uint64(place[8:]),
		Recorded: recordTime(b),
		ID:       events.EventID(b[headerBytes : headerBytes+idBytes]),
	}
	f := fields{rest: b[headerBytes+idBytes:]}
	r.Stream = names.string(f.bytes())
	r.Type = names.string(f.bytes())
	r.Meta.Correlation = names.string(f.bytes())
	r.Meta.Causation = string(f.bytes())
	r.Meta.Node = names.string(f.bytes())
	r.Data = append(make([]byte, 0), f.bytes()...)
	version := f.number()
	r.Meta.Version, r.Meta.Epoch = uint32(version), f.number()
	if b[crcBytes] == recordLayout2 {
		f.additions(&r)
	}
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

// additions reads what layout 2 has and layout 1 has not.
func (f *fields) additions(r *events.Recorded) {
	if len(f.rest) == 0 {
		f.err = errShort
		return
	}
	flags := f.rest[0]
	f.rest = f.rest[1:]
	if flags&^(flagBinary|flagForeign|flagCause) != 0 {
		f.err = fmt.Errorf("%w: flags %x", errLayout, flags)
	}
	r.Binary = flags&flagBinary != 0
	if flags&flagCause != 0 {
		r.Meta.Cause = string(f.bytes())
	}
	if flags&flagForeign != 0 {
		r.Foreign = append(make([]byte, 0), f.bytes()...)
	}
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
