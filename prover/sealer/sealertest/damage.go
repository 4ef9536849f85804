package sealertest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
)

// challengeUntil asks day after day until a challenge meets the damage.
func challengeUntil(t *testing.T, s sealer.Sealer) error {
	t.Helper()
	for i := range 2000 {
		if _, err := s.Challenge(t.Context(), Sector, events.Hash{byte(i), byte(i >> 8)}, leaves); err != nil {
			return err
		}
	}
	t.Fatal("no challenge met the damage")
	return nil
}

func damage(t *testing.T, w World) {
	all := loads(t)
	c := seal(t, w.Sealer, Sector, all)
	w.Flip(Sector, uint64(all[1].Offset)+1234)
	if err := challengeUntil(t, w.Sealer); !errors.Is(err, events.ErrSectorDamaged) || !bytes.Contains([]byte(err.Error()), []byte(all[1].CID)) {
		t.Fatalf("it is called %v", err)
	}
	wrong := bytes.Repeat([]byte{1}, len(all[1].Bytes))
	if err := w.Sealer.AddPiece(t.Context(), Sector, all[1].Offset, all[1].Piece, bytes.NewReader(wrong)); !errors.Is(err, events.ErrPieceMismatch) {
		t.Fatalf("cured with other bytes: %v", err)
	}
	s := w.Restart()
	if err := challengeUntil(t, s); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("not cured: %v", err)
	}
	add(t, s, Sector, all[1])
	add(t, s, Sector, all[0]) // Was not damaged.
	prove(t, s, Sector, c)
	for i := range 200 {
		if _, err := s.Challenge(t.Context(), Sector, events.Hash{byte(i)}, leaves); err != nil {
			t.Fatal(err)
		}
	}
	// Where nothing is stored, nothing is needed for the cure.
	w.Flip(Sector, 3000)
	for i := range 200 {
		if _, err := s.Challenge(t.Context(), Sector, events.Hash{byte(i)}, leaves); err != nil {
			t.Fatal(err)
		}
	}
}

func lost(t *testing.T, w World) {
	all := loads(t)
	c := seal(t, w.Sealer, Sector, all)
	w.Cut(Sector)
	if err := challengeUntil(t, w.Sealer); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatal(err)
	}
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	prove(t, w.Sealer, Sector, c)
}

func early(t *testing.T, w World) {
	all := loads(t)
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	w.Flip(Sector, uint64(all[2].Offset)+31)
	for range 2 {
		if _, err := w.Sealer.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil); !errors.Is(err, events.ErrSectorDamaged) {
			t.Fatal(err)
		}
	}
	prove(t, w.Sealer, Sector, seal(t, w.Sealer, Sector, all))
}

func fullDisk(t *testing.T, w World) {
	s, all := w.Sealer, loads(t)
	add(t, s, Sector, all[0])
	full := func(name string, step func() error) {
		t.Helper()
		w.Full(true)
		if err := step(); !errors.Is(err, events.ErrDiskFull) {
			t.Errorf("%s: %v", name, err)
		}
		w.Full(false)
	}
	l := all[1]
	full("AddPiece", func() error { return s.AddPiece(t.Context(), Sector, l.Offset, l.Piece, bytes.NewReader(l.Bytes)) })
	add(t, s, Sector, l)
	add(t, s, Sector, all[2])
	full("PreCommit1", func() error { _, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil); return err })
	out, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil)
	if err != nil {
		t.Fatal(err)
	}
	full("PreCommit2", func() error { _, _, err := s.PreCommit2(t.Context(), Sector, out, nil); return err })
	c := precommit(t, s, Sector, all)
	// A proof needs no room, and what is removed neither.
	w.Full(true)
	prove(t, s, Sector, c)
	if _, err := s.Commit(t.Context(), Sector, c); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Finalize(t.Context(), Sector), s.Remove(t.Context(), Sector)); err != nil {
		t.Error(err)
	}
}
