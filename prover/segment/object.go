package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/prover/commd"
)

// Object is an aggregate's bytes without the padding, as they are given to a storage provider: the payloads with
// zeros behind each, zeros, and the index. It can seek, so a part is read without what is before it. It keeps at most
// one piece open, and nothing of what it read. It implements io.ReadSeekCloser.
type Object struct {
	layout

	list []Piece
	open func(i int, offset uint64) (io.ReadCloser, error)
	pos  uint64

	payload io.ReadCloser // of the piece that is open, or nil
	piece   uint64
	next    uint64 // where in the payload it goes on
}

// NewObject returns the object of an aggregate with these pieces, the largest first, with their payloads. open
// opens a piece's payload from an offset on; it is not called for what is not read. The errors are those of Place, and
// ErrPiece for a payload that its piece cannot have.
func NewObject(
	size uint64, pieces []Piece, open func(i int, offset uint64) (io.ReadCloser, error),
) (*Object, error) {
	l, err := place(size, pieces)
	if err != nil {
		return nil, err
	}
	for i, p := range pieces {
		if p.Payload < commd.MinPayload || p.Payload > commd.PayloadRoom(p.Size) {
			return nil, fmt.Errorf("piece %d: payload of %d bytes in %d: %w", i, p.Payload, p.Size, ErrPiece)
		}
	}
	return &Object{layout: l, list: pieces, open: open}, nil
}

// Seek implements io.Seeker. It does not read or open anything.
func (o *Object) Seek(offset int64, whence int) (int64, error) {
	from := [...]uint64{io.SeekStart: 0, io.SeekCurrent: o.pos, io.SeekEnd: commd.PayloadRoom(o.size)}
	if whence < 0 || whence >= len(from) || int64(from[whence])+offset < 0 { //nolint:gosec // At most 2^63-1.
		return 0, fmt.Errorf("seek to %d from %d: %w", offset, whence, ErrMalformed)
	}
	o.pos = from[whence] + uint64(offset) //nolint:gosec // The sum is not negative.
	return int64(o.pos), nil              //nolint:gosec // As before.
}

// Close closes the piece that is open.
func (o *Object) Close() (err error) {
	if o.payload != nil {
		err = o.payload.Close()
		o.payload = nil
	}
	return err
}

// Read implements io.Reader. It returns ErrPayload when a piece's payload ends early or goes on.
func (o *Object) Read(p []byte) (n int, err error) {
	used, index := commd.PayloadRoom(o.used), commd.PayloadRoom(Room(o.size))
	for n < len(p) && err == nil {
		var did int
		switch rest := p[n:]; {
		case o.pos < used:
			did, err = o.readPiece(rest)
		case o.pos < index:
			did = zero(rest, index-o.pos)
		case o.pos < commd.PayloadRoom(o.size):
			did = o.readIndex(rest, o.pos-index)
		default:
			return n, io.EOF
		}
		n += did
		o.pos += uint64(did) //nolint:gosec // Not negative.
	}
	return n, err
}

// zero clears at most so many bytes.
func zero(p []byte, most uint64) int {
	p = p[:min(uint64(len(p)), most)]
	clear(p)
	return len(p)
}

func (o *Object) readPiece(p []byte) (int, error) {
	i, begin, size := o.at(o.pos / commd.QuadPayload * commd.QuadPadded)
	within := o.pos - commd.PayloadRoom(begin)
	payload := o.list[i].Payload
	if within >= payload {
		return zero(p, commd.PayloadRoom(size)-within), nil
	}
	if o.payload == nil || o.piece != i || o.next != within {
		err := o.Close()
		if err == nil {
			o.payload, err = o.open(int(i), within) //nolint:gosec // At most 2^19.
		}
		if err != nil {
			return 0, fmt.Errorf("piece %d at %d: %w", i, within, err)
		}
		o.piece, o.next = i, within
	}
	n, err := o.payload.Read(p[:min(uint64(len(p)), payload-within)])
	o.next += uint64(n) //nolint:gosec // Not negative.
	var more [1]byte
	if o.next == payload && err == nil {
		_, err = io.ReadFull(o.payload, more[:])
	}
	switch {
	case o.next == payload && errors.Is(err, io.EOF):
		err = o.Close()
	case o.next == payload && err == nil:
		err = fmt.Errorf("it goes on behind %d: %w", payload, ErrPayload)
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("it ends at %d of %d: %w", o.next, payload, ErrPayload)
	}
	if err != nil {
		return n, fmt.Errorf("piece %d, %s: %w", i, commd.CID(o.list[i].Root), errors.Join(err, o.Close()))
	}
	return n, nil
}

// readIndex reads from a part of the index, two entries at most: a quad.
func (o *Object) readIndex(p []byte, at uint64) int {
	first := at / commd.QuadPayload * 2
	if first >= o.n {
		return zero(p, commd.PayloadRoom(EntrySize*Entries(o.size))-at)
	}
	var padded [commd.QuadPadded]byte
	for i := first; i < min(first+2, o.n); i++ {
		_, offset := o.locate(i)
		putEntry(padded[(i-first)*EntrySize:], o.list[i].Root, offset, o.list[i].Size)
	}
	var quad [commd.QuadPayload]byte
	commd.UnpadQuad(&quad, &padded) // Entries are always in FR32 form.
	return copy(p, quad[at%commd.QuadPayload:])
}
