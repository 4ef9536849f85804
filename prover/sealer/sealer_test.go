package sealer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"Sim":   func(f sealer.Files) port.Sealer { return sealer.NewSim(f, nil) },
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
					store, err := sectors.Open(dir)
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
				store, err := sectors.Open(dir)
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

func TestATreeThatIsDamagedIsBuiltAgain(t *testing.T) {
	m := sectorstest.NewMemory()
	s := sealer.NewCommD(m, 0)
	l := sealertest.NewLoad(t, 0, 16000, 'a')
	if err := s.AddPiece(t.Context(), sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes))); err != nil {
		t.Fatal(err)
	}
	out, err := s.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, []events.SectorPiece{l.SectorPiece}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PreCommit2(t.Context(), sealertest.Sector, out, nil); err != nil {
		t.Fatal(err)
	}
	want, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"a node": func() error {
			m.Change(sealertest.Sector, events.SectorTree, func(b []byte) []byte { b[40] ^= 1; return b })
			return nil
		},
		"the root": func() error {
			m.Change(sealertest.Sector, events.SectorTree, func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
			return nil
		},
		"the header": func() error {
			m.Change(sealertest.Sector, events.SectorTree, func(b []byte) []byte { b[0] ^= 1; return b })
			return nil
		},
		"its length": func() error {
			m.Change(sealertest.Sector, events.SectorTree, func(b []byte) []byte { return b[1:] })
			return nil
		},
		"all of it": func() error { return m.Remove(sealertest.Sector, events.SectorTree) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		got, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 20)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestDamagedNotesAreNamedAndWrittenAnew(t *testing.T) {
	for _, title := range []string{"pieces", "seal"} {
		for kind, damage := range map[string]func(m *sectorstest.Memory) error{
			"by its checksum": func(m *sectorstest.Memory) error { m.DamageNote(sealertest.Sector, title); return nil },
			"by its form":     func(m *sectorstest.Memory) error { return m.SetNote(sealertest.Sector, title, []byte("{")) },
		} {
			t.Run(title+" "+kind, func(t *testing.T) {
				m := sectorstest.NewMemory()
				s := sealer.NewCommD(m, 0)
				l := sealertest.NewLoad(t, 0, 4000, 'a')
				pieces := []events.SectorPiece{l.SectorPiece}
				add := func() error {
					return s.AddPiece(t.Context(), sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes)))
				}
				seal := func() error {
					out, err := s.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, pieces, nil)
					if err == nil {
						_, _, err = s.PreCommit2(t.Context(), sealertest.Sector, out, nil)
					}
					return err
				}
				if err := errors.Join(add(), seal()); err != nil {
					t.Fatal(err)
				}
				want, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 20)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage(m); err != nil {
					t.Fatal(err)
				}
				if title == "pieces" {
					err = add()
				} else {
					_, err = s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 20)
				}
				if !errors.Is(err, events.ErrSectorDamaged) {
					t.Fatal(err)
				}
				m.Change(sealertest.Sector, events.SectorUnsealed, func(b []byte) []byte { b[7] ^= 1; return b })
				if err := seal(); !errors.Is(err, events.ErrSectorDamaged) || !strings.Contains(err.Error(), l.CID) {
					t.Fatalf("with damaged data besides: %v", err)
				}
				if err := errors.Join(add(), seal()); err != nil {
					t.Fatal(err)
				}
				if got, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 20); err != nil || string(got) != string(want) {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestEverySimulatedResultSaysSo(t *testing.T) {
	s := sealer.NewSim(sectorstest.NewMemory(), nil)
	out, err := s.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	commD, commR, err := s.PreCommit2(t.Context(), sealertest.Sector, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	seal, err := s.Commit(t.Context(), sealertest.Sector, events.SealContext{CommD: commD, CommR: commR}, nil)
	if err != nil {
		t.Fatal(err)
	}
	day, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"PreCommit1": out, "Commit": seal, "Challenge": day, "its name": []byte(s.Proves())} {
		if !strings.Contains(string(b), "simulated") {
			t.Errorf("%s does not say that it is simulated: %x", name, b)
		}
	}
	if len(seal) != 192 {
		t.Errorf("the proof has %d bytes", len(seal))
	}
}

func TestASimulatedSealerFailsWhenItShould(t *testing.T) {
	var fault sealer.Fault
	s := sealer.NewSim(sectorstest.NewMemory(), func(sealer.Step, events.SectorRef) sealer.Fault { return fault })
	l := sealertest.NewLoad(t, 0, 1000, 'a')
	pieces := []events.SectorPiece{l.SectorPiece}
	var out, seal, day []byte
	var fillers []events.SectorPiece
	c := events.SealContext{Pieces: pieces}
	steps := []struct {
		name string
		do   func(ctx context.Context) error
		lies func() error // the check that finds the step's lie; nil: it has nothing to lie about
	}{
		{"AddPiece", func(ctx context.Context) error {
			return s.AddPiece(ctx, sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes)))
		}, nil},
		{"PreCommit1", func(ctx context.Context) (err error) {
			out, err = s.PreCommit1(ctx, sealertest.Sector, events.Hash{}, pieces, nil)
			return err
		}, func() error {
			commD, commR, err := s.PreCommit2(t.Context(), sealertest.Sector, out, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s.VerifyCommitments(sealertest.Sector, events.SealContext{CommD: commD, CommR: commR, Pieces: pieces})
		}},
		{"PreCommit2", func(ctx context.Context) (err error) {
			c.CommD, c.CommR, err = s.PreCommit2(ctx, sealertest.Sector, out, nil)
			return err
		}, func() error {
			return s.VerifyCommitments(sealertest.Sector, c)
		}},
		{"Commit", func(ctx context.Context) (err error) {
			seal, err = s.Commit(ctx, sealertest.Sector, c, nil)
			return err
		}, func() error { return s.Verify(sealertest.Sector, c, seal) }},
		{"Pack", func(ctx context.Context) error {
			list, err := s.Pack(ctx, sealertest.Sector, pieces)
			fillers = list
			return err
		}, func() error {
			if len(fillers) == 4 {
				t.Error("it packed as it should")
			}
			return events.ErrSealerLies
		}},
		{"Restore", func(ctx context.Context) error { return s.Restore(ctx, sealertest.Sector, c, nil) }, nil},
		{"Finalize", func(ctx context.Context) error { return s.Finalize(ctx, sealertest.Sector) }, nil},
		{"Challenge", func(ctx context.Context) (err error) {
			day, err = s.Challenge(ctx, sealertest.Sector, events.Hash{}, 1)
			return err
		}, func() error { return s.VerifyChallenge(sealertest.Sector, c, events.Hash{}, 1, day) }},
		{"Remove", func(ctx context.Context) error { return s.Remove(ctx, sealertest.Sector) }, nil},
	}
	for _, step := range steps {
		fault = sealer.Fail
		if err := step.do(t.Context()); !errors.Is(err, sealer.ErrSimulatedFault) {
			t.Errorf("%s fails with %v", step.name, err)
		}
		fault = sealer.Hang
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := step.do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s hangs with %v", step.name, err)
		}
		if step.lies != nil {
			fault = sealer.Lie
			if err := step.do(t.Context()); err != nil {
				t.Errorf("%s lies with %v", step.name, err)
			}
			fault = sealer.NoFault
			if err := step.lies(); !errors.Is(err, events.ErrSealerLies) {
				t.Errorf("%s lied, and found was %v", step.name, err)
			}
		}
		fault = sealer.NoFault
		if err := step.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
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
	store, err := sectors.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sector := events.SectorRef{Provider: events.Address{1}, Number: 1, Size: 1 << 20}
	s := sealer.NewCommD(store, 0)
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

// Every node of the tree is compared, and a damaged tree is built again.
func TestACheckMendsADamagedTree(t *testing.T) {
	m := sectorstest.NewMemory()
	s, sector := sealer.NewCommD(m, sealLeaves), sealertest.Sector
	piece := sealertest.NewLoad(t, 0, 4000, 'a')
	if err := s.AddPiece(t.Context(), sector, 0, piece.SectorPiece, bytes.NewReader(piece.Bytes)); err != nil {
		t.Fatal(err)
	}
	out, err := s.PreCommit1(t.Context(), sector, events.Hash{1}, []events.SectorPiece{piece.SectorPiece}, nil)
	if err == nil {
		_, _, err = s.PreCommit2(t.Context(), sector, out, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	m.Change(sector, events.SectorTree, func(b []byte) []byte { want = slices.Clone(b); return b })
	check := func(what string) {
		t.Helper()
		if next, err := s.Check(t.Context(), sector, 0, sector.Size); err != nil || next != sector.Size {
			t.Fatalf("%s: to %d, %v", what, next, err)
		}
		m.Change(sector, events.SectorTree, func(b []byte) []byte {
			if !bytes.Equal(b, want) {
				t.Errorf("%s: the tree is not as it was", what)
			}
			return b
		})
	}
	for at := range want {
		m.Change(sector, events.SectorTree, func(b []byte) []byte { b[at] ^= 1; return b })
		check(fmt.Sprintf("byte %d", at))
	}
	m.Change(sector, events.SectorTree, func(b []byte) []byte { return b[:40] })
	check("cut short")
	if err := m.Remove(sector, events.SectorTree); err != nil {
		t.Fatal(err)
	}
	check("lost")
}
