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

// rootEntrySize is the length of an entry in the file roots: 32 bytes for the root and 4 for the
// checksum of the block's index and root.
const rootEntrySize = 36

// rootEntriesPerRead is the most entries that are read at once: 144 KiB.
const rootEntriesPerRead = 4096

// rootState is the state of an entry in the file roots.
type rootState uint8

const (
	rootAbsent rootState = iota // the block is not stored
	rootStored
	rootTorn // half written or damaged
)

// rootEntry is an entry in the file roots.
type rootEntry struct {
	state rootState
	root  fr.Element
}

// zeros reports whether the block contains only zeros: a hole, which takes no space.
func (m rootEntry) zeros() bool { return m.root == merkle.ZeroBlockRoot() }

func encodeRootEntry(index uint64, root fr.Element) [rootEntrySize]byte {
	var b [rootEntrySize]byte
	encoded := poseidon2.Encode(root)
	copy(b[:], encoded[:])
	binary.LittleEndian.PutUint32(b[32:], rootEntrySum(index, b[:32]))
	return b
}

func decodeRootEntry(index uint64, b []byte) rootEntry {
	if [rootEntrySize]byte(b) == [rootEntrySize]byte{} {
		return rootEntry{}
	}
	root, err := poseidon2.Decode(b[:32])
	if err != nil || binary.LittleEndian.Uint32(b[32:]) != rootEntrySum(index, b[:32]) {
		return rootEntry{state: rootTorn}
	}
	return rootEntry{state: rootStored, root: root}
}

func rootEntrySum(index uint64, root []byte) uint32 {
	var b [40]byte
	binary.LittleEndian.PutUint64(b[:], index)
	copy(b[8:], root)
	return crc32.Checksum(b[:], crc32.MakeTable(crc32.Castagnoli))
}

// readRootEntries calls see for the entries first to last-1. An entry beyond the end of the file is
// absent, and one that is cut is torn.
func readRootEntries(f io.ReaderAt, first, last uint64, see func(index uint64, m rootEntry)) error {
	buffer := make([]byte, min(last-first, rootEntriesPerRead)*rootEntrySize)
	for first < last {
		chunk := buffer[:min(last-first, rootEntriesPerRead)*rootEntrySize]
		n, err := f.ReadAt(chunk, int64(first*rootEntrySize))
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read roots: %w", err)
		}
		clear(chunk[n:])
		for ; len(chunk) > 0; chunk = chunk[rootEntrySize:] {
			see(first, decodeRootEntry(first, chunk))
			first++
		}
	}
	return nil
}
