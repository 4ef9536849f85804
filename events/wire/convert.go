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
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits:  int64(binary.BigEndian.Uint64(id[:8])),
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])),
	}}}
}

func stringID(id events.EventID) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_String_{String_: id.String()}}
}

// proposed is what plain and batched appends have in common.
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

// eventOverhead is what an event costs in memory besides its bytes.
const eventOverhead = 256

// cost is what an event that waits to be appended holds of the limits: itself,
// and the copy of it that the store encodes.
func cost(e events.NewEvent) int64 { return 2*int64(e.Size()) + eventOverhead }

// expected is what a request expects of a stream, by its options: each request has a type
// of its own for that, and all name the cases alike.
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

// revision checks a revision that a client names.
func revision(n uint64) (events.Expected, error) {
	if n > math.MaxInt64 {
		return events.Any(), invalid("revision %d is larger than any can be", n)
	}
	return events.Exact(n), nil
}

// recorded writes an event for a client.
func recorded(r events.Recorded, id func(events.EventID) *shared.UUID) *streams.ReadResp_ReadEvent_RecordedEvent {
	content := contentJSON
	if r.Binary {
		content = contentBinary
	}
	if r.Type == events.TypeTombstone { // It is behind every event that can be.
		r.Revision = math.MaxInt64
	}
	return &streams.ReadResp_ReadEvent_RecordedEvent{
		Id:               id(r.ID),
		StreamIdentifier: streamID(r.Stream),
		StreamRevision:   r.Revision,
		PreparePosition:  uint64(r.Position),
		CommitPosition:   uint64(r.Position),
		Metadata: map[string]string{
			keyType: r.Type, keyContentType: content,
			keyCreated: strconv.FormatInt(r.Recorded.UnixNano()/nanosPerTick, 10),
		},
		CustomMetadata: events.EncodeMetadata(r.Meta, r.Foreign),
		Data:           r.Data,
	}
}

// linkTo is the event that a virtual stream has in place of r: a link. Its
// id follows from its place, so that it is the same at every read.
func linkTo(r events.Recorded) events.Recorded {
	return events.Recorded{
		ID:       events.NewEventID(r.Link.Stream, fmt.Sprint("link ", r.Link.Revision), 0),
		Stream:   r.Link.Stream,
		Revision: r.Link.Revision,
		Position: r.Position,
		Type:     events.TypeLink,
		Data:     []byte(r.Link.Target),
		Foreign:  []byte(r.Link.Meta),
		Binary:   true,
		Recorded: r.Recorded,
	}
}
