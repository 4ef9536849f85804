package aggregation

import (
	"fmt"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/segment"
)

// OfAggregate asks for what is in an aggregate; the answer is a Layout. cargo.ErrUnknown.
type OfAggregate struct{ Aggregate string }

// Layout is what is in an aggregate, in the order in which it is placed.
type Layout struct {
	Aggregate string
	Size      uint64
	Pieces    []segment.Piece
	Contents  []events.ContentLink // of each piece
	// Proofs is the file with the proofs of all pieces; zero: it is gone.
	Proofs events.SectorPiece
}

func (r *Room) layout(m OfAggregate, answer shell.Answer) {
	if !r.read {
		answer(nil, fmt.Errorf("%w: what is aggregated is not read yet; ask again", shell.ErrPartDown))
		return
	}
	f := r.cargo.Durable.Aggregate(m.Aggregate)
	if f == nil {
		answer(nil, fmt.Errorf("%w: %.100q", cargo.ErrUnknown, m.Aggregate))
		return
	}
	answer(LayoutOf(r.cargo.Durable, f), nil)
}

// LayoutOf is the layout of a ferry.
func LayoutOf(s cargo.State, f *cargo.Ferry) Layout {
	l := Layout{
		Aggregate: f.Aggregate, Size: f.Class, Pieces: s.Segments(f),
		Contents: make([]events.ContentLink, len(f.Pieces)),
		Proofs:   events.SectorPiece{CID: f.Proofs, Payload: events.Bytes(f.ProofsSize)},
	}
	for i, priority := range f.Pieces {
		p, _ := s.Piece(priority)
		l.Contents[i] = p.Content
	}
	return l
}
