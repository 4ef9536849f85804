// Package cartest makes CARs for tests and demonstrations: good ones, and one of each kind that is refused.
package cartest

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// Block is a block, and the CID in its section, which may be wrong.
type Block struct{ CID, Data []byte }

// Raw is a block whose CID, of version 1, is right: codec raw, SHA-256.
func Raw(data []byte) Block {
	sum := sha256.Sum256(data)
	return Block{CID: CID(0x12, sum[:]), Data: data}
}

// CID is a CID of version 1 with codec raw.
func CID(hash uint64, digest []byte) []byte {
	b := binary.AppendUvarint([]byte{1, 0x55}, hash)
	return append(binary.AppendUvarint(b, uint64(len(digest))), digest...)
}

// Build is the CAR of blocks; the first one is the root.
func Build(blocks ...Block) []byte {
	return slices.Concat(Header(1, blocks[0].CID), Sections(blocks...))
}

// Header is the header of a CAR, with its length.
func Header(version uint8, roots ...[]byte) []byte {
	b := slices.Concat(cbor(5, 2), cbor(3, 5), []byte("roots"), cbor(4, len(roots)))
	for _, root := range roots {
		b = append(append(append(append(b, cbor(6, 42)...), cbor(2, len(root)+1)...), 0), root...)
	}
	b = slices.Concat(b, cbor(3, 7), []byte("version"), []byte{version})
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

// cbor is the head of a value in its shortest form, for numbers below 2^16.
func cbor(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
}

// Sections are those of blocks.
func Sections(blocks ...Block) (b []byte) {
	for _, block := range blocks {
		b = binary.AppendUvarint(b, uint64(len(block.CID)+len(block.Data)))
		b = append(append(b, block.CID...), block.Data...)
	}
	return b
}

// Random is a CAR of random blocks, the first of which is the root. It has size bytes, or one fewer where no section
// has the length that is left. The size is at least 128.
func Random(rng *rand.Rand, size int) []byte {
	var blocks []Block
	for left := size - len(Header(1, Raw(nil).CID)); left >= section(0); {
		data := left - section(0)
		for section(data) > left {
			data--
		}
		if data > 2<<10 {
			data = 512 + rng.IntN(min(data, 256<<10)-1<<10) // What is left is enough for one more.
		}
		left -= section(data)
		blocks = append(blocks, Raw(random(rng, data)))
	}
	return Build(blocks...)
}

// section is the length of a section with so many bytes of data.
func section(data int) int {
	size := len(Raw(nil).CID) + data
	return len(binary.AppendUvarint(nil, uint64(size))) + size
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
