package sealer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

var (
	_ sealer.Files = (*sectors.Store)(nil)
	_ sealer.Files = (*sectorstest.Memory)(nil)
	_ port.Sealer  = (*sealer.CommDSealer)(nil)
	_ port.Sealer  = (*sealer.SimSealer)(nil)
	_ port.Sealer  = (*sealer.RemoteSealer)(nil)
)

const sealLeaves = 12

// makers are the sealers that keep data on this host.
var makers = map[string]func(sealer.Files) port.Sealer{
	"CommD": func(f sealer.Files) port.Sealer { return sealer.NewCommD(f, sealLeaves) },
	"Sim":   func(f sealer.Files) port.Sealer { return sealer.NewSim(f, sealLeaves) },
}

// world is a sealer over a store in memory.
func world(newSealer func(sealer.Files) port.Sealer, checks bool) sealertest.World {
	m := sectorstest.NewMemory()
	return sealertest.World{
		Sealer:  newSealer(m),
		Restart: func() port.Sealer { return newSealer(m) },
		Flip: func(s events.SectorRef, at uint64) {
			m.Change(s, events.SectorUnsealed, func(b []byte) []byte { b[at] ^= 1; return b })
		},
		Cut: func(s events.SectorRef) {
			m.Change(s, events.SectorUnsealed, func(b []byte) []byte { return b[:len(b)-1] })
		},
		Full: m.SetFull, Checks: checks,
	}
}

func TestSealersObeyTheirPort(t *testing.T) {
	for name, newSealer := range makers {
		t.Run(name, func(t *testing.T) {
			sealertest.Run(t, func(*testing.T) sealertest.World { return world(newSealer, name == "CommD") })
		})
	}
}

// On a disk, where a restart reads everything again; a full disk cannot be tested here.
func TestSealersObeyTheirPortOnADisk(t *testing.T) {
	for name, newSealer := range makers {
		t.Run(name, func(t *testing.T) {
			sealertest.Run(t, func(t *testing.T) sealertest.World {
				dir := t.TempDir()
				open := func() port.Sealer {
					store, err := sectors.Open(dir, nil)
					if err != nil {
						t.Fatal(err)
					}
					return newSealer(&fullStore{Store: store})
				}
				path := func(events.SectorRef) string {
					found, err := filepath.Glob(filepath.Join(dir, "*-5", "unsealed"))
					if err != nil || len(found) != 1 {
						t.Fatal(found, err)
					}
					return found[0]
				}
				var full bool
				store, err := sectors.Open(dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				return sealertest.World{
					Sealer: newSealer(&fullStore{store, &full}), Restart: open,
					Flip: func(s events.SectorRef, at uint64) { flipFile(t, path(s), at) },
					Cut: func(s events.SectorRef) {
						if err := os.Truncate(path(s), int64(s.Size)-1); err != nil {
							t.Fatal(err)
						}
					},
					Full: func(on bool) { full = on }, Checks: name == "CommD",
				}
			})
		})
	}
}

func flipFile(t *testing.T, path string, at uint64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fullStore is a store on a disk that may be full.
type fullStore struct {
	*sectors.Store
	full *bool
}

func (s *fullStore) isFull() error {
	if s.full != nil && *s.full {
		return events.ErrDiskFull
	}
	return nil
}

func (s *fullStore) Replace(r events.SectorRef, p events.SectorPart, n events.Bytes, w func(events.SectorFile) error) error {
	if err := s.isFull(); err != nil {
		return err
	}
	return s.Store.Replace(r, p, n, w)
}

func (s *fullStore) Edit(r events.SectorRef, p events.SectorPart, n events.Bytes) (events.SectorFile, error) {
	if err := s.isFull(); err != nil {
		return nil, err
	}
	return s.Store.Edit(r, p, n)
}

func (s *fullStore) SetNote(r events.SectorRef, title string, b []byte) error {
	if err := s.isFull(); err != nil {
		return err
	}
	return s.Store.SetNote(r, title, b)
}

func TestWhatAProofShowsIsSaid(t *testing.T) {
	for proves, want := range map[string]string{
		sealer.Possession: "possession, not replication", sealer.Simulated: "simulated",
		sealer.Replication: "not verified on this host", "magic": "unknown",
	} {
		if got := sealer.Describe(proves); !strings.Contains(got, want) {
			t.Errorf("%s is described as %q", proves, got)
		}
	}
	r := remote(t, sealer.RemoteConfig{URL: "http://localhost:1", Proves: sealer.Replication})
	commD, err := sealer.CommD(sealertest.Sector, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := events.SealContext{CommD: commD, CommR: events.Hash{9}}
	if err := r.Verify(sealertest.Sector, c, nil); !errors.Is(err, events.ErrNoVerifier) {
		t.Errorf("a seal: %v", err)
	}
	if err := r.VerifyChallenge(sealertest.Sector, c, c.Seed, 1, nil); !errors.Is(err, events.ErrNoVerifier) {
		t.Errorf("a challenge: %v", err)
	}
	if err := r.VerifyCommitments(sealertest.Sector, c); err != nil {
		t.Errorf("any CommR of an outside prover: %v", err)
	}
	if err := r.VerifyCommitments(sealertest.Sector, events.SealContext{CommR: events.Hash{9}}); !errors.Is(err, events.ErrSealerLies) {
		t.Errorf("another CommD of an outside prover: %v", err)
	}
}

func TestWhatTheSealersOccupyIsWhatTheySay(t *testing.T) {
	store, err := sectors.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sector := events.SectorRef{Provider: events.Address{1}, Number: 1, Size: 1 << 20}
	s := sealer.NewCommD(store, sealLeaves)
	l := sealertest.NewLoad(t, 0, 1<<20/128*127, 'a')
	if err := s.AddPiece(t.Context(), sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PreCommit1(t.Context(), sector, events.Hash{}, []events.SectorPiece{l.SectorPiece}, nil); err != nil {
		t.Fatal(err)
	}
	usage, err := store.Usage(sector)
	if err != nil {
		t.Fatal(err)
	}
	for i, most := range sealer.CommDSpace(sector.Size) {
		if got := usage.Parts[i]; got > most+4096 || (most > 0 && got == 0) {
			t.Errorf("%s occupies %d bytes, said were %d", events.SectorParts()[i], got, most)
		}
	}
}
