package commd

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	treeMagic  = "hostnode/tree/1\n"
	treeHeader = 32
	// baseLayer is the lowest layer of a tree on disk: one of its nodes stands for 4 KiB of data.
	baseLayer = 7
	// readSize is how much data is read at once.
	readSize = 1 << 20
)

func baseOf(sector uint64) int { return min(baseLayer, Depth(sector)) }

// TreeSize is the number of bytes that the tree of a sector takes on disk.
func TreeSize(sector uint64) uint64 { return 2 * sector >> baseOf(sector) }

// nodeOffset is the offset of a node in the tree's file.
func nodeOffset(sector uint64, level int, index uint64) int64 {
	leaves := sector / NodeSize
	before := 2*(leaves>>baseOf(sector)) - 2*(leaves>>level)
	return int64(treeHeader + NodeSize*(before+index)) //nolint:gosec // Below MaxSectorSize.
}

// BuildTree reads a sector's data, in FR32 form, and writes its tree. It returns the root, CommD.
// progress, if not nil, is called with the part that is done, from 0 to 1. It returns ErrMalformed
// when the data ends early or a leaf has its top bits set. The header is written last, so that an
// incomplete tree is not taken for a complete one.
func BuildTree(
	ctx context.Context, data io.ReaderAt, sector uint64, tree io.WriterAt, progress func(float64),
) (Node, error) {
	if err := CheckSectorSize(sector); err != nil {
		return Node{}, err
	}
	h := NewHasher()
	h.base = baseOf(sector)
	h.emit = func(level int, first uint64, nodes []byte) error {
		if _, err := tree.WriteAt(nodes, nodeOffset(sector, level, first)); err != nil {
			return fmt.Errorf("write the tree: %w", err)
		}
		return nil
	}
	err := readData(ctx, data, 0, sector, func(at uint64, part []byte) error {
		if i := badLeaf(part); i >= 0 {
			return fmt.Errorf("leaf at %d is not in FR32 form: %w", at+uint64(i), ErrMalformed)
		}
		_, err := h.Write(part)
		if progress != nil {
			progress(float64(at+uint64(len(part))) / float64(sector))
		}
		return err
	})
	if err != nil {
		return Node{}, err
	}
	root, err := h.Root(sector)
	if err != nil {
		return Node{}, err
	}
	if _, err := tree.WriteAt(encodeTreeHeader(sector), 0); err != nil {
		return Node{}, fmt.Errorf("write the header of the tree: %w", err)
	}
	return root, nil
}

func encodeTreeHeader(sector uint64) []byte {
	b := append(make([]byte, 0, treeHeader), treeMagic...)
	b = binary.BigEndian.AppendUint64(b, sector)
	return binary.BigEndian.AppendUint64(b, uint64(baseOf(sector))) //nolint:gosec // At most 7.
}

// badLeaf is the offset of the first leaf with its top bits set; -1: none.
func badLeaf(leaves []byte) int {
	for i := NodeSize - 1; i < len(leaves); i += NodeSize {
		if leaves[i]&^topMask != 0 {
			return i - NodeSize + 1
		}
	}
	return -1
}

// readData passes on the data between two offsets in parts, until ctx ends.
func readData(ctx context.Context, data io.ReaderAt, from, to uint64, each func(at uint64, part []byte) error) error {
	buffer := make([]byte, min(readSize, to-from))
	for at := from; at < to; at += uint64(len(buffer)) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		part := buffer[:min(uint64(len(buffer)), to-at)]
		if err := readFull(data, part, int64(at)); err != nil { //nolint:gosec // Below MaxSectorSize.
			return fmt.Errorf("read the data at %d: %w", at, err)
		}
		if err := each(at, part); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills b. If the data ends early it is ErrMalformed: the file is too short.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	switch n, err := r.ReadAt(b, at); {
	case n == len(b):
		return nil
	case err == io.EOF:
		return fmt.Errorf("it ends at %d: %w", at+int64(n), ErrMalformed)
	default:
		return err
	}
}

// Tree is the tree of a sector on disk. It reads what is needed and keeps nothing.
type Tree struct {
	file   io.ReaderAt
	sector uint64
	base   int
	root   Node
}

// OpenTree reads the header and the root of a tree. It returns ErrMalformed when the file is not
// the tree of a sector of that size.
func OpenTree(file io.ReaderAt, sector uint64) (*Tree, error) {
	if err := CheckSectorSize(sector); err != nil {
		return nil, err
	}
	t := &Tree{file: file, sector: sector, base: baseOf(sector)}
	var header [treeHeader]byte
	if err := readFull(file, header[:], 0); err != nil {
		return nil, fmt.Errorf("read the header of the tree: %w", err)
	}
	if !bytes.Equal(header[:], encodeTreeHeader(sector)) {
		return nil, fmt.Errorf("the file is not the tree of a sector of %d bytes: %w", sector, ErrMalformed)
	}
	var err error
	t.root, err = t.node(Depth(sector), 0)
	return t, err
}

