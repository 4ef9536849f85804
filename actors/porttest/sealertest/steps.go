package sealertest

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

func life(t *testing.T, w World) {
	c := seal(t, w.Sealer, Sector, loads(t))
	proof, err := w.Sealer.Commit(t.Context(), Sector, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sealer.Verify(Sector, c, proof); err != nil {
		t.Fatal(err)
	}
	if err := w.Sealer.Finalize(t.Context(), Sector); err != nil {
		t.Fatal(err)
	}
	prove(t, w.Sealer, Sector, c)
	for range 2 {
		if err := w.Sealer.Remove(t.Context(), Sector); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Sealer.Challenge(t.Context(), Sector, day, leaves); !errors.Is(err, events.ErrSectorStep) {
		t.Fatalf("after its removal: %v", err)
	}
}

func empty(t *testing.T, w World) {
	prove(t, w.Sealer, Sector, seal(t, w.Sealer, Sector, nil))
	// The same with its zeros as a piece, whose bytes nobody has to send.
	other := Sector
	other.Number++
	zero, err := commd.ZeroCommitment(uint64(other.Size))
	if err != nil {
		t.Fatal(err)
	}
	piece := events.SectorPiece{CID: commd.CID(zero), Size: other.Size}
	if err := w.Sealer.AddPiece(t.Context(), other, 0, piece, nil); err != nil {
		t.Fatal(err)
	}
	prove(t, w.Sealer, other, precommit(t, w.Sealer, other, []Load{{SectorPiece: piece}}))
}

func packed(t *testing.T, w World) {
	all := loads(t)
	for name, c := range map[string]struct {
		pieces []Load
		want   []events.Bytes
	}{
		"after three pieces": {all, []events.Bytes{2 << 10, 4 << 10}},
		"without any":        {nil, []events.Bytes{16 << 10}},
		"when it is full":    {[]Load{NewLoad(t, 0, 16256, 'f')}, nil},
	} {
		ref := Sector
		ref.Number += uint64(len(c.pieces))
		for _, l := range c.pieces {
			add(t, w.Sealer, ref, l)
		}
		var sizes []events.Bytes
		list := pieces(c.pieces)
		for range 2 { // Again after a crash, the same.
			fillers, err := w.Restart().Pack(t.Context(), ref, pieces(c.pieces))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sizes, list = nil, pieces(c.pieces)
			for _, f := range fillers {
				if zero, err := commd.ZeroCommitment(uint64(f.Size)); err != nil || f.CID != commd.CID(zero) || f.Payload != 0 {
					t.Fatalf("%s: filler %+v, %v", name, f, err)
				}
				sizes, list = append(sizes, f.Size), append(list, f)
			}
		}
		if diff := cmp.Diff(c.want, sizes); diff != "" {
			t.Fatalf("%s: fillers (-want +got):\n%s", name, diff)
		}
		// With the fillers in the list it is the same sector.
		want := precommit(t, w.Sealer, ref, c.pieces)
		var full []Load
		for _, p := range list {
			full = append(full, Load{SectorPiece: p})
		}
		if got := precommit(t, w.Sealer, ref, full); got.CommD != want.CommD || got.CommR != want.CommR {
			t.Fatalf("%s: with its fillers listed CommD is %s, not %s", name, got.CommD, want.CommD)
		}
	}
}

func twice(t *testing.T, w World) {
	all := loads(t)
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	s := w.Restart()
	for _, l := range all {
		if err := s.AddPiece(t.Context(), Sector, l.Offset, l.SectorPiece, iotest.ErrReader(errors.New("it was read"))); err != nil {
			t.Fatal(err)
		}
	}
	prove(t, s, Sector, precommit(t, s, Sector, all))
}

// A large piece that is refused at its end has been written; then a small one replaces it.
func leavesNothing(t *testing.T, w World) {
	large := NewLoad(t, 0, 16256, 'x')
	wrong := bytes.Clone(large.Bytes)
	wrong[len(wrong)-1] ^= 1
	if err := w.Sealer.AddPiece(t.Context(), Sector, 0, large.SectorPiece, bytes.NewReader(wrong)); !errors.Is(err, events.ErrPieceMismatch) {
		t.Fatal(err)
	}
	prove(t, w.Sealer, Sector, seal(t, w.Sealer, Sector, loads(t)))
}

func repeated(t *testing.T, w World) {
	all := loads(t)
	for _, l := range all {
		add(t, w.Sealer, Sector, l)
	}
	type results struct {
		Out, Seal, Proof []byte
		CommD, CommR     events.Hash
	}
	run := func(s port.Sealer) (r results) {
		var errs [5]error
		r.Out, errs[0] = s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil)
		r.CommD, r.CommR, errs[1] = s.PreCommit2(t.Context(), Sector, r.Out, nil)
		r.Seal, errs[2] = s.Commit(t.Context(), Sector, events.SealContext{
			Ticket: ticket, Seed: seed, CommD: r.CommD, CommR: r.CommR, Pieces: pieces(all),
		}, nil)
		errs[3] = s.Finalize(t.Context(), Sector)
		r.Proof, errs[4] = s.Challenge(t.Context(), Sector, day, leaves)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := run(w.Sealer)
	for range 2 {
		if diff := cmp.Diff(first, run(w.Restart())); diff != "" {
			t.Fatal(diff)
		}
	}
	// The first step again, late: later results stay.
	s := w.Restart()
	if out, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil); err != nil || !bytes.Equal(out, first.Out) {
		t.Fatal(out, err)
	}
	if proof, err := s.Challenge(t.Context(), Sector, day, leaves); err != nil || !bytes.Equal(proof, first.Proof) {
		t.Fatal(err)
	}
	// A later step without the earlier ones before it, as after a crash between them.
	commD, commR, err := s.PreCommit2(t.Context(), Sector, first.Out, nil)
	if err != nil || commD != first.CommD || commR != first.CommR {
		t.Fatal(commD, commR, err)
	}
	// With another ticket, sealing starts over.
	if _, err := s.PreCommit1(t.Context(), Sector, events.Hash{77}, pieces(all), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Challenge(t.Context(), Sector, day, leaves); !errors.Is(err, events.ErrSectorStep) {
		t.Fatal(err)
	}
}

func order(t *testing.T, w World) {
	s, all := w.Sealer, loads(t)
	refuse := func(when string) {
		t.Helper()
		_, _, err2 := s.PreCommit2(t.Context(), Sector, []byte("made up"), nil)
		_, errCommit := s.Commit(t.Context(), Sector, events.SealContext{}, nil)
		errFinalize := s.Finalize(t.Context(), Sector)
		_, errChallenge := s.Challenge(t.Context(), Sector, day, leaves)
		for name, err := range map[string]error{"PreCommit2": err2, "Commit": errCommit, "Finalize": errFinalize, "Challenge": errChallenge} {
			if !errors.Is(err, events.ErrSectorStep) {
				t.Errorf("%s %s: %v", name, when, err)
			}
		}
	}
	refuse("of nothing")
	for _, l := range all {
		add(t, s, Sector, l)
	}
	refuse("before the first step")
	if _, err := s.PreCommit1(t.Context(), Sector, ticket, pieces(all), nil); err != nil {
		t.Fatal(err)
	}
	refuse("before the second step")
	c := precommit(t, s, Sector, all)
	for name, change := range map[string]func(c *events.SealContext){
		"ticket": func(c *events.SealContext) { c.Ticket[0]++ },
		"CommD":  func(c *events.SealContext) { c.CommD[0]++ },
		"CommR":  func(c *events.SealContext) { c.CommR[0]++ },
	} {
		other := c
		change(&other)
		if _, err := s.Commit(t.Context(), Sector, other, nil); !errors.Is(err, events.ErrSectorStep) {
			t.Errorf("a commit with another %s: %v", name, err)
		}
	}
	prove(t, s, Sector, c)
}

func several(t *testing.T, w World) {
	var group sync.WaitGroup
	all := loads(t)
	for i := range 6 {
		sector := Sector
		sector.Number = uint64(i / 2) // Two for each sector.
		group.Go(func() {
			for _, l := range all {
				if err := w.Sealer.AddPiece(t.Context(), sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes)); err != nil && !errors.Is(err, events.ErrSectorStep) {
					t.Error(err)
				}
			}
			if _, err := w.Sealer.PreCommit1(t.Context(), sector, ticket, pieces(all), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 3 {
		sector := Sector
		sector.Number = uint64(i)
		prove(t, w.Sealer, sector, precommit(t, w.Sealer, sector, all))
	}
}
