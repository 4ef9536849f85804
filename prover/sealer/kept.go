package sealer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

const (
	piecesNote = "pieces"
	sealNote   = "seal"
	// copySize is how much of a piece is read at once, in bytes; after each such part the context
	// is checked.
	copySize = 256 << 10
)

// kept is the data of sectors on this host's disk, as CommD and Sim store it.
type kept struct {
	files Files

	mu    sync.Mutex
	turns map[events.SectorRef]chan struct{}
}

// alone waits for the exclusive use of a sector, and makes a call then.
func (k *kept) alone(ctx context.Context, sector events.SectorRef, call func() error) error {
	if err := commd.CheckSectorSize(uint64(sector.Size)); err != nil {
		return fmt.Errorf("%s: %w: %w", sector, err, events.ErrMalformed)
	}
	k.mu.Lock()
	turn := k.turns[sector]
	if turn == nil {
		turn = make(chan struct{}, 1)
		k.turns[sector] = turn
	}
	k.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		return call()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inTurn is alone for a call with a result.
func inTurn[T any](ctx context.Context, k *kept, sector events.SectorRef, call func() (T, error)) (v T, err error) {
	err = k.alone(ctx, sector, func() (err error) {
		v, err = call()
		return err
	})
	return v, err
}

// AddPiece implements port.Sealer.
func (k *kept) AddPiece(
	ctx context.Context, sector events.SectorRef, offset events.Bytes, piece events.SectorPiece, r io.Reader,
) error {
	root, err := checkPiece(sector, offset, piece, r)
	if err != nil {
		return fmt.Errorf("add a piece at %d to %s: %w", offset, sector, err)
	}
	return k.alone(ctx, sector, func() error {
		if err := k.addPiece(ctx, sector, uint64(offset), piece, root, r); err != nil {
			return fmt.Errorf("add piece %s at %d to %s: %w", piece.CID, offset, sector, err)
		}
		return nil
	})
}

// checkPiece answers why a piece cannot be at a place of an empty sector.
func checkPiece(
	sector events.SectorRef, offset events.Bytes, piece events.SectorPiece, r io.Reader,
) (commd.Node, error) {
	root, err := commd.ParseCID(piece.CID)
	if err != nil {
		return root, fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	if err := commd.CheckPieceSize(uint64(piece.Size)); err != nil {
		return root, fmt.Errorf("%w: %w", err, events.ErrPieceRefused)
	}
	zero, _ := commd.ZeroCommitment(uint64(piece.Size)) // The size was checked.
	room := commd.PayloadRoom(uint64(piece.Size))
	switch {
	case piece.Size > sector.Size || offset > sector.Size-piece.Size:
		return root, fmt.Errorf("%d bytes at %d of a sector of %d: %w",
			piece.Size, offset, sector.Size, events.ErrPieceRefused)
	case offset%piece.Size != 0:
		return root, fmt.Errorf("a piece of %d bytes stands at a multiple of that: %w",
			piece.Size, events.ErrPieceRefused)
	case r == nil && root != zero:
		return root, fmt.Errorf("without its bytes, and they are no zeros: %w", events.ErrPieceRefused)
	case r != nil && (uint64(piece.Payload) < commd.MinPayload || uint64(piece.Payload) > room):
		return root, fmt.Errorf("payload of %d bytes, want %d to %d in a piece of %d: %w",
			piece.Payload, commd.MinPayload, room, piece.Size, events.ErrPieceRefused)
	}
	return root, nil
}

func (k *kept) addPiece(
	ctx context.Context, sector events.SectorRef, offset uint64, piece events.SectorPiece, root commd.Node, r io.Reader,
) error {
	list, err := k.pieces(sector)
	if err != nil {
		return err
	}
	fresh := storedPiece{Offset: offset, Size: uint64(piece.Size), Payload: uint64(piece.Payload), CID: piece.CID}
	at := slices.IndexFunc(list, func(p storedPiece) bool { return p.end() > offset })
	if at < 0 { // None ends after offset.
		at = len(list)
	}
	if there := at < len(list) && list[at].Offset < fresh.end(); there {
		switch p := list[at]; {
		case p.Offset != fresh.Offset || p.Size != fresh.Size || p.CID != fresh.CID:
			return fmt.Errorf("piece %s of %d bytes is at %d: %w", p.CID, p.Size, p.Offset, events.ErrPieceRefused)
		case !p.Damaged:
			return nil
		}
		list[at] = fresh
	} else {
		seal, err := k.seal(sector)
		switch {
		case err != nil:
			return err
		case seal != nil:
			return fmt.Errorf("its content is fixed since the first step of sealing: %w", events.ErrSectorStep)
		case len(list) >= MaxPieces:
			return fmt.Errorf("it has %d pieces already: %w", len(list), events.ErrPieceRefused)
		}
		list = slices.Insert(list, at, fresh)
	}
	if err := k.write(ctx, sector, fresh, root, r); err != nil {
		return err
	}
	return k.setPieces(sector, list) // Only now does it count.
}

// write writes the bytes of a piece at its offset and verifies them.
func (k *kept) write(ctx context.Context, sector events.SectorRef, p storedPiece, root commd.Node, r io.Reader) error {
	return k.edit(sector, func(f events.SectorFile) error {
		if r == nil {
			return zeroOut(ctx, f, p.Offset, p.end())
		}
		hasher := commd.NewHasher()
		out := io.NewOffsetWriter(f, int64(p.Offset)) //nolint:gosec // Below MaxSectorSize.
		pad := commd.NewWriter(io.MultiWriter(hasher, out))
		exact := &exactReader{r: r, left: p.Payload, want: p.Payload}
		if _, err := io.CopyBuffer(pad, until{ctx, exact}, make([]byte, copySize)); err != nil {
			return err
		}
		if err := pad.Close(); err != nil {
			return err
		}
		if got, err := hasher.Root(p.Size); err != nil {
			return err
		} else if got != root {
			return fmt.Errorf("the bytes are those of %s: %w", commd.CID(got), events.ErrPieceMismatch)
		}
		return zeroOut(ctx, f, p.Offset+hasher.Size(), p.end())
	})
}

// edit opens the data of a sector for writing, and makes it durable afterwards.
func (k *kept) edit(sector events.SectorRef, write func(events.SectorFile) error) error {
	f, err := k.files.Edit(sector, events.SectorUnsealed, sector.Size)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// read opens the data of a sector for reading.
func (k *kept) read(sector events.SectorRef, read func(events.SectorReader) error) error {
	f, err := k.files.Open(sector, events.SectorUnsealed, sector.Size)
	if err != nil {
		return err
	}
	return errors.Join(read(f), f.Close())
}

// Pack implements port.Sealer.
func (k *kept) Pack(
	ctx context.Context, sector events.SectorRef, pieces []events.SectorPiece,
) ([]events.SectorPiece, error) {
	return inTurn(ctx, k, sector, func() ([]events.SectorPiece, error) {
		if _, err := k.pack(ctx, sector, pieces); err != nil {
			return nil, fmt.Errorf("pack %s: %w", sector, err)
		}
		return fillers(sector, pieces)
	})
}

// tell tells how much is done, if the caller wants to know.
func tell(progress events.SectorProgress, done float64) {
	if progress != nil {
		progress(done)
	}
}

// Remove implements port.Sealer.
func (k *kept) Remove(ctx context.Context, sector events.SectorRef) error {
	return k.alone(ctx, sector, func() error { return k.files.RemoveSector(sector) })
}

// Finalize implements port.Sealer: it removes what only sealing needed. Data and tree stay.
func (k *kept) Finalize(ctx context.Context, sector events.SectorRef) error {
	return k.alone(ctx, sector, func() error {
		if _, err := k.ready(sector); err != nil {
			return err
		}
		return k.files.Remove(sector, events.SectorScratch)
	})
}
