package capacity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Piece is what the file of a piece holds: the bytes of its payload.
type Piece struct {
	CID   string
	Bytes events.Bytes
}

// Commands for the files of pieces.
type (
	// HoldPiece claims space for the file of a piece, before it is written. Errors:
	// *SpaceError when there is no room, ErrPieceHeld, ErrLimit.
	HoldPiece struct {
		At time.Time
		Piece
		// Quota is what the host may use in all, as in Ask.
		Quota events.Bytes
	}
	// ReleasePiece gives the bytes of a piece back. Its file must be deleted before.
	// A piece that holds nothing is left alone.
	ReleasePiece struct {
		At  time.Time
		CID string
	}
)

func (c HoldPiece) given() time.Time    { return c.At }
func (c ReleasePiece) given() time.Time { return c.At }

// ErrPieceHeld: the piece holds space already, of another size than it asks for now. Payloads
// that differ only in zeros at their end are the same piece.
var ErrPieceHeld = errors.New("the piece holds space of another size")

func decideHoldPiece(s State, c HoldPiece) ([]Event, error) {
	doing := fmt.Sprintf("hold space for piece %.128s", c.CID)
	held := s.pieces[c.CID]
	switch err := checkCID(c.CID); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", doing, ErrInvalid, err)
	case c.Bytes == 0 || c.Bytes > MaxQuota:
		return nil, fmt.Errorf("%s: %w: %d bytes, want 1 to %d", doing, ErrInvalid, c.Bytes, MaxQuota)
	case held == c.Bytes:
		return nil, nil
	case held != 0:
		return nil, fmt.Errorf("%s: %w: %d bytes, not %d", doing, ErrPieceHeld, held, c.Bytes)
	case len(s.pieces) >= s.limits.MaxPieces:
		return nil, fmt.Errorf("%s: %w: %d pieces", doing, ErrLimit, len(s.pieces))
	case s.beyond(c.Quota) || c.Bytes > s.room(c.Quota):
		return nil, &SpaceError{doing, c.Bytes, s.book}
	}
	return []Event{&messages.PieceSpaceHeld{Cid: c.CID, Bytes: uint64(c.Bytes)}}, nil
}

func decideReleasePiece(s State, c ReleasePiece) ([]Event, error) {
	held := s.pieces[c.CID]
	if held == 0 {
		return nil, nil
	}
	return []Event{&messages.PieceSpaceReleased{Cid: c.CID, Bytes: uint64(held)}}, nil
}

func (s *State) holdPiece(cid string, bytes events.Bytes) {
	if s.pieces[cid] != 0 {
		s.fault("piece %s was given space twice", cid)
		return
	}
	s.pieces[cid] = bytes
	move(&s.book.Unallocated, &s.book.Pieces, bytes)
}

func (s *State) releasePiece(cid string, bytes events.Bytes) {
	if bytes == 0 || s.pieces[cid] != bytes {
		s.fault("%d bytes of piece %s were released, it has %d", bytes, cid, s.pieces[cid])
		return
	}
	delete(s.pieces, cid)
	move(&s.book.Pieces, &s.book.Unallocated, bytes)
}

// PieceBytes is what a piece holds; 0: nothing.
func (s State) PieceBytes(cid string) events.Bytes { return s.pieces[cid] }

// PieceFiles are the pieces that hold something, in order of their CIDs.
func (s State) PieceFiles() []Piece {
	var all []Piece
	for _, cid := range slices.Sorted(maps.Keys(s.pieces)) {
		all = append(all, Piece{cid, s.pieces[cid]})
	}
	return all
}

// PieceTrouble says that the file of a piece is not what the ledger holds for it.
type PieceTrouble struct {
	CID          string
	Held, Stored events.Bytes // 0: it holds nothing, or there is no file
}

func (t PieceTrouble) String() string {
	switch {
	case t.Held == 0:
		return fmt.Sprintf("its file has %d bytes, and the ledger holds none for it", t.Stored)
	case t.Stored == 0:
		return fmt.Sprintf("the ledger holds %d bytes for it, and its file is missing", t.Held)
	}
	return fmt.Sprintf("the ledger holds %d bytes for it, and its file has %d", t.Held, t.Stored)
}

// ComparePieces compares what the ledger holds for pieces with their files, in order of their CIDs.
func ComparePieces(held []Piece, files []events.SectorPiece) []PieceTrouble {
	by := map[string]PieceTrouble{}
	for _, one := range held {
		by[one.CID] = PieceTrouble{CID: one.CID, Held: one.Bytes}
	}
	for _, file := range files {
		by[file.CID] = PieceTrouble{file.CID, by[file.CID].Held, file.Payload}
	}
	var all []PieceTrouble
	for _, cid := range slices.Sorted(maps.Keys(by)) {
		if t := by[cid]; t.Held != t.Stored {
			all = append(all, t)
		}
	}
	return all
}

const (
	// maxCID limits the name of a piece, in bytes; those of version 1 have 64.
	maxCID = 128
	// cidStart begins each: it says what they are.
	cidStart = "baga"
)

func checkCID(cid string) error {
	foreign := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	if !strings.HasPrefix(cid, cidStart) || len(cid) > maxCID || strings.ContainsFunc(cid, foreign) {
		return fmt.Errorf("%w: cid: %.40q is no CID of a piece: %s…", events.ErrMalformed, cid, cidStart)
	}
	return nil
}
