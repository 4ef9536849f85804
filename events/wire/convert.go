package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
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
	most, least := halves(id)
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: int64(most), LeastSignificantBits: int64(least),
	}}}
}

func halves(id events.EventID) (most, least uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
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

// eventOverhead is the memory that an event needs in addition to its bytes.
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