// Root is the tree's root as stored.
func (t *Tree) Root() Node { return t.root }

func (t *Tree) node(level int, index uint64) (n Node, err error) {
	if err := readFull(t.file, n[:], nodeOffset(t.sector, level, index)); err != nil {
		return n, fmt.Errorf("read node %d of layer %d of the tree: %w", index, level, err)
	}
	return n, nil
}

// pageSize is the number of bytes of data that a node of the lowest stored layer stands for.
func (t *Tree) pageSize() uint64 { return NodeSize << t.base }

// branch appends a leaf and its path to a proof. The layers below the lowest stored one are
// computed again from the data.
func (t *Tree) branch(proof []byte, data io.ReaderAt, leaf uint64) ([]byte, error) {
	page := leaf >> t.base
	layer := make([]byte, t.pageSize())
	if err := readFull(data, layer, int64(page*t.pageSize())); err != nil { //nolint:gosec // Below MaxSectorSize.
		return nil, fmt.Errorf("read leaf %d: %w", leaf, err)
	}
	at := leaf - page<<t.base
	proof = append(proof, layer[at*NodeSize:(at+1)*NodeSize]...)
	for len(layer) > NodeSize {
		proof = append(proof, layer[(at^1)*NodeSize:(at^1+1)*NodeSize]...)
		above := make([]byte, len(layer)/2)
		hashPairs(above, layer)
		layer, at = above, at/2
	}
	for level := t.base; level < Depth(t.sector); level++ {
		sibling, err := t.node(level, leaf>>level^1)
		if err != nil {
			return nil, err
		}
		proof = append(proof, sibling[:]...)
	}
	return proof, nil
}

// Damage is a part of the data that differs from what the tree was built from, or a node that is
// not the parent of its children.
type Damage struct {
	// Offset and Length are bytes of the sector; the data under a damaged node may be intact.
	Offset, Length uint64
	// Layer is the layer of a damaged node; 0: the data differs.
	Layer int
}

// CheckData hashes the data between two offsets again, in whole pages of 4 KiB, and compares it
// with the tree's lowest stored layer. It returns at most so many damaged pages, in order.
func (t *Tree) CheckData(ctx context.Context, data io.ReaderAt, from, to uint64, most int) (found []Damage, err error) {
	size := t.pageSize()
	from, to = from/size*size, min((to+size-1)/size*size, t.sector)
	if from >= to {
		return nil, nil
	}
	scratch := make([]byte, size)
	err = readData(ctx, data, from, to, func(at uint64, part []byte) error {
		for ; len(part) > 0 && len(found) < most; at, part = at+size, part[size:] {
			layer, free := part[:size], scratch
			for len(layer) > NodeSize {
				above := free[:len(layer)/2]
				hashPairs(above, layer)
				layer, free = above, free[len(above):]
			}
			want, err := t.node(t.base, at/size)
			if err != nil {
				return err
			}
			if Node(layer) != want {
				found = append(found, Damage{Offset: at, Length: size})
			}
		}
		return nil
	})
	return found, err
}

// CheckNodes compares every stored node with its children, and returns at most so many that differ.
func (t *Tree) CheckNodes(ctx context.Context, most int) (found []Damage, err error) {
	for level := t.base; level < Depth(t.sector); level++ {
		begin := uint64(nodeOffset(t.sector, level, 0)) //nolint:gosec // Not negative.
		end := begin + t.sector>>level
		above := uint64(0)
		err := readData(ctx, t.file, begin, end, func(_ uint64, part []byte) error {
			computed, parents := make([]byte, len(part)/2), make([]byte, len(part)/2)
			hashPairs(computed, part)
			if err := readFull(t.file, parents, nodeOffset(t.sector, level+1, above)); err != nil {
				return err
			}
			for i := 0; i < len(parents) && len(found) < most; i += NodeSize {
				if !bytes.Equal(parents[i:i+NodeSize], computed[i:i+NodeSize]) {
					length := uint64(NodeSize) << (level + 1)
					found = append(found, Damage{(above + uint64(i/NodeSize)) * length, length, level + 1})
				}
			}
			above += uint64(len(parents)) / NodeSize
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// RootOf is the root over a part of a sector's stored data, such as a piece. offset is a multiple
// of size. Data that is not in FR32 form gives a root that is no commitment.
func RootOf(ctx context.Context, data io.ReaderAt, offset, size uint64) (Node, error) {
	if err := CheckPieceSize(size); err != nil {
		return Node{}, err
	}
	h := NewHasher()
	err := readData(ctx, data, offset, offset+size, func(_ uint64, part []byte) error {
		_, err := h.Write(part)
		return err
	})
	if err != nil {
		return Node{}, err
	}
	return h.Root(size)
}
