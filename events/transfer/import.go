package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// Import writes the contents of a file to a store, as Copy does. When r is an
// io.Seeker at its start, the whole file is first read and compared with the
// target, so that a damaged file changes nothing. From a pipe, everything before
// the damage has been written; importing an undamaged file later goes on from
// there.
func Import(ctx context.Context, r io.Reader, to events.Store, o Options) (Report, error) {
	src := &fileSource{r: r}
	if seeker, ok := r.(io.Seeker); ok {
		// A pipe has the method as well, but it fails.
		if _, err := seeker.Seek(0, io.SeekStart); err == nil {
			src.seeker = seeker
		}
	}
	do := &run{source: src, to: to, options: o}
	if err := do.do(ctx); err != nil {
		return do.report, fmt.Errorf("import: %w", err)
	}
	do.report.Digest = do.seen.digest(0)
	return do.report, nil
}

// ReadFile reads a file to its end, and returns its digest.
func ReadFile(ctx context.Context, r io.Reader) (Digest, error) {
	t := tally{}
	if err := (&fileSource{r: r}).each(ctx, t.add); err != nil {
		return Digest{}, err
	}
	return t.digest(0), nil
}

// fileSource reads what Export wrote.
type fileSource struct {
	r      io.Reader
	seeker io.Seeker
}

func (f *fileSource) rewinds() bool { return f.seeker != nil }

func (f *fileSource) each(ctx context.Context, do func(item) error) error {
	if f.seeker != nil {
		if _, err := f.seeker.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read from the start: %w", err)
		}
	}
	d := decoder{seen: tally{}, do: do}
	lines := bufio.NewReaderSize(f.r, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := readLine(lines)
		d.number++
		if errors.Is(err, io.EOF) {
			return d.over()
		}
		if err == nil {
			err = d.line(text)
		}
		if err != nil {
			return d.at(err)
		}
	}
}

var (
	errLong      = fmt.Errorf("the line has more than %d bytes", MaxLineBytes)
	errUnended   = errors.New("the file ends within a line")
	errNoHeader  = errors.New("the first line is not the header of a hostnode export")
	errTruncated = errors.New("the file ends without its last line: a part of it is missing")
	errBehind    = errors.New("there is more after the last line")
)

// readLine returns the next line without its end; io.EOF when there is none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && whole == nil {
			return part[:len(part)-1], nil
		}
		whole = append(whole, part...)
		switch {
		case len(whole) > MaxLineBytes:
			return nil, errLong
		case err == nil:
			return whole[:len(whole)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(whole) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, errUnended
		default:
			return nil, fmt.Errorf("read: %w", err)
		}
	}
}

// decoder makes items of lines, and checks everything that can be checked in them.
type decoder struct {
	number int // of the line
	begun  bool
	ended  bool
	about  bool // lines about streams have begun; no event may follow
	seen   tally
	do     func(item) error
}

// passedOn is an error of the consumer of the items; the file is not to blame.
type passedOn struct{ error }

func (d *decoder) at(err error) error {
	if other, ok := errors.AsType[passedOn](err); ok {
		return other.error
	}
	return &FileError{Line: d.number, Err: err}
}

// over is the verdict at the end of the file.
func (d *decoder) over() error {
	switch {
	case !d.begun:
		return d.at(errNoHeader)
	case !d.ended:
		return d.at(errTruncated)
	}
	return nil
}

func (d *decoder) line(text []byte) error {
	var l line
	decode := json.NewDecoder(bytes.NewReader(text))
	decode.DisallowUnknownFields()
	err := decode.Decode(&l)
	if err == nil {
		if _, more := decode.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the JSON object")
		}
	}
	switch {
	case !d.begun && (err != nil || l.Format != fileFormat):
		return errNoHeader
	case err != nil:
		return fmt.Errorf("no line of an export: %w", err)
	case d.ended:
		return errBehind
	case !d.begun && l.Version != FileVersion:
		return fmt.Errorf("the export has version %d, this program reads version %d", l.Version, FileVersion)
	case !d.begun:
		d.begun = true
		return nil
	case l.End != nil:
		d.ended = true
		return d.end(*l.End)
	case l.ID == "" && (l.StreamMetadata != nil || l.Deleted):
		return d.aboutStream(l)
	}
	return d.event(l)
}

func (d *decoder) end(e ending) error {
	digest := d.seen.digest(0)
	if e.Events != digest.Events || e.Streams != len(digest.Streams) {
		return fmt.Errorf("the file should have %d events of %d streams, but it has %d of %d",
			e.Events, e.Streams, digest.Events, len(digest.Streams))
	}
	if e.Digest != digest.Sum.String() {
		return fmt.Errorf("the digest should be %.80s, but it is %s", e.Digest, digest.Sum)
	}
	return nil
}

func (d *decoder) aboutStream(l line) error {
	d.about = true
	i := item{stream: l.Stream, about: hasEnded}
	if !l.Deleted {
		i.about = hasMetadata
		var err error
		if i.metadata, err = events.ParseStreamMetadata(l.StreamMetadata); err != nil {
			return err
		}
	}
	return d.pass(i)
}

func (d *decoder) event(l line) error {
	if d.about {
		return errors.New("an event after the lines about streams")
	}
	if l.Revision == nil || l.Recorded == nil {
		return errors.New("an event without revision or time")
	}
	id, err := events.ParseEventID(l.ID)
	if err != nil {
		return err
	}
	i := item{stream: l.Stream, revision: *l.Revision}
	i.event = events.NewEvent{ID: id, Type: l.Type, Binary: l.Binary, Data: l.Data}
	if l.Data == nil {
		i.event.Data = l.DataB64
	}
	meta := []byte(l.Meta)
	if l.Meta == nil {
		meta = l.MetaB64
	}
	i.event.Meta, i.event.Foreign = events.DecodeMetadata(meta)
	if next := d.seen.of(l.Stream).next; i.revision != next {
		return fmt.Errorf("%.200s: event %d where event %d is due", l.Stream, i.revision, next)
	}
	i.sum = eventSum(i.event)
	if l.Mark != mark(i, *l.Recorded) {
		return fmt.Errorf("%.200s: event %d is not what was exported", l.Stream, i.revision)
	}
	return d.pass(i)
}

// pass checks for what the store would refuse, and passes the item on.
func (d *decoder) pass(i item) error {
	if !catalog.Streams().InRecord(i.stream) {
		return fmt.Errorf("%w: an export has nothing of stream %.80q", events.ErrMalformed, i.stream)
	}
	var batch []events.NewEvent
	if i.about == isEvent {
		batch = []events.NewEvent{i.event}
	}
	if err := events.CheckAppend(i.stream, batch); err != nil {
		return err
	}
	if err := d.seen.add(i); err != nil {
		return err
	}
	if err := d.do(i); err != nil {
		return passedOn{err}
	}
	return nil
}
