package commd

import (
	"encoding/binary"
	"io"
	"slices"
)

// A quad is the unit of the padding: 127 bytes of payload become four leaves.
const (
	QuadPayload = 127
	QuadPadded  = 128
	// bufferQuads is the number of quads that are padded together: 16 KiB, a batch of a Hasher.
	bufferQuads = batchSize / QuadPadded
	// topMask are the bits that the last byte of a leaf or node may have.
	topMask = 0x3f
	// topWord is the same for the last word of a leaf.
	topWord = 1<<62 - 1
)

// padQuad writes the padded form of 127 bytes. Bits are counted from the lowest of the first byte:
// leaf k has the 254 bits from 254·k on, so its words begin 64, 62, 60 and 58 bits into words of
// src.
func padQuad(dst *[QuadPadded]byte, src *[QuadPayload]byte) {
	var in [16]uint64
	for i := range 15 {
		in[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
	in[15] = binary.LittleEndian.Uint64(src[119:]) >> 8
	put := binary.LittleEndian.PutUint64
	put(dst[0:], in[0])
	put(dst[8:], in[1])
	put(dst[16:], in[2])
	put(dst[24:], in[3]&topWord)
	for leaf := 1; leaf < 4; leaf++ {
		shift, first := 64-2*leaf, 4*leaf-1
		for j := range 4 {
			word := in[first+j] >> shift
			if next := first + j + 1; next < len(in) {
				word |= in[next] << (64 - shift)
			}
			if j == 3 {
				word &= topWord
			}
			put(dst[32*leaf+8*j:], word)
		}
	}
}

// UnpadQuad writes the 127 bytes of payload in four leaves. It returns false when bits are set that the padding leaves
// zero.
func UnpadQuad(dst *[QuadPayload]byte, src *[QuadPadded]byte) bool {
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

// Writer pads payload on its way to another writer, in parts of up to 16 KiB.
type Writer struct {
	w       io.Writer
	payload uint64
	quad    [QuadPayload]byte // the begin of a quad whose end is not yet written
	fill    int               // bytes used in quad
	out     []byte            // padded; it grows, since most pieces are small
	err     error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Payload is the number of bytes written.
func (w *Writer) Payload() uint64 { return w.payload }

// Write adds payload. After an error of the other writer it returns that error.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 && w.err == nil {
		var took int
		if w.fill == 0 && len(p) >= QuadPayload {
			took = w.pad(p)
		} else {
			took = copy(w.quad[w.fill:], p)
			if w.fill += took; w.fill == QuadPayload {
				w.pad(w.quad[:])
				w.fill = 0
			}
		}
		n += took
		p = p[took:]
	}
	w.payload += uint64(n)
	return n, w.err
}

// pad takes whole quads from the front of p, at least one, and passes them on when there is a batch of them.
func (w *Writer) pad(p []byte) (took int) {
	quads := min(len(p)/QuadPayload, bufferQuads-len(w.out)/QuadPadded)
	at := len(w.out)
	w.out = slices.Grow(w.out, quads*QuadPadded)[:at+quads*QuadPadded]
	for i := range quads {
		padQuad((*[QuadPadded]byte)(w.out[at+i*QuadPadded:]), (*[QuadPayload]byte)(p[i*QuadPayload:]))
	}
	if len(w.out) == bufferQuads*QuadPadded {
		w.flush()
	}
	return quads * QuadPayload
}

// Close fills the last quad with zeros and writes what is left. It does not close the other writer.
func (w *Writer) Close() error {
	if w.fill > 0 && w.err == nil {
		clear(w.quad[w.fill:])
		w.fill = 0
		w.pad(w.quad[:])
	}
	if w.err == nil {
		w.flush()
	}
	return w.err
}

func (w *Writer) flush() {
	_, w.err = w.w.Write(w.out)
	w.out = w.out[:0]
}
