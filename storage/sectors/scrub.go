package sectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
)

const (
	scrubName = "SCRUB"
	// maxScrubFile limits SCRUB, in bytes; it has about 300.
	maxScrubFile = 4 << 10
	// scrubSave is after how many bytes of one sector the position is saved.
	scrubSave = 64 << 20
)

// scrubFile is the progress of the scrub as it is stored.
type scrubFile struct {
	Began     time.Time    `json:"began,omitzero"`
	Sector    uint64       `json:"sector,omitempty"`
	Offset    events.Bytes `json:"offset,omitempty"`
	LastBegan time.Time    `json:"lastBegan,omitzero"`
	LastEnded time.Time    `json:"lastEnded,omitzero"`
}

// loadScrub reads the position of the scrub. If it is lost, the pass starts over.
func (s *Store) loadScrub() {
	var f scrubFile
	b, err := readSmall(filepath.Join(s.dir, scrubName), maxScrubFile)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.find("%s cannot be read: %v; the scrub of sectors starts over", scrubName, err)
		}
		return
	}
	s.scrub = events.SectorScrub(f)
}

// ScrubProgress implements port.SectorStore.
func (s *Store) ScrubProgress() events.SectorScrub {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scrub
}

// SetScrubProgress implements port.SectorStore. It writes the position when the sector is another one, or
// far from where it was written last.
func (s *Store) SetScrubProgress(p events.SectorScrub) error {
	if err := s.Here(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.scrub
	s.scrub = p
	near := p.Offset/scrubSave == was.Offset/scrubSave
	if was.Offset = p.Offset; near && was == p {
		return nil
	}
	p.Began, p.LastBegan, p.LastEnded = p.Began.UTC(), p.LastBegan.UTC(), p.LastEnded.UTC()
	if err := writeJSON(filepath.Join(s.dir, scrubName), scrubFile(p)); err != nil {
		return fmt.Errorf("save the position of the scrub in %s: %w", scrubName, storage.FullDisk(err))
	}
	return nil
}
