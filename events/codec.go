package events

import (
	"bytes"
	"encoding/json"
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

// newerHint tells an operator what to do about events that this build cannot read.
const newerHint = "if a newer hostnode wrote it, upgrade this one, or go on with the newer one; nothing was changed"

// Entry is one line of a codec table: how one kind of event is stored.
type Entry struct {
	// Name is the stored name. It never changes, whatever happens to the Go type.
	Name string
	// Version is the current schema version, from 1.
	Version uint32
	// Example is a complete, valid event; it also tells which message the entry is for.
	Example proto.Message
	// Check validates what the message's schema cannot say (ids, amounts, times).
	// It may be nil. It is called on encoding and on decoding.
	Check func(proto.Message) error
	// Aliases are older stored names of the same event. They are read for ever
	// and never written.
	Aliases []string
	// Upcasters lead from each older version to the next: the first turns data
	// of version 1 into data of version 2. There is one for every version below
	// the current one. They are applied on reading; what is stored stays as it is.
	Upcasters []Upcaster
}

// check says why an entry is unusable.
func (e Entry) check() error {
	if e.Version == 0 || len(e.Upcasters) != int(e.Version)-1 {
		return fmt.Errorf("version %d with %d upcasters: each version below needs one", e.Version, len(e.Upcasters))
	}
	for i, up := range e.Upcasters {
		if up == nil {
			return fmt.Errorf("no upcaster leads from version %d to %d", i+1, i+2)
		}
	}
	return nil
}

// Codec encodes the events of one or more machines. It is immutable and safe
// for concurrent use.
type Codec struct {
	byName    map[string]Entry // by stored name and by alias
	byMessage map[protoreflect.FullName]Entry
}

// NewCodec joins tables into a codec. It panics when two entries have the same
// name or message, or when an upcaster is missing: those are bugs.
func NewCodec(tables ...[]Entry) *Codec {
	c := &Codec{map[string]Entry{}, map[protoreflect.FullName]Entry{}}
	for _, e := range slices.Concat(tables...) {
		if err := e.check(); err != nil {
			panic("events: codec entry " + e.Name + ": " + err.Error())
		}
		full := e.Example.ProtoReflect().Descriptor().FullName()
		if _, twice := c.byMessage[full]; twice {
			panic("events: two codec entries for " + string(full))
		}
		c.byMessage[full] = e
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			if _, twice := c.byName[name]; twice {
				panic("events: two codec entries named " + name)
			}
			c.byName[name] = e
		}
	}
	return c
}

// Entries yields the table in order of the stored names.
func (c *Codec) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.byName)) {
			if e := c.byName[name]; e.Name == name && !yield(e) {
				return
			}
		}
	}
}

// Current returns the present name for a stored name, which may be an alias;
// false when the table has neither.
func (c *Codec) Current(stored string) (name string, known bool) {
	e, known := c.byName[stored]
	return e.Name, known
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
	// The JSON is longer than the message by the names of its fields, about.
	const names = 128
	data, err = protojson.MarshalOptions{}.MarshalAppend(make([]byte, 0, proto.Size(m)+names), m)
	if err == nil {
		data, err = withoutSpaces(data)
	}
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode %s: %w", e.Name, err)
	}
	return e.Name, e.Version, data, nil
}

// withoutSpaces removes the spaces that some builds put between tokens and others do not
// (google.golang.org/protobuf/internal/detrand): ids depend on the bytes.
func withoutSpaces(data []byte) ([]byte, error) {
	if !bytes.Contains(data, []byte(`, "`)) && !bytes.Contains(data, []byte(`": `)) {
		return data, nil
	}
	out := bytes.NewBuffer(make([]byte, 0, len(data)))
	err := json.Compact(out, data)
	return out.Bytes(), err
}

// Decode turns a recorded event into its message, in the current version of its
// schema. Unknown names, newer versions, unknown fields and malformed values
// are errors: a fold must never meet them. An event without a version has
// version 1.
func (c *Codec) Decode(r Recorded) (proto.Message, error) {
	where := func() string {
		return fmt.Sprintf("decode %s at %s revision %d", clip(r.Type), clip(r.Stream), r.Revision)
	}
	e, ok := c.byName[r.Type]
	if !ok {
		return nil, fmt.Errorf("%s: %w; %s", where(), ErrUnknownEvent, newerHint)
	}
	version := max(r.Meta.Version, 1)
	if version > e.Version {
		return nil, fmt.Errorf("%s: %w: %d, this build knows %d; %s",
			where(), ErrNewerEvent, version, e.Version, newerHint)
	}
	data := r.Data
	for _, up := range e.Upcasters[version-1:] {
		var err error
		if data, err = up(data); err != nil {
			return nil, fmt.Errorf("%s: %w: from version %d to %d: %w", where(), ErrMalformed, version, version+1, err)
		}
		version++
	}
	m := e.Example.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where(), ErrMalformed, err)
	}
	if e.Check != nil {
		if err := e.Check(m); err != nil {
			return nil, fmt.Errorf("%s: %w", where(), err)
		}
	}
	return m, nil
}
