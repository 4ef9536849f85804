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

// World is a sealer together with what a test can do to it. Each test has its own.
type World struct {
	Sealer port.Sealer
	// Restart is the sealer after a crash and a start.
	Restart func() port.Sealer
	// Flip turns over a bit of the stored data, behind the sealer's back; Cut makes the file shorter.
	Flip func(sector events.SectorRef, at uint64)
	Cut  func(sector events.SectorRef)
	// Full sets whether the disk is full.
	Full func(bool)
	// Checks says that the sealer can compare data at rest.
	Checks bool
}

// Run runs the suite.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for name, test := range map[string]func(*testing.T, World){
		"a sector is sealed, proven and removed":     life,
		"an empty sector is sealed":                  empty,
		"a sector is packed with zeros":              packed,
		"a piece is verified":                        wrongBytes,
		"a piece that cannot be there is refused":    refused,
		"the same piece twice is one":                twice,
		"a refused piece leaves nothing":             leavesNothing,
		"each step gives the same after a crash":     repeated,
		"a step that is cancelled can be done again": cancelled,
		"steps have an order":                        order,
		"the pieces are those that were added":       otherPieces,
		"a sealer that lies is found out":            lies,
		"damage is found and cured":                  damage,
		"a lost file is found and cured":             lost,
		"a damaged sector is restored":               restored,
		"a lost sector is restored from its pieces":  goneSector,
		"what a sector never was is not restored":    neverWas,
		"damage before the first step is found":      early,
		"data at rest is compared":                   checked,
		"a check finds what was lost":                checkedLost,
		"a full disk is named in each step":          fullDisk,
		"sectors do not get into each other's way":   several,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

// Sector is the sector that tests seal.
var Sector = events.SectorRef{Provider: events.Address{1, 2, 3}, Number: 5, Size: 16 << 10}

// ticket, seed and day stand for randomness of the chain.
var ticket, seed, day = events.Hash{1}, events.Hash{2}, events.Hash{3}

// Load is a piece with its bytes.
type Load struct {
	events.SectorPiece
	Offset events.Bytes
	Bytes  []byte
}

// NewLoad makes a piece of so many bytes that are variations of a letter.
func NewLoad(t testing.TB, offset events.Bytes, payload int, letter byte) Load {
	t.Helper()
	b := bytes.Repeat([]byte{letter, letter + 1, letter ^ 7, 9, letter}, payload/5+1)[:payload]
	c, err := commd.Of(b)
	if err != nil {
		t.Fatal(err)
	}
	return Load{events.SectorPiece{CID: commd.CID(c.Root), Size: events.Bytes(c.Size), Payload: events.Bytes(payload)}, offset, b}
}

// loads are three pieces with zeros between and after them.
func loads(t testing.TB) []Load {
	return []Load{NewLoad(t, 0, 100, 'a'), NewLoad(t, 4096, 4000, 'b'), NewLoad(t, 8192, 1017, 'c')}
}

func pieces(all []Load) (list []events.SectorPiece) {
	for _, l := range all {
		list = append(list, l.SectorPiece)
	}
	return list
}

func add(t testing.TB, s port.Sealer, sector events.SectorRef, l Load) {
	t.Helper()
	if err := s.AddPiece(t.Context(), sector, l.Offset, l.SectorPiece, bytes.NewReader(l.Bytes)); err != nil {
		t.Fatal(err)
	}
}

// seal goes through the first two steps, and returns what a commit is about.
func seal(t testing.TB, s port.Sealer, sector events.SectorRef, all []Load) events.SealContext {
	t.Helper()
	for _, l := range all {
		add(t, s, sector, l)
	}
	return precommit(t, s, sector, all)
}

func precommit(t testing.TB, s port.Sealer, sector events.SectorRef, all []Load) events.SealContext {
	t.Helper()
	last := 0.0
	progress := func(done float64) {
		if done < last || done > 1 {
			t.Errorf("progress %v after %v", done, last)
		}
		last = done
	}
	out, err := s.PreCommit1(t.Context(), sector, ticket, pieces(all), progress)
	if err != nil {
		t.Fatal(err)
	}
	if last != 1 {
		t.Errorf("progress ended with %v", last)
	}
	commD, commR, err := s.PreCommit2(t.Context(), sector, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := events.SealContext{Ticket: ticket, Seed: seed, CommD: commD, CommR: commR, Pieces: pieces(all)}
	if err := s.VerifyCommitments(sector, c); err != nil {
		t.Fatal(err)
	}
	return c
}

const leaves = 10

func prove(t testing.TB, s port.Sealer, sector events.SectorRef, c events.SealContext) {
	t.Helper()
	proof, err := s.Challenge(t.Context(), sector, day, leaves)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyChallenge(sector, c, day, leaves, proof); err != nil {
		t.Fatal(err)
	}
}

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
