package sealertest

import (
	"bytes"
	"testing"

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

// Of is the commitment of a payload.
func Of(payload []byte) (commd.Commitment, error) {
	c := commd.NewCalc()
	if _, err := c.Write(payload); err != nil {
		return commd.Commitment{}, err
	}
	return c.Commitment()
}

// NewLoad makes a piece of so many bytes that are variations of a letter.
func NewLoad(t testing.TB, offset events.Bytes, payload int, letter byte) Load {
	t.Helper()
	b := bytes.Repeat([]byte{letter, letter + 1, letter ^ 7, 9, letter}, payload/5+1)[:payload]
	c, err := Of(b)
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
