package sealer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// Step is a call to a sealer that can fail.
type Step string

// The steps.
const (
	StepAddPiece   Step = "AddPiece"
	StepPack       Step = "Pack"
	StepPreCommit1 Step = "PreCommit1"
	StepPreCommit2 Step = "PreCommit2"
	StepCommit     Step = "Commit"
	StepFinalize   Step = "Finalize"
	StepRestore    Step = "Restore"
	StepChallenge  Step = "Challenge"
	StepRemove     Step = "Remove"
)

// Fault is what a SimSealer does wrong at a step.
type Fault uint8

// The faults.
const (
	// NoFault: nothing.
	NoFault Fault = iota
	// Fail: the step returns ErrSimulatedFault and does nothing.
	Fail
	// Lie: the step returns a wrong result without an error.
	Lie
	// Hang: the step lasts until its context ends.
	Hang
)

// ErrSimulatedFault is a fault that was asked for.
var ErrSimulatedFault = errors.New("simulated fault")

// SimSealer simulates sealing, and proves nothing: CommD is the real one of real data on disk;
// CommR and proofs are formulas that anyone can compute. The same calls give the same results, and
// every result contains "simulated".
type SimSealer struct {
	verifier
	kept
	faults func(Step, events.SectorRef) Fault
}

// NewSim returns a simulated sealer, whose commits are challenged with that many leaves, as the contract demands; 0:
// DefaultSealLeaves. faults chooses a fault for each call, and may be nil.
func NewSim(files Files, sealLeaves int, faults func(Step, events.SectorRef) Fault) *SimSealer {
	if faults == nil {
		faults = func(Step, events.SectorRef) Fault { return NoFault }
	}
	return &SimSealer{newVerifier(Simulated, sealLeaves), newKept(files), faults}
}

// fault does what goes wrong at a step, and reports whether it lies.
func (s *SimSealer) fault(ctx context.Context, step Step, sector events.SectorRef) (lies bool, err error) {
	switch s.faults(step, sector) {
	case NoFault:
		return false, nil
	case Lie:
		return true, nil
	case Hang:
		<-ctx.Done()
		return false, context.Cause(ctx)
	case Fail:
	}
	return false, fmt.Errorf("%s of %s: %w", step, sector, ErrSimulatedFault)
}

// simStep does what goes wrong at a step, or makes its call in the sector's turn.
func simStep[T any](
	ctx context.Context, s *SimSealer, step Step, sector events.SectorRef, call func(lies bool) (T, error),
) (none T, err error) {
	lies, err := s.fault(ctx, step, sector)
	if err != nil {
		return none, err
	}
	return inTurn(ctx, &s.kept, sector, func() (T, error) { return call(lies) })
}

// AddPiece implements port.Sealer.
func (s *SimSealer) AddPiece(
	ctx context.Context, sector events.SectorRef, offset events.Bytes, piece events.SectorPiece, r io.Reader,
) error {
	if _, err := s.fault(ctx, StepAddPiece, sector); err != nil {
		return err
	}
	return s.kept.AddPiece(ctx, sector, offset, piece, r)
}

// Pack implements port.Sealer.
func (s *SimSealer) Pack(
	ctx context.Context, sector events.SectorRef, pieces []events.SectorPiece,
) ([]events.SectorPiece, error) {
	lies, err := s.fault(ctx, StepPack, sector)
	if err != nil {
		return nil, err
	}
	list, err := s.kept.Pack(ctx, sector, pieces)
	if lies && len(list) > 0 {
		list = list[1:]
	}
	return list, err
}

// simLabel is in everything that a SimSealer answers and that has room for it.
const simLabel = Simulated

// simMark changes the first byte of CommD in the result of PreCommit1.
const simMark = 'd'

// PreCommit1 implements port.Sealer: CommD with its first byte changed, and "simulated".
func (s *SimSealer) PreCommit1(
	ctx context.Context, sector events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
	progress events.SectorProgress,
) ([]byte, error) {
	return simStep(ctx, s, StepPreCommit1, sector, func(lies bool) ([]byte, error) {
		commD, err := s.pack(ctx, sector, pieces)
		if err == nil {
			err = s.compare(ctx, sector, commD)
		}
		if err == nil {
			err = s.begin(sector, ticket, commD)
		}
		if err != nil {
			return nil, fmt.Errorf("first step of %s: %w", sector, err)
		}
		tell(progress, 1)
		if lies {
			commD[31] ^= 1
		}
		commD[0] ^= simMark
		return append(commD[:], simLabel...), nil
	})
}

