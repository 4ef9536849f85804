package segment

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/commd"
)

// rootOf is some root, for each number another one.
func rootOf(number uint64) commd.Node {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], number)
	return commd.Parent(seed, commd.Node{})
}

// fromCID is the root in a piece CID.
func fromCID(t testing.TB, text string) commd.Node {
	t.Helper()
	root, err := commd.ParseCID(text)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// content is a piece with its payload.
type content struct {
	Piece

	payload []byte
}

// contentOf makes a payload of random bytes.
func contentOf(t testing.TB, length int, seed uint64) content {
	t.Helper()
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	payload := make([]byte, length)
	_, _ = rand.NewChaCha8(key).Read(payload)
	calc := commd.NewCalc()
	if _, err := calc.Write(payload); err != nil {
		t.Fatal(err)
	}
	c, err := calc.Commitment()
	if err != nil {
		t.Fatal(err)
	}
	return content{Piece(c), payload}
}

// list are the pieces of contents in order, and a function that opens their payloads.
func list(contents []content) ([]Piece, func(i int, offset uint64) (io.ReadCloser, error)) {
	var pieces []Piece
	payloads := map[commd.Node][]byte{}
	for _, c := range contents {
		pieces = append(pieces, c.Piece)
		payloads[c.Root] = c.payload
	}
	pieces = Order(pieces)
	return pieces, func(i int, offset uint64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(payloads[pieces[i].Root][offset:])), nil
	}
}

func build(t testing.TB, size uint64, pieces []Piece) *Aggregate {
	t.Helper()
	a, err := Build(size, pieces)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func proofOf(t testing.TB, a *Aggregate, i int) Proof {
	t.Helper()
	p, err := a.Proof(i)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stored are the bytes of an aggregate's file.
func stored(t testing.TB, a *Aggregate) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := a.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	return b.Bytes()
}

// filled draws an aggregate's size and pieces that fit into it, down to the smallest.
func filled(t *rapid.T) (size uint64, pieces []Piece) {
	size = 1 << rapid.IntRange(9, 36).Draw(t, "size")
	left := Room(size)
	most := min(Entries(size), 200)
	count := rapid.Uint64Range(0, most).Draw(t, "count")
	for number := range count {
		p := uint64(1) << rapid.IntRange(7, commd.Depth(size)+4).Draw(t, "piece")
		if p <= left {
			pieces = append(pieces, Piece{Root: rootOf(number), Size: p})
			left -= p
		}
	}
	return size, Order(pieces)
}

func bigEndian(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func sortedKeys(layer map[uint64]commd.Node) []uint64 { return slices.Sorted(maps.Keys(layer)) }
