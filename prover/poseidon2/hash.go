package poseidon2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

const (
	// CellSize is the size of a cell, the unit of sampling, in bytes.
	CellSize = 2048

	// ChunkSize is the number of bytes in one field element.
	ChunkSize = 31

	// ElementSize is the length in bytes of an encoded field element.
	ElementSize = fr.Bytes
)

// ElementsPerCell is the number of field elements of a cell, including the marker.
const ElementsPerCell = CellSize/ChunkSize + 1

// ErrNotCanonical says that 32 bytes are not the little-endian form of a number
// below the order of the field.
var ErrNotCanonical = errors.New("not a canonical field element")

// ErrLength says that an input has the wrong number of bytes.
var ErrLength = errors.New("wrong length")

// Key distinguishes the four kinds of tree nodes, so that nobody can lie about the shape of a tree.
type Key uint8

// Bit 0 of a key says that the children are the leaves, bit 1 that the node has
// only one child.
const (
	KeyInner        Key = 0
	KeyBottom       Key = 1
	KeyInnerSingle  Key = 2
	KeyBottomSingle Key = 3
)

// spongeIV is the first capacity element: 2^64 + 256*t + rate, with t = 3 and
// rate = 2.
func spongeIV() fr.Element {
	iv, low := fr.NewElement(1<<32), fr.NewElement(256*3+2)
	iv.Square(&iv)
	iv.Add(&iv, &low)
	return iv
}

// Compress returns the tree node over the children left and right.
func Compress(left, right fr.Element, key Key) fr.Element {
	state := [3]fr.Element{left, right, fr.NewElement(uint64(key))}
	Permute(&state)
	return state[0]
}

// sponge absorbs elements two by two.
type sponge struct {
	state [3]fr.Element
	odd   bool // one element of the current pair has been absorbed
}

func newSponge() sponge {
	return sponge{state: [3]fr.Element{2: spongeIV()}}
}

func (s *sponge) absorb(e *fr.Element) {
	if !s.odd {
		s.state[0].Add(&s.state[0], e)
		s.odd = true
		return
	}
	s.state[1].Add(&s.state[1], e)
	s.odd = false
	Permute(&s.state)
}

// sum pads with the element 1 and, if the pair is then incomplete, with 0.
func (s *sponge) sum() fr.Element {
	one := fr.One()
	s.absorb(&one)
	if s.odd {
		Permute(&s.state)
	}
	return s.state[0]
}

// HashElements returns the sponge of elements; even an empty list has a hash.
func HashElements(elements ...fr.Element) fr.Element {
	s := newSponge()
	for i := range elements {
		s.absorb(&elements[i])
	}
	return s.sum()
}

// HashBytes returns the sponge of the elements that Pack makes from data.
func HashBytes(data []byte) fr.Element {
	s := newSponge()
	var e fr.Element
	for len(data) >= ChunkSize {
		setChunk(&e, data[:ChunkSize])
		s.absorb(&e)
		data = data[ChunkSize:]
	}
	setLast(&e, data)
	s.absorb(&e)
	return s.sum()
}

// Pack appends the field elements of data to elements: one byte 0x01 is added, then zeros up to a
// multiple of 31 bytes, and every 31 bytes are a little-endian number. They are len(data)/31 + 1
// elements. It allocates when elements lacks capacity.
func Pack(elements []fr.Element, data []byte) []fr.Element {
	var e fr.Element
	for len(data) >= ChunkSize {
		setChunk(&e, data[:ChunkSize])
		elements = append(elements, e)
		data = data[ChunkSize:]
	}
	setLast(&e, data)
	return append(elements, e)
}

// Encode returns the canonical number of e in 32 bytes, little-endian: the form of roots on chain
// and inside content identifiers.
func Encode(e fr.Element) [ElementSize]byte {
	var b [ElementSize]byte
	fr.LittleEndian.PutElement(&b, e)
	return b
}

// Decode is the inverse of Encode. It returns ErrLength unless b has 32 bytes, and ErrNotCanonical
// for numbers not below the order of the field.
func Decode(b []byte) (fr.Element, error) {
	if len(b) != ElementSize {
		return fr.Element{}, fmt.Errorf("field element of %d bytes, want %d: %w",
			len(b), ElementSize, ErrLength)
	}
	e, err := fr.LittleEndian.Element((*[ElementSize]byte)(b))
	if err != nil {
		return fr.Element{}, fmt.Errorf("field element %x: %w", b, ErrNotCanonical)
	}
	return e, nil
}

// setChunk sets e to the little-endian number of exactly 31 bytes.
func setChunk(e *fr.Element, chunk []byte) {
	var b [ElementSize]byte
	copy(b[:], chunk)
	setSmall(e, &b)
}

// setLast sets e to the end of a byte string, fewer than 31 bytes, with its marker.
func setLast(e *fr.Element, rest []byte) {
	var b [ElementSize]byte
	copy(b[:], rest)
	b[len(rest)] = 1
	setSmall(e, &b)
}

// setSmall sets e to a little-endian number below 2^248, which needs no comparison
// with the order of the field. Multiplying by R^2 gives the Montgomery form.
func setSmall(e *fr.Element, b *[ElementSize]byte) {
	raw := fr.Element{
		binary.LittleEndian.Uint64(b[0:8]),
		binary.LittleEndian.Uint64(b[8:16]),
		binary.LittleEndian.Uint64(b[16:24]),
		binary.LittleEndian.Uint64(b[24:32]),
	}
	e.Mul(&raw, &montgomerySquare)
}

// montgomerySquare holds the raw limbs 2^512 mod r: multiplying raw limbs by it
// brings them into Montgomery form. A test compares it with the library's arithmetic.
var montgomerySquare = fr.Element{
	0x1bb8e645ae216da7, 0x53fe3ab1e35c59e3, 0x8c49833d53bb8085, 0x0216d0b17f4e44a5,
}
