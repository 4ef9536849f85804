package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
)

// checked begins a check and returns it when it is over.
func (r *rig) checked(of checks.Subject) checks.Check {
	r.Helper()
	k, err := r.host.Checks().Begin(r.Context(), of)
	if err != nil {
		r.Fatal(err)
	}
	r.mineUntil("the check is over", func() bool {
		if k, err = r.host.Checks().Of(k.ID); err != nil {
			r.Fatal(err)
		}
		return k.State.Over()
	})
	return k
}

func TestACheckFindsDamageThatTheSaleRecordsAndRepairs(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.hosting()
		r.world.Rot(slot, 2)
		if k := r.checked(checks.Subject{Slot: slot}); k.State != checks.Damaged || k.Found != 1 || k.Blocks[0] != 2 {
			r.Fatalf("%+v", k)
		}
		r.mineUntil("it is repaired", r.has("SlotRepaired"))
		if k := r.checked(checks.Subject{Slot: slot}); k.State != checks.Fine {
			r.Fatalf("once it is repaired: %+v", k)
		}
		for e, err := range r.store.ReadAll(r.Context(), 0, 0) {
			if err != nil {
				r.Fatal(err)
			}
			if e.Type != "SlotDamaged" {
				continue
			}
			if !strings.Contains(string(e.Data), "a check: ") {
				r.Errorf("recorded: %s", e.Data)
			}
		}
		r.settled(slot)
		r.clean()
	})
}

func TestASoundSlotIsFineAndNothingIsRecorded(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.hosting()
		if k := r.checked(checks.Subject{Slot: slot}); k.State != checks.Fine || k.Done != k.Of || k.Of == 0 {
			r.Fatalf("%+v", k)
		}
		if r.count("SlotDamaged") != 0 {
			r.Error("it is recorded as damaged")
		}
		r.settled(slot)
		if _, err := r.host.Checks().Begin(r.Context(), checks.Subject{Slot: slot}); !errors.Is(err, sectors.ErrNotAtRest) {
			r.Errorf("a slot whose sale is over: %v", err)
		}
		if _, err := r.host.Checks().Begin(r.Context(), checks.Subject{Sector: 1}); !errors.Is(err, actors.ErrNoSectors) {
			r.Errorf("a sector of a host without any: %v", err)
		}
	})
}

func TestASlotThatIsNotFetchedYetAndASectorThatIsNotSealedAreNotChecked(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.sealing()
		r.start()
		n := r.begin()
		for of, says := range map[checks.Subject]string{
			{Sector: n}: "is in state", {Slot: events.SlotID{1}}: "no sale needs slot",
		} {
			_, err := r.host.Checks().Begin(r.Context(), of)
			if !errors.Is(err, sectors.ErrNotAtRest) || !strings.Contains(err.Error(), says) {
				r.Errorf("%+v: %v", of, err)
			}
		}
		if _, err := r.host.Checks().Begin(r.Context(), checks.Subject{Sector: n + 1}); !errors.Is(err, sectors.ErrNoSector) {
			r.Errorf("no sector: %v", err)
		}
	})
}

// A host stops at once, although a check would take hours.
func TestAHostStopsWhileACheckRuns(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.ScrubBytesPerSecond = 1
		r.ports.Repo = endless{r.ports.Repo}
		slot := r.hosting()
		k, err := r.host.Checks().Begin(r.Context(), checks.Subject{Slot: slot})
		if err != nil {
			r.Fatal(err)
		}
		r.mine(2)
		began := time.Now()
		if err := r.host.Stop(r.Context()); err != nil || time.Since(began) > time.Minute {
			r.Fatalf("it stopped after %s: %v", time.Since(began), err)
		}
		if k, err = r.host.Checks().Of(k.ID); err != nil || k.State != checks.Cancelled || k.Done == 0 {
			r.Fatalf("%+v, %v", k, err)
		}
	})
}

// endless is a repo with slots of a terabyte.
type endless struct{ port.Repo }

func (endless) Check(_ context.Context, _ events.SlotID, from uint64, _ events.Bytes) (events.Checked, error) {
	return events.Checked{Next: from + 1, Blocks: 1 << 24}, nil
}
