package sealer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

func TestEverySimulatedResultSaysSo(t *testing.T) {
	s := sealer.NewSim(sectorstest.NewMemory(), 0, nil)
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

func TestASimulatedSealerFailsWhenItShould(t *testing.T) {
	var fault sealer.Fault
	s := sealer.NewSim(sectorstest.NewMemory(), 0, func(sealer.Step, events.SectorRef) sealer.Fault { return fault })
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
