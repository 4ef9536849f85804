package commd

import (
	"encoding/binary"
	"fmt"
	"io"
)

// What undoes the padding, for tests: nothing else asks for it.

// unpadQuad is the reverse. It returns false when bits are set that the padding leaves zero.
func unpadQuad(dst *[quadPayload]byte, src *[quadPadded]byte) bool {
	var out [17]uint64
	for i := range 16 {
		word := binary.LittleEndian.Uint64(src[8*i:])
		if i%4 == 3 && word&^uint64(topWord) != 0 {
			return false
		}
		at := 254*(i/4) + 64*(i%4)
		out[at/64] |= word << (at % 64)
		if at%64 != 0 {
			out[at/64+1] |= word >> (64 - at%64)
		}
	}
	for i := range 15 {
		binary.LittleEndian.PutUint64(dst[8*i:], out[i])
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], out[15])
	copy(dst[120:], last[:7])
	return true
}

// Reader returns the payload of padded bytes. It does not know the payload's length: zeros that
// were added at the end stay.
type Reader struct {
	r     io.Reader
	quads uint64 // quads read so far
	in    [bufferQuads * quadPadded]byte
	out   [bufferQuads * quadPayload]byte
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
	if err == io.ErrUnexpectedEOF && n%quadPadded == 0 {
		err = io.EOF
	}
	r.err = err
	for i := range n / quadPadded {
		if !unpadQuad((*[quadPayload]byte)(r.out[i*quadPayload:]), (*[quadPadded]byte)(r.in[i*quadPadded:])) {
			r.err = fmt.Errorf("quad %d is not in FR32 form: %w", r.quads, ErrMalformed)
			n = i * quadPadded
			break
		}
		r.quads++
	}
	r.left = r.out[:n/quadPadded*quadPayload]
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
		root = parent(root, zeros[level])
	}
	return root, nil
}
