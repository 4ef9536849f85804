package events

import (
	"bytes"
	"crypto/sha1" // of which a UUIDv5 is made
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits of an append. Every store has the same.
const (
	// MaxEventBytes is the most bytes of name, data and metadata of one event:
	// EventStoreDB's limit.
	MaxEventBytes = 16 << 20
	// MaxAppendBytes is the most bytes of all events of one append.
	MaxAppendBytes = 64 << 20
	// MaxAppendEvents is the most events of one append.
	MaxAppendEvents = 32_768
	// PreferredAppendBytes is the most that hostnode itself appends at once:
	// older releases of EventStoreDB accept no more than 1 MiB.
	PreferredAppendBytes = 900 << 10
	// PreferredAppendEvents is the same limit as a number of events.
	PreferredAppendEvents = 4096
	// MaxStreamNameBytes is the most bytes of a stream's name that EventStoreDB
	// accepted in a test.
	MaxStreamNameBytes = 5000
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

// namespace keeps our name-based ids apart from those of other programs.
var namespace = uuid.MustParse("b8e0ad2c-5a4c-5f34-9d7c-9d0c1c1f7a4e")

// NewEventID is the UUIDv5 of (stream, cause, ordinal): deciding the same for
// the same cause again gives the same ids.
func NewEventID(stream, cause string, ordinal int) EventID {
	// The library's own function, uuid.NewSHA1, allocates five times for each id.
	const usual = 512
	b := append(make([]byte, 0, usual), namespace[:]...)
	b = append(append(b, stream...), 0)
	b = append(append(b, cause...), 0)
	sum := sha1.Sum(strconv.AppendInt(b, int64(ordinal), 10))
	id := EventID(sum[:16])
	id[6] = id[6]&0x0f | 5<<4 // version
	id[8] = id[8]&0x3f | 0x80 // variant
	return id
}

// ContentOf stands for what an event says, in its id.
func ContentOf(name string, data []byte) string {
	sum := sha256.Sum256(data)
	return name + "/" + hex.EncodeToString(sum[:8])
}

// NewEvent is an event that is to be appended.
type NewEvent struct {
	ID   EventID
	Type string // the stored name, from the codec table
	Data []byte // JSON, unless Binary
	Meta Metadata
	// Foreign is the metadata in bytes, when another program wrote it and Meta
	// cannot hold all of it; Meta then has the fields that it shares with ours.
	// Nil for hostnode's own events.
	Foreign []byte
	// Binary says that Data is not JSON.
	Binary bool
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
	Foreign  []byte
	Binary   bool
	// Link says where in a virtual stream this event was read; nil when it was
	// read from its own stream or from the log.
	Link *Link
	// Recorded is when the store wrote it, by the machine's clock. It is shown
	// to people; no decision uses it.
	Recorded time.Time
}

// Metadata is stored beside an event's data as a JSON object.
type Metadata struct {
	// Correlation is the conversation: the request id for everything that
	// belongs to a sale.
	Correlation string `json:"$correlationId,omitempty"`
	// Causation is the id of the event that caused this one. Events without a Cause
	// may have something else here: CauseKey says what.
	Causation string `json:"$causationId,omitempty"`
	// Cause is the key of the command, effect, block or log that caused this event;
	// ParseCause takes it apart. The ids of events follow from it.
	Cause string `json:"cause,omitempty"`
	// Version is the schema version of the data, from the codec table.
	Version uint32 `json:"schemaVersion,omitempty"`
	// Epoch counts the starts of the host that wrote the event.
	Epoch uint64 `json:"hostEpoch,omitempty"`
	// Node is the name of the process that wrote the event.
	Node string `json:"node,omitempty"`
}

// CauseKey is the key of what caused the event. In older records it is where the id
// of an event is today.
func (m Metadata) CauseKey() string {
	if m.Cause == "" {
		return m.Causation
	}
	return m.Cause
}

// Marshal encodes the metadata as a JSON object.
func (m Metadata) Marshal() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("events: metadata of plain fields does not encode: " + err.Error())
	}
	return b
}

