package sealer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

func TestEverySimulatedResultSaysSo(t *testing.T) {
	s := sealer.NewSim(sectorstest.NewMemory(), 0)
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
}

func TestEveryLieOfASimulatedSealerIsFoundOut(t *testing.T) {
	s := sealer.NewSim(sectorstest.NewMemory(), 0)
	l := sealertest.NewLoad(t, 0, 1000, 'a')
	c := events.SealContext{Pieces: []events.SectorPiece{l.SectorPiece}}
	if err := s.AddPiece(t.Context(), sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes))); err != nil {
		t.Fatal(err)
	}
	out, err := s.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, c.Pieces, nil)
	if err != nil {
		t.Fatal(err)
	}
	lie := slices.Clone(out)
	lie[31] ^= 1
	if c.CommD, c.CommR, err = s.PreCommit2(t.Context(), sealertest.Sector, lie, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyCommitments(sealertest.Sector, c); !errors.Is(err, events.ErrSealerLies) {
		t.Errorf("the first step lied, and found was %v", err)
	}
	if c.CommD, c.CommR, err = s.PreCommit2(t.Context(), sealertest.Sector, out, nil); err != nil {
		t.Fatal(err)
	}
	lying := c
	lying.CommR[5] ^= 1
	if err := s.VerifyCommitments(sealertest.Sector, lying); !errors.Is(err, events.ErrSealerLies) {
		t.Errorf("the second step lied, and found was %v", err)
	}
	seal, err := s.Commit(t.Context(), sealertest.Sector, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	seal[0] ^= 1
	if err := s.Verify(sealertest.Sector, c, seal); !errors.Is(err, events.ErrSealerLies) {
		t.Errorf("the commit lied, and found was %v", err)
	}
	day, err := s.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	day[0] ^= 1
	if err := s.VerifyChallenge(sealertest.Sector, c, events.Hash{}, 1, day); !errors.Is(err, events.ErrSealerLies) {
		t.Errorf("a challenge was answered with a lie, and found was %v", err)
	}
}
