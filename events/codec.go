package events

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Errors of the codec.
var (
	// ErrUnknownEvent: the table has no such stored name. The data may have
	// been written by a newer version of hostnode.
	ErrUnknownEvent = errors.New("unknown event type")
	// ErrNewerEvent: the event has a schema version that this build does not
	// know. It was written by a newer version of hostnode.
	ErrNewerEvent = errors.New("event has a newer schema version")
)

// Entry is one line of a codec table: how one event is stored.
type Entry struct {
	// Name is the stored name. It never changes, whatever happens to the Go type.
	Name string
	// Version is the current schema version, from 1.
	Version uint32
	// Example is a complete, valid event; it also says which message this is.
	Example proto.Message
	// Check validates what the message's schema cannot say (ids, amounts, times).
	// It may be nil. It is called on encoding and on decoding.
	Check func(proto.Message) error
}

// Codec encodes the events of one or more machines. It is immutable and safe
// for concurrent use.
type Codec struct {
	byName    map[string]Entry
	byMessage map[protoreflect.FullName]Entry
}

// NewCodec joins tables into a codec. Two entries with one name or one message
// are a mistake of ours and panic.
func NewCodec(tables ...[]Entry) *Codec {
	c := &Codec{map[string]Entry{}, map[protoreflect.FullName]Entry{}}
	for _, e := range slices.Concat(tables...) {
		full := e.Example.ProtoReflect().Descriptor().FullName()
		if _, twice := c.byName[e.Name]; twice {
			panic("events: two codec entries named " + e.Name)
		}
		if _, twice := c.byMessage[full]; twice {
			panic("events: two codec entries for " + string(full))
		}
		c.byName[e.Name], c.byMessage[full] = e, e
	}
	return c
}

// Entries yields the table in order of the stored names.
func (c *Codec) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.byName)) {
			if !yield(c.byName[name]) {
				return
			}
		}
	}
}

// Encode turns a message into its stored name, schema version and JSON.
func (c *Codec) Encode(m proto.Message) (name string, version uint32, data []byte, err error) {
	full := m.ProtoReflect().Descriptor().FullName()
	e, ok := c.byMessage[full]
	if !ok {
		return "", 0, nil, fmt.Errorf("encode %s: %w", full, ErrUnknownEvent)
	}
	if e.Check != nil {
		if err := e.Check(m); err != nil {
			return "", 0, nil, fmt.Errorf("encode %s: %w", e.Name, err)
		}
	}
	data, err = protojson.Marshal(m)
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode %s: %w", e.Name, err)
	}
	return e.Name, e.Version, data, nil
}

// Decode turns a recorded event into its message. Unknown names, newer
// versions, unknown fields and malformed values are errors: a fold must never
// meet them.
func (c *Codec) Decode(r Recorded) (proto.Message, error) {
	where := fmt.Sprintf("decode %s at %s revision %d", clip(r.Type), clip(r.Stream), r.Revision)
	e, ok := c.byName[r.Type]
	if !ok {
		return nil, fmt.Errorf("%s: %w", where, ErrUnknownEvent)
	}
	if r.Meta.Version > e.Version {
		return nil, fmt.Errorf("%s: %w: %d, this build knows %d", where, ErrNewerEvent, r.Meta.Version, e.Version)
	}
	m := e.Example.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(r.Data, m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where, ErrMalformed, err)
	}
	if e.Check != nil {
		if err := e.Check(m); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	return m, nil
}
