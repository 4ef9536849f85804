package sectorstest

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/hostnode/hostnode/events"
)

// Memory is a store of sectors' files in memory, with faults. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	sectors map[key]*sector
	full    bool
	scrub   events.SectorScrub
}

type key struct {
	provider events.Address
	number   uint64
}

type sector struct {
	ref   events.SectorRef
	parts map[events.SectorPart]*content
	notes map[string][]byte // nil for a damaged one
}

// content is the content of a file; a reader that has it open keeps it after its removal.
type content struct{ b []byte }

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{sectors: make(map[key]*sector)} }

// SetFull sets whether the disk is full.
func (m *Memory) SetFull(full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = full
}

// Change changes the content of a part, bypassing the store.
func (m *Memory) Change(ref events.SectorRef, part events.SectorPart, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.sectors[key{ref.Provider, ref.Number}].parts[part]
	c.b = change(c.b)
}

// DamageNote makes a note unreadable.
func (m *Memory) DamageNote(ref events.SectorRef, title string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sectors[key{ref.Provider, ref.Number}].notes[title] = nil
}

func (m *Memory) known(ref events.SectorRef) (*sector, error) {
	s := m.sectors[key{ref.Provider, ref.Number}]
	switch {
	case s == nil:
		return nil, fmt.Errorf("%s: %w", ref, events.ErrNoSectorPart)
	case s.ref != ref:
		return nil, fmt.Errorf("%s is stored as one of %d bytes: %w", ref, s.ref.Size, events.ErrSectorDamaged)
	}
	return s, nil
}

func (m *Memory) enter(ref events.SectorRef) (*sector, error) {
	if s, err := m.known(ref); s != nil || m.sectors[key{ref.Provider, ref.Number}] != nil {
		return s, err
	}
	if m.full {
		return nil, events.ErrDiskFull
	}
	s := &sector{ref, make(map[events.SectorPart]*content), make(map[string][]byte)}
	m.sectors[key{ref.Provider, ref.Number}] = s
	return s, nil
}

func (s *sector) open(part events.SectorPart, length events.Bytes) (*content, error) {
	c := s.parts[part]
	switch {
	case c == nil:
		return nil, fmt.Errorf("%s, %s: %w", s.ref, part, events.ErrNoSectorPart)
	case events.Bytes(len(c.b)) != length:
		return nil, fmt.Errorf("%s of %s has %d bytes, not %d: %w", part, s.ref, len(c.b), length, events.ErrSectorDamaged)
	}
	return c, nil
}

// Open implements Store.
func (m *Memory) Open(ref events.SectorRef, part events.SectorPart, length events.Bytes) (events.SectorReader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.known(ref)
	if err != nil {
		return nil, err
	}
	c, err := s.open(part, length)
	if err != nil {
		return nil, err
	}
	return file{m, c}, nil
}

// Edit implements Store.
func (m *Memory) Edit(ref events.SectorRef, part events.SectorPart, length events.Bytes) (events.SectorFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.enter(ref)
	if err != nil {
		return nil, err
	}
	if s.parts[part] == nil {
		if m.full {
			return nil, events.ErrDiskFull
		}
		s.parts[part] = &content{make([]byte, length)}
	}
	c, err := s.open(part, length)
	if err != nil {
		return nil, err
	}
	return file{m, c}, nil
}

// Replace implements Store.
func (m *Memory) Replace(
	ref events.SectorRef, part events.SectorPart, length events.Bytes, write func(events.SectorFile) error,
) error {
	c := &content{make([]byte, length)}
	err := write(file{m, c})
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.full {
		err = events.ErrDiskFull
	}
	if err != nil {
		return fmt.Errorf("make %s of %s: %w", part, ref, err)
	}
	s, err := m.enter(ref)
	if err == nil {
		s.parts[part] = c
	}
	return err
}

// Note implements Store.
func (m *Memory) Note(ref events.SectorRef, title string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sectors[key{ref.Provider, ref.Number}] == nil {
		return nil, nil
	}
	s, err := m.known(ref)
	if err != nil {
		return nil, err
	}
	b, ok := s.notes[title]
	if ok && b == nil {
		return nil, fmt.Errorf("note %s of %s: %w", title, ref, events.ErrSectorDamaged)
	}
	return bytes.Clone(b), nil
}

// SetNote implements Store.
func (m *Memory) SetNote(ref events.SectorRef, title string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(data) > 1<<20:
		return fmt.Errorf("note %s of %s has %d bytes: %w", title, ref, len(data), events.ErrMalformed)
	case m.full:
		return events.ErrDiskFull
	}
	s, err := m.enter(ref)
	if err == nil {
		s.notes[title] = append([]byte{}, data...)
	}
	return err
}

// Remove implements Store.
func (m *Memory) Remove(ref events.SectorRef, part events.SectorPart) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sectors[key{ref.Provider, ref.Number}]; s != nil {
		delete(s.parts, part)
	}
	return nil
}

// RemoveSector implements Store.
func (m *Memory) RemoveSector(ref events.SectorRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sectors, key{ref.Provider, ref.Number})
	return nil
}

// Usage implements Store.
func (m *Memory) Usage(ref events.SectorRef) (events.SectorUsage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	usage := events.SectorUsage{Sector: ref}
	s := m.sectors[key{ref.Provider, ref.Number}]
	if s == nil {
		return usage, nil
	}
	for part, c := range s.parts {
		usage.Parts[part] = events.Bytes(len(c.b))
	}
	for _, note := range s.notes {
		usage.Notes += events.Bytes(len(note))
	}
	return usage, nil
}

// Sectors implements Store.
func (m *Memory) Sectors() []events.SectorRef {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []events.SectorRef
	for _, s := range m.sectors {
		all = append(all, s.ref)
	}
	return all
}

// file is an open part.
type file struct {
	m *Memory
	c *content
}

func (f file) ReadAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return bytes.NewReader(f.c.b).ReadAt(b, at)
}

func (f file) WriteAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.full {
		return 0, events.ErrDiskFull
	}
	if at < 0 || at+int64(len(b)) > int64(len(f.c.b)) {
		return 0, io.ErrShortWrite
	}
	return copy(f.c.b[at:], b), nil
}

func (f file) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.full {
		return events.ErrDiskFull
	}
	return nil
}

func (f file) Close() error { return nil }

// ScrubProgress implements port.SectorStore.
func (m *Memory) ScrubProgress() events.SectorScrub {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.scrub
}

// Here implements port.SectorStore.
func (m *Memory) Here() error { return nil }

// SetScrubProgress implements port.SectorStore.
func (m *Memory) SetScrubProgress(p events.SectorScrub) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scrub = p
	return nil
}
