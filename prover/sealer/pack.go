package sealer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// pack compares the pieces that a sector should have with those that were written, and makes what is
// not theirs zero. It returns the sector's CommD.
func (k *kept) pack(ctx context.Context, sector events.SectorRef, pieces []events.SectorPiece) (events.Hash, error) {
	placed, err := fill(sector, pieces)
	if err != nil {
		return events.Hash{}, err
	}
	list, err := k.pieces(sector)
	if errors.Is(err, events.ErrSectorDamaged) {
		list, err = k.noteAnew(ctx, sector, pieces, placed)
	}
	if err != nil {
		return events.Hash{}, err
	}
	written := make(map[uint64]storedPiece, len(list))
	for _, p := range list {
		written[p.Offset] = p
	}
	for _, p := range placed {
		zero, _ := commd.ZeroCommitment(p.Size) // Fill checked the size.
		have, ok := written[p.Offset]
		switch {
		case ok && have.Size == p.Size && have.CID == commd.CID(p.Root):
			if have.Damaged {
				return events.Hash{}, fmt.Errorf("piece %s at %d: add it again: %w",
					have.CID, have.Offset, events.ErrSectorDamaged)
			}
			delete(written, p.Offset)
		case p.Root != zero || ok:
			return events.Hash{}, fmt.Errorf("piece %s of %d bytes was not added at %d: %w",
				commd.CID(p.Root), p.Size, p.Offset, events.ErrSectorStep)
		}
	}
	for offset, p := range written {
		return events.Hash{}, fmt.Errorf("piece %s was added at %d and is not listed: %w",
			p.CID, offset, events.ErrSectorStep)
	}
	if err := k.clearGaps(ctx, sector, list); err != nil {
		return events.Hash{}, err
	}
	return CommD(sector, pieces)
}

// noteAnew replaces a damaged note of the pieces, by those that should be there and are.
func (k *kept) noteAnew(
	ctx context.Context, sector events.SectorRef, pieces []events.SectorPiece, placed []commd.Placed,
) ([]storedPiece, error) {
	list := []storedPiece{}
	for _, p := range placed {
		if !p.Filler {
			payload := uint64(pieces[len(list)].Payload)
			list = append(list, storedPiece{p.Offset, p.Size, payload, commd.CID(p.Root), true})
		}
	}
	if err := k.setPieces(sector, list); err != nil {
		return nil, err
	}
	if err := k.repair(ctx, sector); err != nil {
		return nil, err
	}
	for i := range list { // None is damaged, or repair would have said so.
		list[i].Damaged = false
	}
	return list, k.setPieces(sector, list)
}

// clearGaps makes zero what belongs to no piece: a piece that was refused may have left something.
func (k *kept) clearGaps(ctx context.Context, sector events.SectorRef, list []storedPiece) error {
	return k.edit(sector, func(f events.SectorFile) error {
		var at uint64
		for _, p := range list {
			if err := zeroOut(ctx, f, at, p.Offset); err != nil {
				return err
			}
			at = p.end()
		}
		return zeroOut(ctx, f, at, uint64(sector.Size))
	})
}

// repair finds out what of a sector's data is damaged. What belongs to no piece is made zero again,
// and a file that is gone or has another length is created again. Damaged pieces are noted and
// named by an ErrSectorDamaged; nil means that all data is as it should be.
func (k *kept) repair(ctx context.Context, sector events.SectorRef) error {
	list, err := k.pieces(sector) // Fails for a sector that is stored with another size.
	if err != nil {
		return err
	}
	if err := k.read(sector, func(events.SectorReader) error { return nil }); errors.Is(err, events.ErrSectorDamaged) {
		if err := k.files.Remove(sector, events.SectorUnsealed); err != nil {
			return err
		}
	}
	if err := k.clearGaps(ctx, sector, list); err != nil {
		return err
	}
	err = k.read(sector, func(f events.SectorReader) error {
		for i, p := range list {
			root, err := commd.RootOf(ctx, f, p.Offset, p.Size)
			if err != nil {
				return err
			}
			list[i].Damaged = commd.CID(root) != p.CID
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err = damagedPieces(sector, list); err != nil {
		err = errors.Join(err, k.setPieces(sector, list))
	}
	return err
}

// mending reads a sector's data. If it is damaged it is repaired, and read once more.
func (k *kept) mending(ctx context.Context, sector events.SectorRef, read func(events.SectorReader) error) error {
	for repaired := false; ; repaired = true {
		switch err := k.read(sector, read); {
		case !isDamage(err):
			return err
		case repaired: // All pieces are intact, and everything between them is zero again.
			return fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
		}
		if err := k.repair(ctx, sector); err != nil {
			return err
		}
	}
}

// errOtherRoot: the data does not have the expected root.
var errOtherRoot = errors.New("the data has another root")

// isDamage says that reading data would fail in the same way again.
func isDamage(err error) bool {
	return slices.ContainsFunc([]error{
		errOtherRoot, commd.ErrMalformed, events.ErrSectorDamaged, events.ErrNoSectorPart,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

// whole returns ErrSectorDamaged while pieces are noted as damaged.
func (k *kept) whole(sector events.SectorRef) error {
	list, err := k.pieces(sector)
	if err != nil {
		return err
	}
	return damagedPieces(sector, list)
}

// damagedPieces names the pieces of a list that are damaged; nil: none is.
func damagedPieces(sector events.SectorRef, list []storedPiece) error {
	var names []string
	for _, p := range list {
		if p.Damaged {
			names = append(names, fmt.Sprintf("%s at %d", p.CID, p.Offset))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s: pieces %v are not what was written; add them again: %w",
		sector, names, events.ErrSectorDamaged)
}
