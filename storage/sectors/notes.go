package sectors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/storage"
)

// MaxNote limits a note, in bytes.
const MaxNote = 1 << 20

// noteHeader is the length of the checksum in hex and the end of its line.
const noteHeader = 2*sha256.Size + 1

// Note is the note with a title, such as "pieces"; nil if there is none. It returns
// ErrSectorDamaged when the content is not what was written.
func (s *Store) Note(sector events.SectorRef, title string) ([]byte, error) {
	err := s.known(sector)
	if errors.Is(err, events.ErrNoSectorPart) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	b, err := readSmall(s.path(sector, title+noteEnd), MaxNote+noteHeader)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.Here()
	}
	if err == nil && (len(b) < noteHeader || !bytes.Equal(checksum(b[noteHeader:]), b[:noteHeader])) {
		err = fmt.Errorf("its checksum differs: %w", events.ErrSectorDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read note %s of %s: %w", title, sector, s.place.Unless(err))
	}
	return b[noteHeader:], nil
}

// SetNote replaces a note durably. The title must consist of letters.
func (s *Store) SetNote(sector events.SectorRef, title string, data []byte) error {
	if len(data) > MaxNote {
		return fmt.Errorf("note %s of %s has %d bytes, at most %d: %w",
			title, sector, len(data), MaxNote, events.ErrMalformed)
	}
	if err := s.enter(sector); err != nil {
		return err
	}
	// A crash leaves a file whose name begins like this one, followed by freshEnd.
	if err := durable.Replace(s.path(sector, title+noteEnd), checksum(data), data); err != nil {
		return fmt.Errorf("write note %s of %s: %w", title, sector, storage.FullDisk(err))
	}
	return nil
}

func checksum(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(hex.AppendEncode(nil, sum[:]), '\n')
}

func readSmall(path string, most int64) (b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("more than %d bytes: %w", most, events.ErrSectorDamaged)
	}
	return b, err
}

// maxMeta limits sector.json, in bytes; it has about 100.
const maxMeta = 4 << 10

// metaFile is the content of sector.json.
type metaFile struct {
	Provider string `json:"provider"`
	Number   uint64 `json:"number"`
	Size     uint64 `json:"size"`
}

// writeJSON replaces a file durably.
func writeJSON(path string, content any) error {
	b, err := json.MarshalIndent(content, "", "  ")
	if err == nil {
		err = durable.Replace(path, b, []byte("\n"))
	}
	return err
}

func decodeMeta(b []byte) (events.SectorRef, error) {
	var f metaFile
	if err := json.Unmarshal(b, &f); err != nil {
		return events.SectorRef{}, fmt.Errorf("%s: %w: %w", metaName, err, events.ErrSectorDamaged)
	}
	provider, err := events.ParseAddress(f.Provider)
	if err != nil {
		return events.SectorRef{}, fmt.Errorf("%s: %w: %w", metaName, err, events.ErrSectorDamaged)
	}
	return events.SectorRef{Provider: provider, Number: f.Number, Size: events.Bytes(f.Size)}, nil
}
