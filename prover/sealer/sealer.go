package sealer

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// What proofs show, as Proves answers.
const (
	Possession  = events.ProvesPossession
	Simulated   = events.ProvesSimulated
	Replication = events.ProvesReplication
)

// Describe is what proofs show in words for people.
func Describe(proves string) string {
	switch proves {
	case Possession:
		return commd.Proves
	case Simulated:
		return "simulated, proves nothing"
	case Replication:
		return "replication, as an outside prover says; not verified on this host"
	}
	return fmt.Sprintf("unknown (%q)", proves)
}

// MaxPieces limits the pieces that are added to a sector.
const MaxPieces = 1024

// Files is where a sealer keeps what it makes. Package storage/sectors has one, and says what each
// call means.
type Files interface {
	Open(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorReader, error)
	Edit(events.SectorRef, events.SectorPart, events.Bytes) (events.SectorFile, error)
	Replace(events.SectorRef, events.SectorPart, events.Bytes, func(events.SectorFile) error) error
	Note(events.SectorRef, string) ([]byte, error)
	SetNote(events.SectorRef, string, []byte) error
	Remove(events.SectorRef, events.SectorPart) error
	RemoveSector(events.SectorRef) error
}

// of computes something of a sector with these pieces. It answers ErrPieceRefused.
func of[T any](
	sector events.SectorRef, pieces []events.SectorPiece, compute func(uint64, []commd.Piece) (T, error),
) (v T, err error) {
	list := make([]commd.Piece, len(pieces))
	for i, p := range pieces {
		root, err := commd.ParseCID(p.CID)
		if err != nil {
			return v, fmt.Errorf("piece %d: %w: %w", i, err, events.ErrMalformed)
		}
		list[i] = commd.Piece{Root: root, Size: uint64(p.Size)}
	}
	if v, err = compute(uint64(sector.Size), list); err != nil {
		err = fmt.Errorf("%s: %w: %w", sector, err, events.ErrPieceRefused)
	}
	return v, err
}

// fill places pieces in a sector. It answers ErrPieceRefused.
func fill(sector events.SectorRef, pieces []events.SectorPiece) ([]commd.Placed, error) {
	return of(sector, pieces, commd.Fill)
}

// fillers are the pieces of zeros behind the last of these.
func fillers(sector events.SectorRef, pieces []events.SectorPiece) ([]events.SectorPiece, error) {
	placed, err := fill(sector, pieces)
	if err != nil {
		return nil, err
	}
	var list []events.SectorPiece
	for _, p := range placed {
		if list = append(list, events.SectorPiece{CID: commd.CID(p.Root), Size: events.Bytes(p.Size)}); !p.Filler {
			list = nil
		}
	}
	return list, nil
}

// CommD is the data commitment of a sector with these pieces, computed from their own.
func CommD(sector events.SectorRef, pieces []events.SectorPiece) (events.Hash, error) {
	commD, err := of(sector, pieces, commd.CommD)
	return events.Hash(commD), err
}
