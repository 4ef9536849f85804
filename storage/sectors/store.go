package sectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/storage"
)

const (
	formatName = "FORMAT"
	format     = "1\n"
	probeName  = "PROBE" // An earlier version wrote it.
	trashDir   = "trash"
	freshEnd   = ".new"
	noteEnd    = ".note"
	metaName   = "sector.json"
	// diskPage is the unit of the space that small files and directories take.
	diskPage = 4096
	// maxFindings limits how many findings are kept.
	maxFindings = 100
)

// Store stores the files of sectors in one directory, for one process. It is safe for concurrent
// use, but callers must not write the same part of a sector at the same time.
type Store struct {
	dir   string
	place *storage.Place // nil: the directory is always there
	// wrap wraps files that are written; tests use it to make writes fail.
	wrap func(events.SectorFile) events.SectorFile

	opening sync.Mutex
	opened  bool // what there is has been read

	mu       sync.Mutex
	sectors  map[name]events.SectorRef
	findings []string
	scrub    events.SectorScrub
}

// name identifies a sector's directory.
type name struct {
	provider events.Address
	number   uint64
}

func nameOf(s events.SectorRef) name { return name{s.Provider, s.Number} }

func (n name) String() string {
	return strings.TrimPrefix(n.provider.String(), "0x") + "-" + strconv.FormatUint(n.number, 10)
}

func parseName(text string) (name, error) {
	provider, number, _ := strings.Cut(text, "-")
	p, err := events.ParseAddress(provider)
	if err != nil {
		return name{}, err
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err == nil && (name{p, n}).String() != text {
		err = fmt.Errorf("%q: %w", text, events.ErrMalformed)
	}
	return name{p, n}, err
}

// Open opens a directory, and creates it if need be. It removes what a crash left half created or
// half removed, and finds out which sectors there are. The place says whether the directory is there; nil: it always
// is. If it is away, that is done by the first call that finds it there.
func Open(dir string, place *storage.Place) (*Store, error) {
	s := &Store{
		dir: dir, place: place, wrap: func(f events.SectorFile) events.SectorFile { return f },
	}
	if err := s.Here(); err != nil && !errors.Is(err, events.ErrDiskAway) {
		return nil, err
	}
	return s, nil
}

// Here returns events.ErrDiskAway if the directory is away, as all calls do then that return an error.
func (s *Store) Here() error {
	if err := s.place.Here(); err != nil {
		return fmt.Errorf("the sectors: %w", err)
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.opened {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sectors, s.findings = make(map[name]events.SectorRef), nil
	if err := s.load(); err != nil {
		return fmt.Errorf("open the sectors in %s: %w", s.dir, storage.FullDisk(err))
	}
	s.opened = true
	return nil
}

func (s *Store) load() error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	switch b, err := os.ReadFile(filepath.Join(s.dir, formatName)); {
	case errors.Is(err, fs.ErrNotExist):
		if err := durable.Replace(filepath.Join(s.dir, formatName), []byte(format)); err != nil {
			return err
		}
	case err != nil:
		return err
	case string(b) != format:
		return fmt.Errorf("the layout of the files has version %q, this program knows %q; use a newer program: %w",
			strings.TrimSpace(string(b)), strings.TrimSpace(format), events.ErrMalformed)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, trashDir)); err != nil {
		return err
	}
	s.loadScrub()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			if err := s.clear(s.dir, e.Name(), formatName, probeName, scrubName, storage.IdentityName); err != nil {
				return err
			}
			continue
		}
		n, err := parseName(e.Name())
		if err != nil {
			s.find("%s is no sector; left alone", e.Name())
			continue
		}
		if err := s.loadSector(n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadSector(n name) error {
	dir := filepath.Join(s.dir, n.String())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		title, _, _ := strings.Cut(e.Name(), ".")
		if err := s.clear(dir, e.Name(), title, title+noteEnd, metaName); err != nil {
			return err
		}
	}
	var ref events.SectorRef
	b, err := readSmall(filepath.Join(dir, metaName), maxMeta)
	if err == nil {
		ref, err = decodeMeta(b)
	}
	if err == nil && nameOf(ref) != n {
		err = fmt.Errorf("%s is that of %s: %w", metaName, ref, events.ErrSectorDamaged)
	}
	if err != nil {
		s.find("%s: %v; its files are left alone until the sector is opened with its size, or removed", n, err)
		return nil
	}
	s.sectors[n] = ref
	return nil
}

// clear removes a file that an interrupted write to one of these files left: it has the same name
// and a suffix.
func (s *Store) clear(dir, file string, of ...string) error {
	if slices.Contains(of, file) {
		return nil
	}
	for _, name := range of {
		if strings.HasPrefix(file, name+".") {
			return os.Remove(filepath.Join(dir, file))
		}
	}
	return nil
}

func (s *Store) find(format string, values ...any) {
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, fmt.Sprintf(format, values...))
	}
}

