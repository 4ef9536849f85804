package commd

import (
	"fmt"
	"io"
)

// What undoes the padding of a stream, for tests: nothing else asks for it.

// Reader returns the payload of padded bytes. It does not know the payload's length: zeros that
// were added at the end stay.
type Reader struct {
	r     io.Reader
	quads uint64 // quads read so far
	in    [bufferQuads * QuadPadded]byte
	out   [bufferQuads * QuadPayload]byte
	left  []byte // rest of out that is not yet returned
	err   error
}

// NewReader returns a Reader of r, which must contain whole quads of 128 bytes.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read returns payload. It returns ErrMalformed when the bytes are not in FR32 form, and
// io.ErrUnexpectedEOF when a quad is cut.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *Reader) fill() {
	n, err := io.ReadFull(r.r, r.in[:])
	if err == io.ErrUnexpectedEOF && n%QuadPadded == 0 {
		err = io.EOF
	}
	r.err = err
	for i := range n / QuadPadded {
		if !UnpadQuad((*[QuadPayload]byte)(r.out[i*QuadPayload:]), (*[QuadPadded]byte)(r.in[i*QuadPadded:])) {
			r.err = fmt.Errorf("quad %d is not in FR32 form: %w", r.quads, ErrMalformed)
			n = i * QuadPadded
			break
		}
		r.quads++
	}
	r.left = r.out[:n/QuadPadded*QuadPayload]
}

// PadRoot is the root of a piece after zeros have made it larger.
func PadRoot(root Node, from, to uint64) (Node, error) {
	for _, size := range []uint64{from, to} {
		if err := CheckPieceSize(size); err != nil {
			return Node{}, err
		}
	}
	if from > to {
		return Node{}, fmt.Errorf("piece of %d bytes in %d: %w", from, to, ErrTooManyBytes)
	}
	for level := Depth(from); level < Depth(to); level++ {
		root = Parent(root, zeros[level])
	}
	return root, nil
}
