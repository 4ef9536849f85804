package commd

import (
	"fmt"
	"math/bits"
)

// Piece is a piece in a sector.
type Piece struct {
	Root Node
	Size uint64 // bytes, padded
}

// Placed is a piece with its offset.
type Placed struct {
	Piece
	Offset uint64 // bytes from the beginning of the sector, a multiple of the piece's size
	Filler bool   // zeros that the caller did not list
}

// Fill places pieces in the given order, each at the next multiple of its size. The zeros between
// and after them become pieces of their own, the smallest first. It returns ErrSize for an
// impossible size, and ErrTooManyBytes.
func Fill(sector uint64, pieces []Piece) ([]Placed, error) {
	if err := CheckSectorSize(sector); err != nil {
		return nil, err
	}
	var at uint64
	placed := make([]Placed, 0, len(pieces)+MaxDepth)
	zerosUntil := func(end uint64) {
		for at < end {
			size := uint64(1) << min(bits.TrailingZeros64(at), bits.Len64(end-at)-1)
			placed = append(placed, Placed{Piece{zeros[Depth(size)], size}, at, true})
			at += size
		}
	}
	for i, p := range pieces {
		if err := CheckPieceSize(p.Size); err != nil {
			return nil, fmt.Errorf("piece %d: %w", i, err)
		}
		begin := (at + p.Size - 1) / p.Size * p.Size
		if p.Size > sector || begin > sector-p.Size {
			return nil, fmt.Errorf("piece %d of %d bytes behind %d of a sector of %d: %w",
				i, p.Size, at, sector, ErrTooManyBytes)
		}
		zerosUntil(begin)
		placed = append(placed, Placed{Piece: p, Offset: at})
		at += p.Size
	}
	zerosUntil(sector)
	return placed, nil
}

// CommD is the commitment of a sector with these pieces, placed as by Fill.
func CommD(sector uint64, pieces []Piece) (Node, error) {
	placed, err := Fill(sector, pieces)
	if err != nil {
		return Node{}, err
	}
	var left [MaxDepth + 1]*Node // Nodes without their right neighbour, by layer.
	for _, p := range placed {
		level, node := Depth(p.Size), p.Root
		for left[level] != nil {
			node = Parent(*left[level], node)
			left[level] = nil
			level++
		}
		left[level] = &node
	}
	return *left[Depth(sector)], nil
}
