package sealertest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// challengeUntil asks day after day until a challenge meets the damage.
func challengeUntil(t *testing.T, s port.Sealer) error {
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
	if err := w.Sealer.AddPiece(t.Context(), Sector, all[1].Offset, all[1].SectorPiece, bytes.NewReader(wrong)); !errors.Is(err, events.ErrPieceMismatch) {
		t.Fatalf("cured with other bytes: %v", err)
	}
	s := w.Restart()
	if err := challengeUntil(t, s); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("not cured: %v", err)
	}
	add(t, s, Sector, all[1])
	add(t, s, Sector, all[0]) // This one was not damaged.
	prove(t, s, Sector, c)
	for i := range 200 {
		if _, err := s.Challenge(t.Context(), Sector, events.Hash{byte(i)}, leaves); err != nil {
			t.Fatal(err)
		}
	}
	// Where nothing is stored, the repair needs nothing.
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
	full("AddPiece", func() error {
		return s.AddPiece(t.Context(), Sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes))
	})
	add(t, s, Sector, l)
	add(t, s, Sector, all[2])
	full("Pack", func() error { w.Flip(Sector, 3000); _, err := s.Pack(t.Context(), Sector, pieces(all)); return err })
	full("PreCommit1", func() error { _, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil); return err })
	out, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil)
	if err != nil {
		t.Fatal(err)
	}
	full("PreCommit2", func() error { _, _, err := s.PreCommit2(t.Context(), Sector, out, nil); return err })
	c := precommit(t, s, Sector, all)
	// A proof needs no disk space, and neither does removing.
	w.Full(true)
	prove(t, s, Sector, c)
	if _, err := s.Commit(t.Context(), Sector, c, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Finalize(t.Context(), Sector), s.Remove(t.Context(), Sector)); err != nil {
		t.Error(err)
	}
}

// restore adds all pieces again, of which a sealer reads those that are damaged.
func restore(t *testing.T, s port.Sealer, c events.SealContext, all []Load) {
	t.Helper()
	err := s.Restore(t.Context(), Sector, c, nil)
	if !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatalf("restore without its pieces: %v", err)
	}
	for _, l := range all {
		add(t, s, Sector, l)
	}
	last := 0.0
	if err := s.Restore(t.Context(), Sector, c, func(done float64) { last = done }); err != nil || last != 1 {
		t.Fatalf("restored with progress %v: %v", last, err)
	}
	prove(t, s, Sector, c)
}

func restored(t *testing.T, w World) {
	all := loads(t)
	c := seal(t, w.Sealer, Sector, all)
	if err := w.Sealer.Restore(t.Context(), Sector, c, nil); err != nil {
		t.Fatalf("a sound sector: %v", err)
	}
	w.Flip(Sector, 3000) // Zeros are nobody's.
	if err := w.Sealer.Restore(t.Context(), Sector, c, nil); err != nil {
		t.Fatalf("damaged zeros: %v", err)
	}
	w.Flip(Sector, uint64(all[1].Offset)+1234)
	restore(t, w.Restart(), c, all)
}

func goneSector(t *testing.T, w World) {
	all := loads(t)
	c := seal(t, w.Sealer, Sector, all)
	fillers, err := w.Sealer.Pack(t.Context(), Sector, c.Pieces)
	if err != nil {
		t.Fatal(err)
	}
	c.Pieces = append(c.Pieces, fillers...)
	if err := w.Sealer.Remove(t.Context(), Sector); err != nil {
		t.Fatal(err)
	}
	restore(t, w.Sealer, c, all)
	proof, err := w.Sealer.Commit(t.Context(), Sector, c, nil)
	if err == nil {
		err = w.Sealer.Verify(Sector, c, proof)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func neverWas(t *testing.T, w World) {
	c := seal(t, w.Sealer, Sector, loads(t))
	for name, change := range map[string]func(c *events.SealContext){
		"CommD":      func(c *events.SealContext) { c.CommD[0]++ },
		"CommR":      func(c *events.SealContext) { c.CommR[0]++ },
		"its pieces": func(c *events.SealContext) { c.Pieces = c.Pieces[:2] },
	} {
		other := c
		change(&other)
		if err := w.Sealer.Restore(t.Context(), Sector, other, nil); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("with other %s: %v", name, err)
		}
	}
	prove(t, w.Sealer, Sector, c)
}

// check reads all of a sector at rest, a part at a time, and returns how many calls that took.
func check(t *testing.T, s port.Sealer) (calls int, err error) {
	t.Helper()
	for at := events.Bytes(0); at < Sector.Size; calls++ {
		next, err := s.Check(t.Context(), Sector, at, 5000)
		if err != nil {
			return calls, err
		}
		if next <= at || next > Sector.Size {
			t.Fatalf("after %d it goes on at %d", at, next)
		}
		at = next
	}
	return calls, nil
}

func checked(t *testing.T, w World) {
	all := loads(t)
	if _, err := check(t, w.Sealer); w.Checks != errors.Is(err, events.ErrSectorStep) || w.Checks == errors.Is(err, events.ErrNoVerifier) {
		t.Fatalf("a sector that is not sealed: %v", err)
	}
	c := seal(t, w.Sealer, Sector, all)
	if !w.Checks {
		if _, err := check(t, w.Sealer); !errors.Is(err, events.ErrNoVerifier) {
			t.Fatal(err)
		}
		return
	}
	if calls, err := check(t, w.Sealer); err != nil || calls != 4 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	for _, at := range []events.Bytes{all[0].Offset, all[1].Offset + 3999, all[2].Offset + 7} {
		w.Flip(Sector, uint64(at))
		for range 2 { // It is found again, until it is mended.
			if _, err := check(t, w.Sealer); !errors.Is(err, events.ErrSectorDamaged) {
				t.Fatalf("at %d: %v", at, err)
			}
		}
		for _, l := range all {
			add(t, w.Sealer, Sector, l)
		}
		if _, err := check(t, w.Restart()); err != nil {
			t.Fatalf("at %d, mended: %v", at, err)
		}
	}
	w.Flip(Sector, 3000) // Where nothing is stored.
	if _, err := check(t, w.Sealer); err != nil {
		t.Fatal(err)
	}
	prove(t, w.Sealer, Sector, c)
}

func checkedLost(t *testing.T, w World) {
	if !w.Checks {
		return // The case above holds.
	}
	all := loads(t)
	c := seal(t, w.Sealer, Sector, all)
	w.Cut(Sector)
	if _, err := check(t, w.Sealer); !errors.Is(err, events.ErrSectorDamaged) {
		t.Fatal(err)
	}
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	if _, err := check(t, w.Sealer); err != nil {
		t.Fatal(err)
	}
	prove(t, w.Sealer, Sector, c)
}
