package wire

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hostnode/hostnode/events"
)

// Fields of the answer with an event, which is encoded here: reading is mostly making these, and
// messages for protobuf to encode take several times as long. A test compares it with protobuf's.
const (
	answerEvent protowire.Number = 1 // ReadResp.event

	readEvent    protowire.Number = 1 // ReadResp.ReadEvent
	readLink     protowire.Number = 2
	readPosition protowire.Number = 3

	recordedID       protowire.Number = 1 // ReadResp.ReadEvent.RecordedEvent
	recordedStream   protowire.Number = 2
	recordedRevision protowire.Number = 3
	recordedPrepare  protowire.Number = 4
	recordedCommit   protowire.Number = 5
	recordedMetadata protowire.Number = 6
	recordedCustom   protowire.Number = 7
	recordedData     protowire.Number = 8

	uuidStructured protowire.Number = 1 // UUID
	uuidString     protowire.Number = 2
	uuidMost       protowire.Number = 1 // UUID.Structured
	uuidLeast      protowire.Number = 2

	streamNameField protowire.Number = 3 // StreamIdentifier
)

const (
	// prefixRoom is for the field and the length of an answer.
	prefixRoom = 1 + 5
	// suffixRoom is for what comes behind an event: the position.
	suffixRoom = 1 + 10
	// nanosPerTick is the unit of times: .NET's ticks of 100 ns, since 1970.
	nanosPerTick = 100
)

// encoded is an answer in its bytes.
type encoded []byte

// answer encodes an event that was found at a position, with the link that led to it; one of them
// may be nil.
func (c *reader) answer(at events.Position, event, link *events.Recorded) encoded {
	b := c.prefix[:]
	b = c.appendRecorded(b, readLink, link) // First, because an event may be large, and would be copied.
	b = c.appendRecorded(b, readEvent, event)
	b = appendUint(b, readPosition, uint64(at))
	var prefix [prefixRoom]byte
	front := protowire.AppendTag(prefix[:0], answerEvent, protowire.BytesType)
	front = protowire.AppendVarint(front, uint64(len(b)-prefixRoom))
	b = b[prefixRoom-len(front):]
	copy(b, front)
	return b
}

// appendRecorded appends an event as a field of a message.
func (c *reader) appendRecorded(b []byte, field protowire.Number, r *events.Recorded) []byte {
	if r == nil {
		return b
	}
	custom := events.EncodeMetadata(r.Meta, r.Foreign)
	c.scratch = c.appendFacts(c.scratch[:0], r)
	size := len(c.scratch) + sizeBytes(recordedCustom, len(custom)) + sizeBytes(recordedData, len(r.Data))
	b = slices.Grow(b, sizeBytes(field, size)+suffixRoom)
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, c.scratch...)
	b = appendBytes(b, recordedCustom, custom)
	return appendBytes(b, recordedData, r.Data)
}

// appendFacts appends what of an event is never large.
func (c *reader) appendFacts(b []byte, r *events.Recorded) []byte {
	var inner [64]byte
	if c.structured {
		most, least := halves(r.ID)
		bits := appendUint(appendUint(inner[32:32], uuidMost, most), uuidLeast, least)
		b = appendBytes(b, recordedID, appendBytes(inner[:0], uuidStructured, bits))
	} else {
		b = appendBytes(b, recordedID, appendBytes(inner[:0], uuidString, []byte(r.ID.String())))
	}
	b = protowire.AppendTag(b, recordedStream, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeBytes(streamNameField, len(r.Stream))))
	b = protowire.AppendString(protowire.AppendTag(b, streamNameField, protowire.BytesType), r.Stream)
	revision := r.Revision
	if r.Type == events.TypeTombstone { // It is behind every event that can be.
		revision = math.MaxInt64
	}
	b = appendUint(b, recordedRevision, revision)
	b = appendUint(b, recordedPrepare, uint64(r.Position))
	b = appendUint(b, recordedCommit, uint64(r.Position))
	content := contentJSON
	if r.Binary {
		content = contentBinary
	}
	b = appendEntry(b, keyType, r.Type)
	b = appendEntry(b, keyContentType, content)
	ticks := strconv.AppendInt(inner[:0], r.Recorded.UnixNano()/nanosPerTick, 10)
	return appendEntry(b, keyCreated, string(ticks))
}

// appendEntry appends an entry of an event's map.
func appendEntry(b []byte, key, value string) []byte {
	b = protowire.AppendTag(b, recordedMetadata, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeBytes(1, len(key))+sizeBytes(2, len(value))))
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), key)
	return protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), value)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendUint(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func sizeBytes(field protowire.Number, n int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(n)
}
