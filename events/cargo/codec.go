package cargo

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// Table is how the events of the ledger are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	const (
		piece = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
		list  = "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
	)
	entry := func(name string, example Event) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: check}
	}
	return []events.Entry{
		entry("PieceQueued", &messages.PieceQueued{
			At: at, Priority: 1, Piece: piece, Size: 1024, Payload: 1000, Content: events.ContentLink{1}.String(),
			Group: "free", Kept: true,
		}),
		entry("PackingSet", events.Stamp([]Event{Documented().message()}, at.AsTime())[0]),
		entry("FerryLoaded", &messages.FerryLoaded{
			At: at, Ferry: list, Class: 1 << 30, Pieces: []uint64{1, 2}, Part: 1, Parts: 1, Full: true, Isolated: true,
		}),
		entry("FerriesMerged", &messages.FerriesMerged{
			At: at, Ferry: list, Class: 1 << 31, From: []string{list, list}, Full: true,
		}),
		entry("AggregateMade", &messages.AggregateMade{
			At: at, Ferry: list, Aggregate: piece, Proofs: piece, ProofsSize: 5000,
		}),
		entry("AggregateApproved", &messages.AggregateApproved{At: at, Aggregate: piece}),
		entry("AggregateRejected", &messages.AggregateRejected{
			At: at, Aggregate: piece, Bad: []uint64{2}, Reason: "it cannot be read", Part: 1, Parts: 1,
		}),
		entry("PieceRefused", &messages.PieceRefused{At: at, Priority: 3, Reason: "its content was refused"}),
		entry("CopiesReleased", &messages.CopiesReleased{At: at, Pieces: []uint64{1}, Proofs: []string{piece}}),
	}
}

// check refuses what no command could have brought, so that folding meets only what can be folded.
func check(m proto.Message) error {
	if err := events.CheckDated(m); err != nil {
		return err
	}
	var err error
	part, parts := uint32(0), uint32(0)
	switch e := m.(type) {
	case *messages.PieceQueued:
		if _, err = commd.ParseCID(e.GetPiece()); err == nil {
			_, err = events.ParseContentLink(e.GetContent())
		}
		if err == nil {
			err = commd.CheckPieceSize(e.GetSize())
		}
	case *messages.PackingSet:
		err = packingOf(e).Check()
	case *messages.FerryLoaded:
		part, parts = e.GetPart(), e.GetParts()
		if part == 0 || len(e.GetPieces()) == 0 || len(e.GetPieces()) > MaxPart || !powerOfTwo(e.GetClass()) {
			err = fmt.Errorf("class %d, %d pieces", e.GetClass(), len(e.GetPieces()))
		}
	case *messages.AggregateRejected:
		if part, parts = e.GetPart(), e.GetParts(); len(e.GetBad()) > MaxPart {
			err = fmt.Errorf("%d bad pieces", len(e.GetBad()))
		}
	}
	if err == nil && part > parts {
		err = fmt.Errorf("part %d of %d", part, parts)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	return nil
}
