package sealer_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

func TestATreeThatIsDamagedIsBuiltAgain(t *testing.T) {
	m := sectorstest.NewMemory()
	s := sealer.NewCommD(m, sealLeaves)
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
				s := sealer.NewCommD(m, sealLeaves)
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
					t.Fatalf("with damaged data in addition: %v", err)
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
