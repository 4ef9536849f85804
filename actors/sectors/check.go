package sectors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// This file checks one sector when an operator wants to know: with the same reading as the scrub, and with a proof.

// checkLeaves is how many leaves the proof of a check has. It shows that proofs of the sector can be made and are
// accepted; that the data is sound was found before, by reading all of it.
const checkLeaves = 16

// ErrNotAtRest: a slot or a sector has no data on disk that must be complete and sound now.
var ErrNotAtRest = errors.New("there is no data at rest to be checked")

type (
	// Check reads the next part of the data of a sector, from an offset on. At the end of the data a proof is made
	// and verified instead. The answer is a Checked; what is damaged is a fault, as if the scrub had found it.
	// ErrNoSector, ErrNotAtRest.
	Check struct {
		Number uint64
		From   events.Bytes
	}
	// Checked is what a Check found.
	Checked struct {
		// Next is where to go on in data of Size bytes. Over: that was the proof.
		Next, Size events.Bytes
		Over       bool
		// Damaged says what is damaged, Wrong why the proof cannot be made or does not verify; empty: neither.
		Damaged, Wrong string
		// Proves is what a proof shows that was made and verified: what Sealer.Proves says.
		Proves string
	}
)

// AtRest returns ErrNotAtRest of a sector that is not proven now.
func AtRest(st sector.Info) error {
	if st.State != sector.Proving {
		return fmt.Errorf("%w: sector %d is in state %s", ErrNotAtRest, st.Number, st.State)
	}
	return nil
}

// check answers a Check when its part is read.
func (s *Sectors) check(a *shell.Turn, m Check, answer shell.Answer) {
	c := s.children[m.Number]
	if c == nil {
		answer(nil, noSector(m.Number))
		return
	}
	if err := AtRest(c.info); err != nil {
		answer(nil, err)
		return
	}
	st, self, randomness := c.info, a.Self, s.head.Hash
	self.Do(func(ctx context.Context) {
		s.Yield(ctx, "check of a sector")
		var found Checked
		err := s.RT.Guarded("check of a sector", func() (err error) {
			found, err = s.checkPart(ctx, st, m.From, randomness)
			return err
		})
		if found.Damaged != "" {
			self.Tell(scrubFound{m.Number, "a check", found.Damaged})
		}
		answer(found, err)
	})
}

func (s *Sectors) checkPart(
	ctx context.Context, st sector.Info, from events.Bytes, randomness events.Hash,
) (found Checked, err error) {
	found.Size = st.Size
	if from < st.Size {
		found.Next, found.Damaged, err = s.readPart(ctx, st, from)
		return found, err
	}
	found.Next, found.Over = st.Size, true
	proof, err := s.Sealer.Challenge(ctx, refOf(st), randomness, checkLeaves)
	switch {
	case permanent(err): // It was sound a moment ago.
		found.Damaged = clip(err.Error())
		return found, nil
	case err != nil:
		return found, fmt.Errorf("make a proof: %w", err)
	}
	err = s.Sealer.VerifyChallenge(refOf(st), sealOf(st), randomness, checkLeaves, proof)
	switch {
	case errors.Is(err, events.ErrSealerLies):
		found.Wrong, err = clip(err.Error()), nil
	case err == nil:
		found.Proves = s.Sealer.Proves()
	}
	return found, err
}

// readPart reads the next part of a sector at rest. It returns where to go on, or what is damaged; empty: nothing.
func (s *Sectors) readPart(
	ctx context.Context, st sector.Info, from events.Bytes,
) (next events.Bytes, damaged string, err error) {
	next, err = s.Sealer.Check(ctx, refOf(st), from, scrubPart)
	if permanent(err) {
		return st.Size, clip(err.Error()), nil
	}
	return next, "", err
}
