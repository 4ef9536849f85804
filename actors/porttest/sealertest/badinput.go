package sealertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/hostnode/hostnode/events"
)

var errBroken = errors.New("source is broken")

func wrongBytes(t *testing.T, w World) {
	l := NewLoad(t, 0, 4000, 'a')
	other := bytes.Clone(l.Bytes)
	other[3999] ^= 1
	for name, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"other bytes": {bytes.NewReader(other), events.ErrPieceMismatch},
		"truncated":   {bytes.NewReader(l.Bytes[:3999]), events.ErrPieceMismatch},
		"nothing":     {bytes.NewReader(nil), events.ErrPieceMismatch},
		"too long":    {bytes.NewReader(append(bytes.Clone(l.Bytes), 0)), events.ErrPieceMismatch},
		"a broken source": {
			io.MultiReader(bytes.NewReader(l.Bytes[:1000]), iotest.ErrReader(errBroken)), errBroken,
		},
	} {
		if err := w.Sealer.AddPiece(t.Context(), Sector, 0, l.SectorPiece, c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Sealer.PreCommit1(t.Context(), Sector, ticket, pieces([]Load{l}), nil); !errors.Is(err, events.ErrSectorStep) {
		t.Errorf("the first step without the piece: %v", err)
	}
	prove(t, w.Sealer, Sector, seal(t, w.Sealer, Sector, []Load{l}))
}

func refused(t *testing.T, w World) {
	good := NewLoad(t, 0, 4000, 'a')
	for name, c := range map[string]struct {
		change func(s *events.SectorRef, l *Load)
		want   error
	}{
		"larger than the sector":       {func(_ *events.SectorRef, l *Load) { l.Size, l.Offset = 32<<10, 0 }, events.ErrPieceRefused},
		"behind the sector's end":      {func(_ *events.SectorRef, l *Load) { l.Offset = 16 << 10 }, events.ErrPieceRefused},
		"at an impossible place":       {func(_ *events.SectorRef, l *Load) { l.Offset = 1 << 63 }, events.ErrPieceRefused},
		"not at a multiple":            {func(_ *events.SectorRef, l *Load) { l.Offset = 2048 }, events.ErrPieceRefused},
		"an impossible size":           {func(_ *events.SectorRef, l *Load) { l.Size = 4095 }, events.ErrPieceRefused},
		"a size of nothing":            {func(_ *events.SectorRef, l *Load) { l.Size = 0 }, events.ErrPieceRefused},
		"payload larger than itself":   {func(_ *events.SectorRef, l *Load) { l.Payload = 4065 }, events.ErrPieceRefused},
		"payload too small":            {func(_ *events.SectorRef, l *Load) { l.Payload = 64 }, events.ErrPieceRefused},
		"no commitment":                {func(_ *events.SectorRef, l *Load) { l.CID = "" }, events.ErrMalformed},
		"a commitment of another sort": {func(_ *events.SectorRef, l *Load) { l.CID = "bafy" + l.CID[4:] }, events.ErrMalformed},
		"an impossible sector":         {func(s *events.SectorRef, _ *Load) { s.Size = 20 << 10 }, events.ErrMalformed},
	} {
		sector, l := Sector, good
		c.change(&sector, &l)
		if err := w.Sealer.AddPiece(t.Context(), sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Sealer.AddPiece(t.Context(), Sector, good.Offset, good.SectorPiece, nil); !errors.Is(err, events.ErrPieceRefused) {
		t.Errorf("without bytes: %v", err)
	}
	add(t, w.Sealer, Sector, good)
	for name, l := range map[string]Load{
		"another piece at the same place": NewLoad(t, 0, 4000, 'b'),
		"one that lies over it":           NewLoad(t, 0, 8000, 'b'),
		"one that lies within it":         NewLoad(t, 2048, 1017, 'b'),
	} {
		if err := w.Sealer.AddPiece(t.Context(), Sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes)); !errors.Is(err, events.ErrPieceRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	prove(t, w.Sealer, Sector, precommit(t, w.Sealer, Sector, []Load{good}))
	late := NewLoad(t, 8192, 1000, 'c')
	if err := w.Sealer.AddPiece(t.Context(), Sector, late.Offset, late.SectorPiece, bytes.NewReader(late.Bytes)); !errors.Is(err, events.ErrSectorStep) {
		t.Errorf("a piece after sealing: %v", err)
	}
}

func otherPieces(t *testing.T, w World) {
	all := loads(t)
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	more := append(pieces(all), NewLoad(t, 0, 1017, 'z').SectorPiece)
	for name, c := range map[string]struct {
		pieces []events.SectorPiece
		want   error
	}{
		"fewer":               {pieces(all)[:2], events.ErrSectorStep},
		"none":                {nil, events.ErrSectorStep},
		"more":                {more, events.ErrSectorStep},
		"in another order":    {[]events.SectorPiece{all[1].SectorPiece, all[0].SectorPiece, all[2].SectorPiece}, events.ErrSectorStep},
		"more than fit":       {append(pieces(all), NewLoad(t, 0, 16256, 'y').SectorPiece), events.ErrPieceRefused},
		"one without its CID": {[]events.SectorPiece{{Size: 128}}, events.ErrMalformed},
	} {
		if _, err := w.Sealer.PreCommit1(t.Context(), Sector, ticket, c.pieces, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.Sealer.Pack(t.Context(), Sector, c.pieces); !errors.Is(err, c.want) {
			t.Errorf("pack with %s: %v", name, err)
		}
	}
	prove(t, w.Sealer, Sector, precommit(t, w.Sealer, Sector, all))
}

func cancelled(t *testing.T, w World) {
	stop := errors.New("the host stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	all := loads(t)
	l := all[1]
	// The reader cancels, and would never end by itself.
	cancelling := io.MultiReader(bytes.NewReader(l.Bytes[:1000]), readerFunc(func(p []byte) (int, error) {
		cancel(stop)
		return copy(p, "x"), nil
	}))
	long := events.SectorPiece{CID: l.CID, Size: Sector.Size, Payload: Sector.Size / 128 * 127}
	err := w.Sealer.AddPiece(ctx, Sector, 0, long, cancelling)
	if !errors.Is(err, stop) && !errors.Is(err, context.Canceled) && !errors.Is(err, events.ErrPieceMismatch) {
		t.Fatalf("add a piece: %v", err)
	}
	c := seal(t, w.Sealer, Sector, all)
	for name, step := range map[string]func() error{
		"AddPiece":   func() error { return w.Sealer.AddPiece(ctx, Sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes)) },
		"PreCommit1": func() error { _, err := w.Sealer.PreCommit1(ctx, Sector, ticket, c.Pieces, nil); return err },
		"PreCommit2": func() error { _, _, err := w.Sealer.PreCommit2(ctx, Sector, nil, nil); return err },
		"Commit":     func() error { _, err := w.Sealer.Commit(ctx, Sector, c, nil); return err },
		"Pack":       func() error { _, err := w.Sealer.Pack(ctx, Sector, c.Pieces); return err },
		"Restore":    func() error { return w.Sealer.Restore(ctx, Sector, c, nil) },
		"Finalize":   func() error { return w.Sealer.Finalize(ctx, Sector) },
		"Challenge":  func() error { _, err := w.Sealer.Challenge(ctx, Sector, day, leaves); return err },
		"Remove":     func() error { return w.Sealer.Remove(ctx, Sector) },
		"Check": func() error {
			_, err := w.Sealer.Check(ctx, Sector, 0, Sector.Size)
			if !w.Checks && errors.Is(err, events.ErrNoVerifier) {
				return stop
			}
			return err
		},
	} {
		if err := step(); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
	prove(t, w.Sealer, Sector, c)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The sealer's results are changed, as if it lied.
func lies(t *testing.T, w World) {
	s, all := w.Sealer, loads(t)
	c := seal(t, s, Sector, all)
	sealProof, err := s.Commit(t.Context(), Sector, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	dayProof, err := s.Challenge(t.Context(), Sector, day, leaves)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, events.ErrSealerLies) {
			t.Errorf("%s: %v", name, err)
		}
	}
	verifySeal := func(c events.SealContext, proof []byte) error {
		return s.Verify(Sector, c, proof)
	}
	verifyDay := func(randomness events.Hash, proof []byte) error {
		return s.VerifyChallenge(Sector, c, randomness, leaves, proof)
	}
	for i := range 256 {
		b := bytes.Clone(sealProof)
		b[i*(len(b)-1)/255] ^= 1 << (i % 8)
		check("a bit of the seal's proof", verifySeal(c, b))
		b = bytes.Clone(dayProof)
		b[i*(len(b)-1)/255] ^= 1 << (i % 8)
		check("a bit of the day's proof", verifyDay(day, b))
		d, r := c, c
		d.CommD[i/8] ^= 1 << (i % 8)
		r.CommR[i/8] ^= 1 << (i % 8)
		check("a bit of CommD", s.VerifyCommitments(Sector, d))
		check("a bit of CommR", s.VerifyCommitments(Sector, r))
	}
	for _, proof := range [][]byte{nil, sealProof[1:], append(bytes.Clone(sealProof), 0), make([]byte, len(sealProof)), dayProof} {
		check("another proof of the seal", verifySeal(c, proof))
	}
	other := c
	other.Seed[0]++
	check("the proof for another seed", verifySeal(other, sealProof))
	check("the proof of another day", verifyDay(events.Hash{99}, dayProof))
	other.Pieces = nil
	check("the pieces of another sector", s.VerifyCommitments(Sector, other))
}
