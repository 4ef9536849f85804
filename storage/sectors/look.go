package sectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
)

// Found are the lengths of a sector's files, as they lie in its directory.
type Found struct {
	Provider events.Address
	Number   uint64
	// Parts are by SectorPart; a missing one is not in it.
	Parts map[events.SectorPart]events.Bytes
}

// Look lists the sectors in a directory and changes nothing, also while a Store has it open. One that is not
// there has none.
func Look(dir string) (all []Found, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for sectors: %w", err)
	}
	for _, e := range entries {
		n, err := parseName(e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		one := Found{n.provider, n.number, map[events.SectorPart]events.Bytes{}}
		for _, part := range events.SectorParts() {
			info, err := os.Stat(filepath.Join(dir, e.Name(), part.String()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look for the files of sector %d: %w", n.number, err)
			}
			one.Parts[part] = events.Bytes(info.Size()) //nolint:gosec // A size.
		}
		all = append(all, one)
	}
	return all, nil
}

// LookAtPieces lists the pieces in a directory, as Pieces.List does, and changes nothing. One that is not
// there has none.
func LookAtPieces(dir string) ([]events.SectorPiece, error) {
	all, err := (&Pieces{dir: dir}).List()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}
