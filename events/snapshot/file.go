package snapshot

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/messages"
)

// Coder writes the parts of a state, or reads them. One function walks through the parts for both, so
// neither can forget one.
type Coder struct {
	code    func(any) error
	reading bool
	err     error
}

// Reading reports whether the parts are read.
func (c *Coder) Reading() bool { return c.reading }

// Parts writes or reads what the pointers point to, as gob does: of structs the exported fields, maps in no
// order, and no difference between an empty list and none. What was zero is not read over what is there.
func (c *Coder) Parts(pointers ...any) {
	for _, p := range pointers {
		if c.err == nil {
			c.err = c.code(p)
		}
	}
}

// Refuse ends the reading if a part is impossible.
func (c *Coder) Refuse(why error) {
	if c.err == nil {
		c.err = why
	}
}

// Encode returns what a walk writes.
func Encode(walk func(*Coder)) ([]byte, error) {
	var state bytes.Buffer
	c := Coder{code: gob.NewEncoder(&state).Encode}
	walk(&c)
	return state.Bytes(), c.err
}

// Decode lets the same walk read it. All errors are events.ErrMalformed.
func Decode(state []byte, walk func(*Coder)) error {
	c := Coder{code: gob.NewDecoder(bytes.NewReader(state)).Decode, reading: true}
	if walk(&c); c.err != nil {
		return fmt.Errorf("%w: %w", events.ErrMalformed, c.err)
	}
	return nil
}

// File keeps one snapshot of a state of the whole log: a line of JSON, which is a messages.SnapshotPart without
// its payload, and then the payload.
type File struct {
	Path   string
	Schema string
	// Most is the largest file that is read: with a larger one it is better to read the events.
	Most int64
}

// Save replaces the file. At any moment there is either the old one or the new one.
func (f File) Save(last Event, state []byte) error {
	s := Snapshot{Schema: f.Schema, Last: last, Pieces: [][]byte{state}}
	line, err := protojson.Marshal(s.part())
	if err != nil {
		return err
	}
	return durable.Replace(f.Path, line, []byte("\n"), state)
}

// Load lets a walk read the file, if its state is of this store. The error is the store's.
func (f File) Load(ctx context.Context, store events.Store, walk func(*Coder)) (found Found, err error) {
	s, why := f.read()
	if why == nil {
		why, err = s.verify(ctx, store, f.Schema, "")
	}
	if why == nil && err == nil {
		why = Decode(s.Pieces[0], walk)
	}
	switch {
	case errors.Is(why, fs.ErrNotExist):
	case errors.Is(why, ErrSchema): // Its name is long, and says nothing to a person.
		found.Ignored = []error{fmt.Errorf("%s: %w: it was made by another version, or with other options",
			f.Path, ErrSchema)}
	case why != nil:
		found.Ignored = []error{fmt.Errorf("%s: %w", f.Path, why)}
	default:
		found.Last, found.Usable = s.Last, err == nil
	}
	return found, err
}

func (f File) read() (s Snapshot, err error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return s, err
	}
	if info.Size() > f.Most {
		return s, fmt.Errorf("%d bytes, the limit is %d", info.Size(), f.Most)
	}
	file, err := os.ReadFile(f.Path)
	if err != nil {
		return s, err
	}
	line, state, _ := bytes.Cut(file, []byte("\n"))
	part := &messages.SnapshotPart{}
	if err := protojson.Unmarshal(line, part); err != nil {
		return s, errors.New("it does not begin like one") // What the decoder says is about its own letters.
	}
	if _, err := events.ParseEventID(part.GetEventId()); err != nil {
		return s, err
	}
	part.Payload = state
	return run{part}.snapshot(), nil
}
