package sealer

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// local seals on this host. What its results consist of is the matter of its form.
type local struct {
	verifier
	kept
	form form
}

// form is what CommDSealer and SimSealer do each in its own way, in a sector's turn.
type form interface {
	// sound compares all data with CommD, and repairs what can be repaired.
	sound(ctx context.Context, sector events.SectorRef, commD events.Hash, progress events.SectorProgress) error
	// first is what PreCommit1 answers. second sets from that what PreCommit2 answers; false: it is something else.
	first(ticket, commD events.Hash) []byte
	second(sector events.SectorRef, out []byte, seal *sealed) bool
	// prove answers a challenge.
	prove(ctx context.Context, sector events.SectorRef, seal sealed, c commd.Challenge) ([]byte, error)
}

func newLocal(proves string, sealLeaves int, files Files) local {
	return local{
		verifier: verifier{proves, sealLeaves},
		kept:     kept{files: files, turns: map[events.SectorRef]chan struct{}{}},
	}
}

// PreCommit1 implements port.Sealer. The root of the data is that of the pieces, or a piece was damaged since it was
// written.
func (l *local) PreCommit1(
	ctx context.Context, sector events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
	progress events.SectorProgress,
) ([]byte, error) {
	return inTurn(ctx, &l.kept, sector, func() ([]byte, error) {
		commD, err := l.pack(ctx, sector, pieces)
		if err == nil {
			err = l.form.sound(ctx, sector, commD, progress)
		}
		if err == nil {
			err = l.begin(sector, ticket, commD)
		}
		if err != nil {
			return nil, fmt.Errorf("first step of %s: %w", sector, err)
		}
		return l.form.first(ticket, commD), nil
	})
}

// PreCommit2 implements port.Sealer.
func (l *local) PreCommit2(
	ctx context.Context, sector events.SectorRef, out []byte, progress events.SectorProgress,
) (commD, commR events.Hash, err error) {
	err = l.alone(ctx, sector, func() error {
		seal, err := l.seal(sector)
		if err != nil {
			return err
		}
		if seal == nil || !l.form.second(sector, out, seal) {
			return fmt.Errorf("%s: not what its first step answered: %w", sector, events.ErrSectorStep)
		}
		if err := l.setSeal(sector, *seal); err != nil {
			return err
		}
		tell(progress, 1)
		commD, commR = seal.CommD, seal.CommR
		return nil
	})
	return commD, commR, err
}

// Commit implements port.Sealer.
func (l *local) Commit(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) ([]byte, error) {
	return inTurn(ctx, &l.kept, sector, func() ([]byte, error) {
		seal, err := l.ready(sector)
		if err == nil {
			err = seal.asked(sector, c)
		}
		if err != nil {
			return nil, err
		}
		proof, err := l.form.prove(ctx, sector, seal, challenge(commd.Seal, sector, c.Ticket, c.Seed, l.sealLeaves))
		if err == nil {
			tell(progress, 1)
		}
		return proof, err
	})
}

// Challenge implements port.Sealer.
func (l *local) Challenge(
	ctx context.Context, sector events.SectorRef, randomness events.Hash, leaves int,
) ([]byte, error) {
	return inTurn(ctx, &l.kept, sector, func() ([]byte, error) {
		seal, err := l.ready(sector)
		if err != nil {
			return nil, err
		}
		c := challenge(commd.Possession, sector, seal.Ticket, randomness, leaves)
		return l.form.prove(ctx, sector, seal, c)
	})
}

// Restore implements port.Sealer, as far as that can be without the pieces.
func (l *local) Restore(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) error {
	if err := l.VerifyCommitments(sector, c); err != nil {
		return fmt.Errorf("restore %s: %w: %w", sector, err, events.ErrMalformed)
	}
	return l.alone(ctx, sector, func() (err error) {
		if list, noted := l.pieces(sector); noted == nil && len(list) == 0 { // They are gone, or there were none.
			var placed []commd.Placed
			if placed, err = fill(sector, c.Pieces); err == nil {
				_, err = l.noteAnew(ctx, sector, c.Pieces, placed)
			}
		}
		if err == nil {
			_, err = l.pack(ctx, sector, c.Pieces)
		}
		if err == nil {
			err = l.form.sound(ctx, sector, c.CommD, progress)
		}
		if err == nil {
			err = l.setSeal(sector, sealed{c.Ticket, c.CommD, c.CommR})
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", sector, err)
		}
		return nil
	})
}
