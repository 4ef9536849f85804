package sectors_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
	provers "github.com/hostnode/hostnode/prover/sealer"
)

// check reads a whole sector.
func (r *realHost) check(n uint64) (c sectors.Checked, err error) {
	for err == nil && !c.Over && c.Damaged == "" {
		c, err = shell.Ask[sectors.Checked](r.room, sectors.Check{Number: n, From: c.Next}).Wait(r.t.Context())
	}
	return c, err
}

func TestACheckReadsAllOfASectorAndProvesIt(t *testing.T) {
	inReality(t, func(r *realHost) {
		n := r.create(r.piece("a", 500), r.piece("b", 1000))
		if _, err := r.check(n); !errors.Is(err, sectors.ErrNotAtRest) {
			t.Fatalf("a sector that is not sealed: %v", err)
		}
		r.until("proving", r.in(n, sector.Proving))
		if c, err := r.check(n); err != nil || !c.Over || c.Proves != "possession" || c.Next != size || c.Size != size {
			t.Fatalf("a sound sector: %+v, %v", c, err)
		}
		if _, err := r.check(n + 1); !errors.Is(err, sectors.ErrNoSector) {
			t.Fatalf("no sector: %v", err)
		}
		r.disk.Change(ref(n), events.SectorUnsealed, func(b []byte) []byte { b[1100] ^= 1; return b })
		if c, err := r.check(n); err != nil || c.Damaged == "" {
			t.Fatalf("a damaged sector: %+v, %v", c, err)
		}
		r.until("found", func() bool { return r.count(n, "SectorFaulty") == 1 })
		for _, e := range r.events(n) {
			if f, ok := e.(*messages.SectorFaulty); ok && !strings.HasPrefix(f.GetReason(), "a check: ") {
				t.Errorf("the fault has the reason %q", f.GetReason())
			}
		}
		if _, err := r.check(n); !errors.Is(err, sectors.ErrNotAtRest) {
			t.Fatalf("a faulty sector: %v", err)
		}
		r.until("recovered", func() bool { return r.count(n, "SectorRecovered") == 1 && r.in(n, sector.Proving)() })
		if c, err := r.check(n); err != nil || c.Proves == "" {
			t.Fatalf("a repaired sector: %+v, %v", c, err)
		}
	})
}

// liar makes proofs that do not verify, except those for windows.
type liar struct {
	*provers.CommDSealer
	daily int
}

func (l liar) Challenge(ctx context.Context, ref events.SectorRef, r events.Hash, leaves int) ([]byte, error) {
	proof, err := l.CommDSealer.Challenge(ctx, ref, r, leaves)
	if leaves != l.daily {
		return flipped(proof), err
	}
	return proof, err
}

func TestACheckTellsOfAWrongProofAndOfWhatCannotBeCompared(t *testing.T) {
	inReality(t, func(r *realHost) {
		n := r.create(r.piece("a", 500))
		r.until("proving", r.in(n, sector.Proving))
		r.kill()
		change := r.change
		r.change = func(d *sectors.Deps) {
			change(d)
			d.Sealer = liar{provers.NewCommD(r.disk, r.world.cfg.SealLeaves), r.world.cfg.DailyLeaves}
		}
		r.start()
		if c, err := r.check(n); err != nil || c.Wrong == "" || c.Proves != "" || r.count(n, "SectorFaulty") > 0 {
			t.Fatalf("a wrong proof: %+v, %v", c, err)
		}
		r.kill()
		r.change = func(d *sectors.Deps) {
			change(d)
			d.Sealer = provers.NewSim(r.disk, 0)
		}
		r.start()
		if c, err := r.check(n); !errors.Is(err, events.ErrNoVerifier) {
			t.Fatalf("a sealer that keeps nothing to compare with: %+v, %v", c, err)
		}
	})
}
