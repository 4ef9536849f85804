package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// Keys and values of the metadata that the protocol keeps for itself.
const (
	keyType        = "type"
	keyContentType = "content-type"
	keyCreated     = "created"

	contentJSON   = "application/json"
	contentBinary = "application/octet-stream"
)

// ticksPerNanos is the unit of times: .NET's ticks of 100 ns, since 1970.
const nanosPerTick = 100

// streamName reads the name of a stream.
func streamName(id *shared.StreamIdentifier) (string, error) {
	name := id.GetStreamName()
	switch {
	case len(name) == 0:
		return "", invalid("stream name is missing")
	case len(name) > events.MaxStreamNameBytes:
		return "", invalid("stream name of %d bytes, the limit is %d", len(name), events.MaxStreamNameBytes)
	case !utf8.Valid(name):
		return "", invalid("stream name %.60q is not UTF-8", name)
	}
	return string(name), nil
}

func streamID(name string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(name)}
}

// eventID reads an id in either of its forms.
func eventID(id *shared.UUID) (events.EventID, error) {
	switch v := id.GetValue().(type) {
	case *shared.UUID_Structured_:
		var b events.EventID
		binary.BigEndian.PutUint64(b[:8], uint64(v.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(b[8:], uint64(v.Structured.GetLeastSignificantBits()))
		return b, nil
	case *shared.UUID_String_:
		b, err := uuid.Parse(v.String_)
		if err != nil {
			return events.EventID{}, invalid("id %.60q is no UUID", v.String_)
		}
		return events.EventID(b), nil
	}
	return events.EventID{}, invalid("id is missing")
}

func structuredID(id events.EventID) *shared.UUID {
	var m struct { // Allocated as a whole, because there is one for each event.
		id   shared.UUID
		kind shared.UUID_Structured_
		bits shared.UUID_Structured
	}
	m.bits.MostSignificantBits = int64(binary.BigEndian.Uint64(id[:8]))
	m.bits.LeastSignificantBits = int64(binary.BigEndian.Uint64(id[8:]))
	m.kind.Structured = &m.bits
	m.id.Value = &m.kind
	return &m.id
}

func stringID(id events.EventID) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_String_{String_: id.String()}}
}

// proposed is what events of plain and of batched appends have in common.
type proposed interface {
	GetId() *shared.UUID
	GetMetadata() map[string]string
	GetCustomMetadata() []byte
	GetData() []byte
}

// newEvent reads an event that is to be appended.
func newEvent(p proposed) (events.NewEvent, error) {
	id, err := eventID(p.GetId())
	if err != nil {
		return events.NewEvent{}, err
	}
	kind, ok := p.GetMetadata()[keyType]
	if !ok {
		return events.NewEvent{}, missingProperty(keyType)
	}
	content, ok := p.GetMetadata()[keyContentType]
	if !ok {
		return events.NewEvent{}, missingProperty(keyContentType)
	}
	if kind == events.TypeTombstone {
		return events.NewEvent{}, invalid("events of type %s are written by tombstoning a stream", kind)
	}
	e := events.NewEvent{ID: id, Type: kind, Data: p.GetData(), Binary: content != contentJSON}
	e.Meta, e.Foreign = events.DecodeMetadata(p.GetCustomMetadata())
	return e, nil
}

// eventOverhead is the memory that an event needs besides its bytes.
const eventOverhead = 256

// cost is the memory that is reserved for an event waiting to be appended: for
// the event, and for the copy that the store encodes.
func cost(e events.NewEvent) int64 { return 2*int64(e.Size()) + eventOverhead }

// expected converts a request's expectation of a stream. Each request has its own type
// for that, and all name the cases alike.
func expected(what string, options proto.Message) (events.Expected, error) {
	m := options.ProtoReflect()
	for f, v := range m.Range {
		switch f.Name() {
		case "revision", "stream_position":
			return revision(v.Uint())
		case "no_stream":
			return events.NoStream(), nil
		case "any":
			return events.Any(), nil
		case "stream_exists":
			return events.StreamExists(), nil
		}
	}
	return events.Any(), invalid("%s: expected revision is missing", what)
}

// noRevision is a number by which clients say that no stream is expected.
const noRevision = math.MaxUint64

// revision checks a revision from a client.
func revision(n uint64) (events.Expected, error) {
	if n == noRevision {
		return events.NoStream(), nil
	}
	if n > math.MaxInt64 {
		return events.Any(), invalid("revision %d is larger than any can be", n)
	}
	return events.Exact(n), nil
}

// recorded converts an event for a client.
func recorded(r events.Recorded, id func(events.EventID) *shared.UUID) *streams.ReadResp_ReadEvent_RecordedEvent {
	content := contentJSON
	if r.Binary {
		content = contentBinary
	}
	if r.Type == events.TypeTombstone { // It is behind every event that can be.
		r.Revision = math.MaxInt64
	}
	var m struct {
		event  streams.ReadResp_ReadEvent_RecordedEvent
		stream shared.StreamIdentifier
	}
	e := &m.event
	m.stream.StreamName = []byte(r.Stream)
	e.StreamIdentifier = &m.stream
	e.Id, e.StreamRevision = id(r.ID), r.Revision
	e.PreparePosition, e.CommitPosition = uint64(r.Position), uint64(r.Position)
	e.CustomMetadata, e.Data = events.EncodeMetadata(r.Meta, r.Foreign), r.Data
	var created [20]byte
	ticks := strconv.AppendInt(created[:0], r.Recorded.UnixNano()/nanosPerTick, 10)
	b := make([]byte, 0, len(r.Type)+96)
	b = appendEntry(b, keyType, []byte(r.Type))
	b = appendEntry(b, keyContentType, []byte(content))
	e.ProtoReflect().SetUnknown(appendEntry(b, keyCreated, ticks))
	return e
}

// recordedMetadata is the field of a recorded event with its type. It is encoded
// here and set as an unknown field, which is sent as it is. That is cheaper than a
// map, whose entries protobuf measures and encodes one by one by reflection.
const recordedMetadata protowire.Number = 6

// appendEntry appends an entry of that map.
func appendEntry(b []byte, key string, value []byte) []byte {
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(key)) +
		protowire.SizeTag(2) + protowire.SizeBytes(len(value))
	b = protowire.AppendTag(b, recordedMetadata, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), key)
	return protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), value)
}

// linkTo is the link that a virtual stream has in place of r. Its id follows
// from its revision, so that it is the same at every read.
func linkTo(r events.Recorded) events.Recorded {
	return events.Recorded{
		ID:       events.NewEventID(r.Link.Stream, fmt.Sprint("link ", r.Link.Revision), 0),
		Stream:   r.Link.Stream,
		Revision: r.Link.Revision,
		Position: r.Position,
		Type:     events.TypeLink,
		Data:     []byte(r.Link.Target),
		Foreign:  []byte(r.Link.Metadata()),
		Binary:   true,
		Recorded: r.Recorded,
	}
}
