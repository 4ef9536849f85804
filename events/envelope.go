package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Limits of what is stored. EventStoreDB takes 16 MiB an event in current
// releases and 1 MiB an append in older ones; ours stay below the smaller.
const (
	// MaxEventBytes is the most bytes of data and metadata of one event.
	MaxEventBytes = 900 << 10
	// MaxAppendEvents is the most events of one append.
	MaxAppendEvents = 4096
	// MaxStreamNameBytes is the most bytes of a stream's name.
	MaxStreamNameBytes = 1024
)

// EventID is a UUID. Ours are made by NewEventID, so that a repeated append is
// recognised.
type EventID [16]byte

func (id EventID) String() string { return uuid.UUID(id).String() }

// ParseEventID reads the usual text form of a UUID.
func ParseEventID(s string) (EventID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return EventID{}, fmt.Errorf("%w: event id %q: %w", ErrMalformed, clip(s), err)
	}
	return EventID(id), nil
}

// namespace separates our name-based ids from everybody else's.
const namespace = "b8e0ad2c-5a4c-5f34-9d7c-9d0c1c1f7a4e"

// NewEventID is the UUIDv5 of (stream, cause, ordinal): the same decision
// about the same cause always has the same ids (design §4).
func NewEventID(stream, cause string, ordinal int) EventID {
	name := stream + "\x00" + cause + "\x00" + strconv.Itoa(ordinal)
	return EventID(uuid.NewSHA1(uuid.MustParse(namespace), []byte(name)))
}

// NewEvent is an event that is to be appended.
type NewEvent struct {
	ID   EventID
	Type string // the stored name, from the codec table
	Data []byte // JSON
	Meta Metadata
}

// Recorded is an event as the store holds it.
type Recorded struct {
	ID       EventID
	Stream   string
	Revision uint64
	Position Position
	Type     string
	Data     []byte
	Meta     Metadata
	// Recorded is when the store wrote it, by the machine's clock. For people;
	// no decision uses it.
	Recorded time.Time
}

// Metadata is stored beside an event's data as a JSON object.
type Metadata struct {
	// Correlation is the conversation: the request id for everything that
	// belongs to a sale.
	Correlation string `json:"$correlationId,omitempty"`
	// Causation is the event, chain log or command that caused this event.
	Causation string `json:"$causationId,omitempty"`
	// Version is the schema version of the data, from the codec table.
	Version uint32 `json:"schemaVersion,omitempty"`
	// Epoch counts the starts of the host that wrote the event.
	Epoch uint64 `json:"hostEpoch,omitempty"`
	// Node is the name of the process that wrote the event.
	Node string `json:"node,omitempty"`
}

// Marshal encodes the metadata as a JSON object.
func (m Metadata) Marshal() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("events: metadata of plain fields does not encode: " + err.Error())
	}
	return b
}

// ParseMetadata decodes what Marshal wrote; unknown keys are kept out, because
// other writers may add their own.
func ParseMetadata(b []byte) (Metadata, error) {
	var m Metadata
	if len(b) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: event metadata: %w", ErrMalformed, err)
	}
	return m, nil
}

// CheckAppend says whether a store may take an append at all: names and sizes
// within the limits. Stores call it first.
func CheckAppend(stream string, batch []NewEvent) error {
	if stream == "" || len(stream) > MaxStreamNameBytes {
		return fmt.Errorf("%w: stream name of %d bytes, want 1 to %d",
			ErrMalformed, len(stream), MaxStreamNameBytes)
	}
	if len(batch) > MaxAppendEvents {
		return fmt.Errorf("%w: append of %d events to %s, the limit is %d",
			ErrTooLarge, len(batch), stream, MaxAppendEvents)
	}
	for _, e := range batch {
		if e.Type == "" {
			return fmt.Errorf("%w: event without a type for %s", ErrMalformed, stream)
		}
		n := len(e.Data) + len(e.Type) + len(e.Meta.Correlation) + len(e.Meta.Causation) + len(e.Meta.Node)
		if n > MaxEventBytes {
			return fmt.Errorf("%w: %s of %d bytes for %s, the limit is %d",
				ErrTooLarge, e.Type, n, stream, MaxEventBytes)
		}
	}
	return nil
}
