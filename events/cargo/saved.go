package cargo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// StateSchema names the form of Saved. A change of the form, or of the meaning of what is in it, needs a new name.
const StateSchema = "cargo/1"

// Saved is a ledger as a checkpoint has it: what cannot be computed from the rest. It shares memory with the ledger
// that it was made from, so it is written before that is changed.
type Saved struct {
	Pieces             []byte // savedPiece bytes of each, by priority
	Names              []string
	Refusal            map[uint64]string
	Ferries            []*Ferry
	Last               uint32
	Loading, Rejecting *list
	Suspects           [][]uint64
	Releasable         []uint64
	Inflow             []hour
	Packing            Packing
}

// savedPiece is how many bytes a piece has.
const savedPiece = 32 + 32 + 8 + 8 + 4 + 2 + 4

// ErrSaved: what was saved is no ledger.
var ErrSaved = errors.New("this is no saved ledger of pieces")

// Saved has the whole state.
func (s State) Saved() Saved {
	pieces := make([]byte, 0, s.count*savedPiece)
	for i := range s.count {
		p := &s.chunks[i/chunkSize].pieces[i%chunkSize]
		pieces = append(append(pieces, p.Root[:]...), p.Content[:]...)
		pieces = binary.BigEndian.AppendUint64(pieces, p.Payload)
		pieces = binary.BigEndian.AppendUint64(pieces, uint64(p.At)) //nolint:gosec // Its bits.
		pieces = binary.BigEndian.AppendUint32(pieces, p.ferry)
		pieces = binary.BigEndian.AppendUint16(pieces, p.group)
		pieces = append(pieces, p.log, byte(p.Status), p.Attempts, bit(p.Kept, 1)|bit(p.suspect, 2))
	}
	return Saved{
		Pieces: pieces, Names: s.names, Refusal: s.Refusal, Ferries: s.Ferries(), Last: s.last, Loading: s.loading,
		Rejecting: s.rejecting, Suspects: s.suspects, Releasable: slices.Sorted(maps.Keys(s.releasable)),
		Inflow: s.inflow, Packing: s.Packing,
	}
}

func bit(set bool, value byte) byte {
	if set {
		return value
	}
	return 0
}

// Restore makes the ledger again. ErrSaved.
func Restore(from Saved) (State, error) {
	s := Empty()
	if len(from.Pieces)%savedPiece != 0 {
		return s, fmt.Errorf("%w: its pieces have %d bytes", ErrSaved, len(from.Pieces))
	}
	for b := range slices.Chunk(from.Pieces, savedPiece) {
		p := Piece{
			Root: [32]byte(b), Content: [32]byte(b[32:]), Payload: binary.BigEndian.Uint64(b[64:]),
			At:    int64(binary.BigEndian.Uint64(b[72:])), //nolint:gosec // Its bits.
			ferry: binary.BigEndian.Uint32(b[80:]), log: b[86], Status: Status(b[87]), Attempts: b[88],
			Kept: b[89]&1 != 0, suspect: b[89]&2 != 0,
		}
		group := int(binary.BigEndian.Uint16(b[84:]))
		if group >= len(from.Names) || p.log >= 64 || p.Status > Refused {
			return s, fmt.Errorf("%w: piece %d cannot be", ErrSaved, s.count+1)
		}
		s.add(p, from.Names[group])
	}
	s.last, s.loading, s.rejecting = from.Last, from.Loading, from.Rejecting
	s.suspects, s.inflow = from.Suspects, from.Inflow
	s.Packing = from.Packing
	for _, f := range from.Ferries {
		s.ferries[f.Number], s.byID[f.ID] = f, f.Number
		if f.Aggregate != "" {
			s.byLink[f.Aggregate] = f.Number
		}
	}
	for _, priority := range from.Releasable {
		s.releasable[priority] = struct{}{}
	}
	if from.Refusal != nil { // Saved, an empty map is none.
		s.Refusal = from.Refusal
	}
	s.advance()
	return s, nil
}