// EncodeMetadata is an event's metadata as bytes: those of its writer if that
// was another program, nothing if there is none.
func EncodeMetadata(m Metadata, foreign []byte) []byte {
	switch {
	case foreign != nil:
		return foreign
	case m == Metadata{}:
		return nil
	}
	return m.Marshal()
}

// DecodeMetadata is the reverse: what Marshal wrote gives a nil foreign,
// anything else comes back byte for byte, with what could be understood of it
// as Metadata. It never fails, because any program may write metadata.
func DecodeMetadata(b []byte) (m Metadata, foreign []byte) {
	if len(b) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(b, &m); err != nil {
		m = Metadata{}
	}
	if m != (Metadata{}) && bytes.Equal(m.Marshal(), b) {
		return m, nil
	}
	return m, b
}

// CheckAppend reports whether an append is acceptable at all: names, ids and
// sizes within the limits. Stores call it first.
func CheckAppend(stream string, batch []NewEvent) error {
	switch {
	case stream == "" || len(stream) > MaxStreamNameBytes:
		return fmt.Errorf("%w: stream name of %d bytes, want 1 to %d",
			ErrMalformed, len(stream), MaxStreamNameBytes)
	case !utf8.ValidString(stream):
		return fmt.Errorf("%w: stream name %q is not UTF-8", ErrMalformed, clip(stream))
	case stream == metadataPrefix: // Such a stream name makes the process of an EventStoreDB exit.
		return fmt.Errorf("%w: %s is the metadata of a stream without a name", ErrMalformed, stream)
	case stream == logName:
		return fmt.Errorf("%w: %s is the log", ErrReadOnly, stream)
	case IsVirtual(stream):
		return fmt.Errorf("%w: %s is an index over other streams", ErrReadOnly, clip(stream))
	case len(batch) > MaxAppendEvents:
		return fmt.Errorf("%w: append of %d events to %s, the limit is %d",
			ErrTooLarge, len(batch), stream, MaxAppendEvents)
	}
	total := 0
	for _, e := range batch {
		n, err := checkEvent(stream, e)
		if err != nil {
			return err
		}
		total += n
	}
	if total > MaxAppendBytes {
		return fmt.Errorf("%w: append of %d bytes to %s, the limit is %d",
			ErrTooLarge, total, stream, MaxAppendBytes)
	}
	return nil
}

func checkEvent(stream string, e NewEvent) (size int, err error) {
	switch {
	case e.Type == "":
		return 0, fmt.Errorf("%w: event without a type for %s", ErrMalformed, stream)
	case !utf8.ValidString(e.Type):
		return 0, fmt.Errorf("%w: event type %q for %s is not UTF-8", ErrMalformed, clip(e.Type), stream)
	case e.Type == TypeTombstone:
		return 0, fmt.Errorf("%w: %s for %s is written by deleting the stream, not by an append",
			ErrMalformed, TypeTombstone, stream)
	case e.ID == EventID{}:
		return 0, fmt.Errorf("%w: event without an id for %s", ErrMalformed, stream)
	}
	size = e.Size()
	if size > MaxEventBytes {
		return 0, fmt.Errorf("%w: %s of %d bytes for %s, the limit is %d",
			ErrTooLarge, clip(e.Type), size, stream, MaxEventBytes)
	}
	if isMetadataStream(stream) && e.Type == TypeMetadata {
		m, err := ParseStreamMetadata(e.Data)
		if err == nil && m.UnusableACL() {
			err = fmt.Errorf("%w: stream metadata %s is no access control list", ErrMalformed, keyACL)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", stream, err)
		}
	}
	return size, nil
}

// Size is the number of bytes that count against the limits.
func (e NewEvent) Size() int {
	return len(e.Data) + len(e.Type) + len(e.Foreign) +
		len(e.Meta.Correlation) + len(e.Meta.Causation) + len(e.Meta.Cause) + len(e.Meta.Node)
}
