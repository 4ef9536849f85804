package sealer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// storedPiece is a piece whose bytes were written and verified.
type storedPiece struct {
	Offset  uint64 `json:"offset"`
	Size    uint64 `json:"size"`
	Payload uint64 `json:"payload"`
	CID     string `json:"cid"`
	Damaged bool   `json:"damaged,omitempty"` // Found to differ from what was written.
}

func (p storedPiece) end() uint64 { return p.Offset + p.Size }

// pieces are the pieces of a sector that were written, by offset.
func (k *kept) pieces(sector events.SectorRef) ([]storedPiece, error) {
	b, err := k.files.Note(sector, piecesNote)
	if err == nil && b == nil {
		return nil, nil
	}
	var list []storedPiece
	if err == nil {
		list, err = decodePieces(b)
	}
	if err != nil {
		return nil, fmt.Errorf("note of the pieces of %s: do the first step again: %w", sector, err)
	}
	return list, nil
}

func decodePieces(b []byte) (list []storedPiece, err error) {
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
	}
	var at uint64
	for _, p := range list {
		if commd.CheckPieceSize(p.Size) != nil || p.Offset < at || p.Offset%p.Size != 0 ||
			p.Offset > commd.MaxSectorSize-p.Size {
			return nil, fmt.Errorf("piece of %d bytes at %d behind %d: %w",
				p.Size, p.Offset, at, events.ErrSectorDamaged)
		}
		if _, err := commd.ParseCID(p.CID); err != nil {
			return nil, fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
		}
		at = p.end()
	}
	return list, nil
}

func (k *kept) setPieces(sector events.SectorRef, list []storedPiece) error {
	return k.setNote(sector, piecesNote, list)
}

func (k *kept) setNote(sector events.SectorRef, title string, content any) error {
	b, _ := json.Marshal(content) // Texts and numbers.
	return k.files.SetNote(sector, title, b)
}

// seal is the noted result of sealing; nil before the first step has ended.
func (k *kept) seal(sector events.SectorRef) (*sealed, error) {
	b, err := k.files.Note(sector, sealNote)
	if err != nil || b == nil {
		return nil, err
	}
	s, err := decodeSeal(b)
	if err != nil {
		return nil, fmt.Errorf("note of the seal of %s: do both first steps again: %w", sector, err)
	}
	return s, nil
}

// sealed is the result of sealing.
type sealed struct {
	Ticket, CommD events.Hash
	CommR         events.Hash // Zero before the second step.
}

// sealFile is a sealed as it is stored.
type sealFile struct {
	Ticket string `json:"ticket"`
	CommD  string `json:"commD"`
	CommR  string `json:"commR"`
}

func decodeSeal(b []byte) (*sealed, error) {
	var f sealFile
	err := json.Unmarshal(b, &f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
	}
	var s sealed
	var errs [3]error
	s.Ticket, errs[0] = events.ParseHash(f.Ticket)
	s.CommD, errs[1] = events.ParseHash(f.CommD)
	s.CommR, errs[2] = events.ParseHash(f.CommR)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
	}
	return &s, nil
}

// begin notes that the first step has ended. For the same ticket, later results stay. A damaged
// note is replaced: the second step gives the same CommR again.
func (k *kept) begin(sector events.SectorRef, ticket, commD events.Hash) error {
	seal, err := k.seal(sector)
	if err != nil && !errors.Is(err, events.ErrSectorDamaged) {
		return err
	}
	if seal != nil && seal.Ticket == ticket && seal.CommD == commD {
		return nil
	}
	return k.setSeal(sector, sealed{Ticket: ticket, CommD: commD})
}

func (k *kept) setSeal(sector events.SectorRef, s sealed) error {
	return k.setNote(sector, sealNote, sealFile{s.Ticket.String(), s.CommD.String(), s.CommR.String()})
}

// ready returns ErrSectorStep while a sector has no CommR.
func (k *kept) ready(sector events.SectorRef) (sealed, error) {
	s, err := k.seal(sector)
	if err != nil {
		return sealed{}, err
	}
	if s == nil || s.CommR.Zero() {
		return sealed{}, fmt.Errorf("%s: its files do not say that it is sealed: they are gone, or its second step "+
			"was not done: %w", sector, events.ErrSectorStep)
	}
	return *s, nil
}

// asked answers ErrSectorStep when a commit is about something else than what was sealed.
func (s sealed) asked(sector events.SectorRef, c events.SealContext) error {
	if c.Ticket != s.Ticket || c.CommD != s.CommD || c.CommR != s.CommR {
		return fmt.Errorf("%s has ticket %s, CommD %s and CommR %s, asked for were %s, %s and %s: %w",
			sector, s.Ticket, s.CommD, s.CommR, c.Ticket, c.CommD, c.CommR, events.ErrSectorStep)
	}
	return nil
}
