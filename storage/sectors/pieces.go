package sectors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/storage"
)

// maxCID limits the name of a piece, in bytes; those of version 1 have 64.
const maxCID = 128

// Pieces are the payloads of pieces in one directory, a file each, by their CIDs. What stands in them is
// compared with the CID when it is stored, and when it is written into a sector. It is safe for concurrent use.
type Pieces struct {
	dir   string
	place *storage.Place // nil: the directory is always there
}

// OpenPieces opens a directory of pieces, makes it when it is not there, and clears what a crash left
// half written. The place says whether the directory is there; nil: it always is. If it is away, nothing is
// cleared.
func OpenPieces(dir string, place *storage.Place) (*Pieces, error) {
	err := place.Here()
	if errors.Is(err, events.ErrDiskAway) {
		return &Pieces{dir, place}, nil
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	var left []string
	if err == nil {
		left, err = filepath.Glob(filepath.Join(dir, "*"+freshEnd+"*"))
	}
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, fmt.Errorf("open the pieces in %s: %w", dir, storage.FullDisk(err))
	}
	return &Pieces{dir, place}, nil
}

// path is the file of a piece; false for a CID that is none.
func (p *Pieces) path(cid string) (string, bool) {
	foreign := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return filepath.Join(p.dir, cid), cid != "" && len(cid) <= maxCID && !strings.ContainsFunc(cid, foreign)
}

// Open implements port.PieceSource.
func (p *Pieces) Open(_ context.Context, piece events.SectorPiece) (io.ReadCloser, error) {
	path, ok := p.path(piece.CID)
	if !ok {
		return nil, fmt.Errorf("piece %q: %w", piece.CID, events.ErrNoSuchPiece)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.place.Unless(fmt.Errorf("piece %s: %w", piece.CID, events.ErrNoSuchPiece))
	} else if err != nil {
		return nil, fmt.Errorf("open piece %s: %w", piece.CID, err)
	}
	info, err := f.Stat()
	if err == nil && events.Bytes(info.Size()) != piece.Payload { //nolint:gosec // A size.
		err = fmt.Errorf("%s has %d bytes, not %d: %w", path, info.Size(), piece.Payload, events.ErrPieceMismatch)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open piece %s: %w", piece.CID, err), f.Close())
	}
	return f, nil
}

// Identify reads a payload to its end, and returns the smallest piece that holds it. It answers
// commd.ErrPayload for too few bytes, and commd.ErrTooManyBytes beyond commd.MaxPayload.
func Identify(ctx context.Context, payload io.Reader) (events.SectorPiece, error) {
	calc := commd.NewCalc()
	_, err := io.Copy(calc, until{ctx, payload})
	if err != nil {
		return events.SectorPiece{}, fmt.Errorf("read a piece: %w", err)
	}
	of, err := calc.Commitment()
	if err != nil {
		return events.SectorPiece{}, fmt.Errorf("compute the commitment of a piece: %w", err)
	}
	return events.SectorPiece{
		CID: commd.CID(of.Root), Size: events.Bytes(of.Size), Payload: events.Bytes(of.Payload),
	}, nil
}

// Put stores the payload of a piece durably, as a whole or not at all. If it is here, nothing is written;
// a damaged copy is removed before, so that a piece never takes its size twice. It answers
// ErrPieceMismatch for other bytes, ErrMalformed and ErrDiskFull.
func (p *Pieces) Put(ctx context.Context, piece events.SectorPiece, payload io.Reader) error {
	if _, ok := p.path(piece.CID); !ok {
		return fmt.Errorf("piece %q is named by no CID: %w", piece.CID, events.ErrMalformed)
	}
	if p.intact(ctx, piece) {
		return nil
	}
	err := context.Cause(ctx) // Or it could not be seen whether it is.
	if err == nil {
		err = p.place.Here()
	}
	if err == nil {
		err = p.Remove(piece)
	}
	if err == nil {
		err = p.store(piece.CID, func(f io.Writer) error {
			most := int64(piece.Payload) + 1 //nolint:gosec // Below the largest sector.
			got, err := Identify(ctx, io.TeeReader(io.LimitReader(payload, most), f))
			if errors.Is(err, commd.ErrPayload) || err == nil && got != piece {
				err = fmt.Errorf("%d bytes or more of piece %q: %w", got.Payload, got.CID, events.ErrPieceMismatch)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store piece %s: %w", piece.CID, err)
	}
	return nil
}

// intact reports whether the payload of a piece is here, and is what its CID says.
func (p *Pieces) intact(ctx context.Context, piece events.SectorPiece) bool {
	f, err := p.Open(ctx, piece)
	if err != nil {
		return false
	}
	defer f.Close()
	got, err := Identify(ctx, f)
	return err == nil && got == piece
}

// store writes a file under a name of its own, and gives it its CID when it is durable.
func (p *Pieces) store(cid string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(p.dir, cid+freshEnd+"*")
	if err != nil {
		return storage.FullDisk(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // Else it goes at the next start.
			err = storage.FullDisk(err)
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.dir, cid))
	}
	if err == nil {
		err = durable.Sync(p.dir)
	}
	return err
}

// Remove removes a piece. One that is not there is success.
func (p *Pieces) Remove(piece events.SectorPiece) error {
	path, ok := p.path(piece.CID)
	if !ok {
		return nil
	}
	err := p.place.Here()
	if err == nil {
		err = removeFile(path)
	}
	if err != nil {
		return fmt.Errorf("remove piece %s: %w", piece.CID, err)
	}
	return nil
}

// until reads until its context ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// List returns all stored pieces, by CID. Of their sizes it knows only that of the payload.
func (p *Pieces) List() (all []events.SectorPiece, err error) {
	var entries []os.DirEntry
	if err = p.place.Here(); err == nil {
		entries, err = os.ReadDir(p.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("list the pieces: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // Removed meanwhile.
		} else if err != nil {
			return nil, fmt.Errorf("list the pieces: %w", err)
		}
		if _, ok := p.path(e.Name()); ok && info.Mode().IsRegular() { // Other files are half written, or not ours.
			payload := events.Bytes(info.Size()) //nolint:gosec // A size.
			all = append(all, events.SectorPiece{CID: e.Name(), Payload: payload})
		}
	}
	return all, nil
}
