package transfer

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/hostnode/hostnode/events"
)

// A file consists of lines of JSON: a header; one line per event, in which data
// and metadata stay as they are if they are JSON; one line for each stream with
// metadata or a tombstone; and the end, with the number of events and the
// digest. The line of an event has the first bytes of the event's digest, so
// that damage is located.
const (
	fileFormat = "hostnode-events"
	// FileVersion is the version of the format that is written.
	FileVersion = 1
	// MaxLineBytes is the most bytes of a line: the largest event as base64, and
	// room for the rest.
	MaxLineBytes = (events.MaxEventBytes+2)/3*4 + 1<<20
	// markBytes of an event's digest stand in its line.
	markBytes = 8
)

// line is any line of the file; which kind it is follows from the fields that are set.
type line struct {
	// The header.
	Format  string `json:"format,omitempty"`
	Version int    `json:"version,omitempty"`

	// An event.
	Stream   string          `json:"stream,omitempty"`
	Revision *uint64         `json:"revision,omitempty"`
	ID       string          `json:"id,omitempty"`
	Type     string          `json:"type,omitempty"`
	Recorded *time.Time      `json:"recorded,omitempty"` // for people
	Binary   bool            `json:"binary,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	DataB64  []byte          `json:"dataBase64,omitempty"`
	Meta     json.RawMessage `json:"meta,omitempty"`
	MetaB64  []byte          `json:"metaBase64,omitempty"`
	Mark     string          `json:"mark,omitempty"`

	// Metadata or end of a stream.
	StreamMetadata json.RawMessage `json:"streamMetadata,omitempty"`
	Deleted        bool            `json:"deletedForGood,omitempty"`

	// The end.
	End *ending `json:"end,omitempty"`
}

type ending struct {
	Events  uint64 `json:"events"`
	Streams int    `json:"streams"`
	Digest  string `json:"digest"`
}

// ErrBadFile is what errors.Is finds in a *FileError.
var ErrBadFile = errors.New("not a complete export")

// FileError says where a file is not what Export wrote.
type FileError struct {
	Line int // from 1
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the reason, and ErrBadFile.
func (e *FileError) Unwrap() []error { return []error{ErrBadFile, e.Err} }

// mark returns the first bytes of the digest of a line.
func mark(i item, recorded time.Time) string {
	h := newHashing("line")
	h.text(i.stream)
	h.number(i.revision)
	h.Write(i.sum[:])
	h.number(uint64(recorded.UnixNano()))
	whole := h.sum()
	return hex.EncodeToString(whole[:markBytes])
}

// writer writes lines.
type writer struct {
	w   io.Writer
	buf bytes.Buffer
}

// eventLine writes an event. The bytes of data and metadata are put into the
// line as they are, because an encoder would change their spaces.
func (w *writer) eventLine(i item, recorded time.Time) error {
	recorded = recorded.UTC()
	head, err := json.Marshal(line{
		Stream: i.stream, Revision: &i.revision, ID: i.event.ID.String(), Type: i.event.Type,
		Recorded: &recorded, Binary: i.event.Binary, Mark: mark(i, recorded),
	})
	if err != nil {
		return err
	}
	w.buf.Reset()
	w.buf.Write(head[:len(head)-1])
	w.field("data", i.event.Data)
	w.field("meta", events.EncodeMetadata(i.event.Meta, i.event.Foreign))
	w.buf.WriteString("}\n")
	_, err = w.w.Write(w.buf.Bytes())
	return err
}

func (w *writer) field(name string, value []byte) {
	switch {
	case len(value) == 0:
	case embeds(value):
		fmt.Fprintf(&w.buf, `,"%s":`, name)
		w.buf.Write(value)
	default:
		fmt.Fprintf(&w.buf, `,"%sBase64":"`, name)
		e := base64.NewEncoder(base64.StdEncoding, &w.buf)
		_, _ = e.Write(value) // A buffer takes everything.
		_ = e.Close()
		w.buf.WriteByte('"')
	}
}

// embeds reports whether these bytes can be put into a line as a value, so that
// a decoder returns them unchanged.
func embeds(b []byte) bool {
	return json.Valid(b) && utf8.Valid(b) && !bytes.ContainsAny(b, "\n\r") &&
		len(bytes.TrimSpace(b)) == len(b) && string(b) != "null"
}

func (w *writer) line(l line) error { return json.NewEncoder(w.w).Encode(l) }
