package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// markSize is the length of an entry in the file roots: 32 bytes for the root and 4 for the
// checksum of the block's index and root.
const markSize = 36

// marksPerRead is the most entries that are read at once: 144 KiB.
const marksPerRead = 4096

// markState is the state of an entry in the file roots.
type markState uint8

const (
	markAbsent markState = iota // the block is not stored
	markStored
	markTorn // half written or damaged
)

// mark is an entry in the file roots.
type mark struct {
	state markState
	root  fr.Element
}

// zeros reports whether the block contains only zeros: a hole, which takes no space.
func (m mark) zeros() bool { return m.root == merkle.ZeroBlockRoot() }

func encodeMark(index uint64, root fr.Element) [markSize]byte {
	var b [markSize]byte
	encoded := poseidon2.Encode(root)
	copy(b[:], encoded[:])
	binary.LittleEndian.PutUint32(b[32:], markSum(index, b[:32]))
	return b
}

func decodeMark(index uint64, b []byte) mark {
	if [markSize]byte(b) == [markSize]byte{} {
		return mark{}
	}
	root, err := poseidon2.Decode(b[:32])
	if err != nil || binary.LittleEndian.Uint32(b[32:]) != markSum(index, b[:32]) {
		return mark{state: markTorn}
	}
	return mark{state: markStored, root: root}
}

func markSum(index uint64, root []byte) uint32 {
	var b [40]byte
	binary.LittleEndian.PutUint64(b[:], index)
	copy(b[8:], root)
	return crc32.Checksum(b[:], crc32.MakeTable(crc32.Castagnoli))
}

// readMarks calls see for the entries first to last-1. An entry beyond the end of the file is
// absent, and one that is cut is torn.
func readMarks(f io.ReaderAt, first, last uint64, see func(index uint64, m mark)) error {
	buffer := make([]byte, min(last-first, marksPerRead)*markSize)
	for first < last {
		chunk := buffer[:min(last-first, marksPerRead)*markSize]
		n, err := f.ReadAt(chunk, int64(first*markSize))
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read roots: %w", err)
		}
		clear(chunk[n:])
		for ; len(chunk) > 0; chunk = chunk[markSize:] {
			see(first, decodeMark(first, chunk))
			first++
		}
	}
	return nil
}