// Findings are the problems that were found when the directory was opened, in sentences for an
// operator.
func (s *Store) Findings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.findings)
}

// Sectors are all stored sectors, in no particular order. What is remembered of them is only their sizes: each one's
// directory may be deleted at any time, so here and in each call the disk is looked at.
func (s *Store) Sectors() []events.SectorRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]events.SectorRef, 0, len(s.sectors))
	for _, ref := range s.sectors {
		if s.there(ref) {
			all = append(all, ref)
		}
	}
	return all
}

// there reports whether a sector has its directory. What cannot be seen counts as there: its files are asked for next.
func (s *Store) there(sector events.SectorRef) bool {
	_, err := os.Lstat(s.path(sector, metaName))
	return !errors.Is(err, fs.ErrNotExist)
}

// known returns ErrNoSectorPart for a sector that is not here, ErrSectorDamaged for one with
// another size, and ErrDiskAway.
func (s *Store) known(sector events.SectorRef) error {
	if err := s.Here(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ref, ok := s.sectors[nameOf(sector)]; {
	case !ok, !s.there(sector):
		return s.place.Unless(fmt.Errorf("%s: %w", sector, events.ErrNoSectorPart))
	case ref != sector:
		return fmt.Errorf("%s has %d bytes, and is stored with %d: %w",
			sector, sector.Size, ref.Size, events.ErrSectorDamaged)
	}
	return nil
}

// enter creates the directory of a sector that is not here yet.
func (s *Store) enter(sector events.SectorRef) error {
	err := s.known(sector)
	if !errors.Is(err, events.ErrNoSectorPart) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.path(sector)
	err = os.Mkdir(dir, 0o755)
	if err == nil {
		err = durable.Sync(s.dir)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = writeJSON(filepath.Join(dir, metaName),
			metaFile{sector.Provider.String(), sector.Number, uint64(sector.Size)})
	}
	if err != nil {
		return fmt.Errorf("make the directory of %s: %w", sector, storage.FullDisk(err))
	}
	s.sectors[nameOf(sector)] = sector
	return nil
}

// path is the directory of a sector, or a file in it.
func (s *Store) path(sector events.SectorRef, file ...string) string {
	return filepath.Join(append([]string{s.dir, nameOf(sector).String()}, file...)...)
}

// Usage measures what a sector takes on disk; one that is not here takes nothing.
func (s *Store) Usage(sector events.SectorRef) (events.SectorUsage, error) {
	usage := events.SectorUsage{Sector: sector}
	if err := s.Here(); err != nil {
		return usage, fmt.Errorf("measure %s: %w", sector, err)
	}
	entries, err := os.ReadDir(s.path(sector))
	if errors.Is(err, fs.ErrNotExist) {
		return usage, nil
	}
	if err != nil {
		return usage, fmt.Errorf("measure %s: %w", sector, err)
	}
	usage.Notes = diskPage // The directory.
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // Removed or renamed in the meantime.
		} else if err != nil {
			return usage, fmt.Errorf("measure %s: %w", sector, err)
		}
		into := &usage.Notes
		for i, part := range events.SectorParts() {
			if e.Name() == part.String() || e.Name() == part.String()+freshEnd {
				into = &usage.Parts[i]
			}
		}
		*into += events.Bytes(storage.Occupied(info)) //nolint:gosec // A size.
	}
	return usage, nil
}