// compare reads all data and compares its root.
func (s *SimSealer) compare(ctx context.Context, sector events.SectorRef, commD events.Hash) error {
	if err := s.whole(sector); err != nil {
		return err
	}
	for repaired := false; ; repaired = true {
		err := s.read(sector, func(f events.SectorReader) error {
			root, err := commd.RootOf(ctx, f, 0, uint64(sector.Size))
			if err == nil && events.Hash(root) != commD {
				err = errOtherRoot
			}
			return err
		})
		switch {
		case !isDamage(err):
			return err
		case repaired: // All pieces are intact, and everything between them is zero again.
			return fmt.Errorf("%s: %w: %w", sector, err, events.ErrSectorDamaged)
		}
		if err := s.repair(ctx, sector); err != nil {
			return err
		}
	}
}

// PreCommit2 implements port.Sealer. CommR is that of commd.SimulatedCommR.
func (s *SimSealer) PreCommit2(
	ctx context.Context, sector events.SectorRef, out []byte, progress events.SectorProgress,
) (commD, commR events.Hash, err error) {
	seal, err := simStep(ctx, s, StepPreCommit2, sector, func(lies bool) (sealed, error) {
		seal, err := s.seal(sector)
		if err != nil {
			return sealed{}, err
		}
		if seal == nil || len(out) != len(commD)+len(simLabel) || string(out[len(commD):]) != simLabel {
			return sealed{}, fmt.Errorf("%s: not what its first step answered: %w", sector, events.ErrSectorStep)
		}
		seal.CommD = events.Hash(out)
		seal.CommD[0] ^= simMark
		seal.CommR = events.Hash(commd.SimulatedCommR(
			sector.Provider, sector.Number, seal.Ticket, commd.Node(seal.CommD)))
		if lies {
			seal.CommR[5] ^= 1
		}
		if err := s.setSeal(sector, *seal); err != nil {
			return sealed{}, err
		}
		tell(progress, 1)
		return *seal, nil
	})
	return seal.CommD, seal.CommR, err
}

// Commit implements port.Sealer.
func (s *SimSealer) Commit(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) ([]byte, error) {
	return simStep(ctx, s, StepCommit, sector, func(lies bool) ([]byte, error) {
		seal, err := s.ready(sector)
		if err == nil {
			err = seal.asked(sector, c)
		}
		if err != nil {
			return nil, err
		}
		tell(progress, 1)
		challenged := challenge(commd.Seal, sector, c.Ticket, c.Seed, s.sealLeaves)
		return lied(commd.Simulated(challenged, commd.Node(c.CommR)), lies), nil
	})
}

func lied(proof []byte, lies bool) []byte {
	if lies {
		proof[0] ^= 1
	}
	return proof
}

// Finalize implements port.Sealer.
func (s *SimSealer) Finalize(ctx context.Context, sector events.SectorRef) error {
	if _, err := s.fault(ctx, StepFinalize, sector); err != nil {
		return err
	}
	return s.kept.Finalize(ctx, sector)
}

// Restore implements port.Sealer.
func (s *SimSealer) Restore(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) error {
	if _, err := s.fault(ctx, StepRestore, sector); err != nil {
		return err
	}
	if err := s.VerifyCommitments(sector, c); err != nil {
		return fmt.Errorf("restore %s: %w: %w", sector, err, events.ErrMalformed)
	}
	return s.restore(ctx, sector, c, func() error {
		err := s.compare(ctx, sector, c.CommD)
		if err == nil {
			tell(progress, 1)
		}
		return err
	})
}

// Challenge implements port.Sealer. It reads all of the data, so that a damaged sector gives no proof;
// who verifies the proof learns nothing of that.
func (s *SimSealer) Challenge(
	ctx context.Context, sector events.SectorRef, randomness events.Hash, leaves int,
) ([]byte, error) {
	return simStep(ctx, s, StepChallenge, sector, func(lies bool) ([]byte, error) {
		seal, err := s.ready(sector)
		if err == nil {
			err = s.compare(ctx, sector, seal.CommD)
		}
		if err != nil {
			return nil, err
		}
		challenged := challenge(commd.Possession, sector, seal.Ticket, randomness, leaves)
		return lied(commd.Simulated(challenged, commd.Node(seal.CommR)), lies), nil
	})
}

// Check implements port.Sealer: there is no tree, and each challenge reads all data.
func (s *SimSealer) Check(context.Context, events.SectorRef, events.Bytes, events.Bytes) (events.Bytes, error) {
	return 0, fmt.Errorf("a simulated sector: %w", events.ErrNoVerifier)
}

// Remove implements port.Sealer.
func (s *SimSealer) Remove(ctx context.Context, sector events.SectorRef) error {
	if _, err := s.fault(ctx, StepRemove, sector); err != nil {
		return err
	}
	return s.kept.Remove(ctx, sector)
}
