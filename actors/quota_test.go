package actors_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
)

// An operator who lowers the quota below what is hosted gets an alert, and loses no proof.
func TestAHostWhoseQuotaIsTooSmallProvesWhatItHasAndTakesNothingNew(t *testing.T) {
	inWorld(t, func(r *rig) {
		alerts := r.listen()
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		r.host.Kill()

		r.cfg.Quota = 32 * events.BlockSize // The slot has 4, the availability 64.
		r.start()
		proofs := r.count("ProofSubmitted")
		r.mineUntil("it proves on", func() bool { return r.count("ProofSubmitted") > proofs })
		told := alerts.of(health.AlertQuota)
		if len(told) != 1 || !strings.HasPrefix(told[0].Text, "the quota is 2 MiB, ") {
			r.Fatalf("told: %+v", told)
		}
		if b, _ := r.book(); b.Unallocated != 0 || b.Quota <= r.cfg.Quota {
			r.Fatalf("the ledger: %s", b)
		}
		r.world.Post(sim.Offer(2, 1))
		r.mine(3)
		refused := all[*messages.SlotsRefused](r)
		if len(refused) != 1 || refused[0].GetCriterion() != string(capacity.Overhead) ||
			!strings.Contains(refused[0].GetReason(), "the quota is 2097152 bytes, availabilities and sales have") {
			r.Fatalf("refused: %v", refused)
		}

		size := 40 * events.BlockSize // Smaller, and still too large.
		r.ledger(capacity.Update{At: time.Now(), ID: events.AvailabilityID{1}, Size: &size})
		r.mine(3)
		if b, _ := r.book(); b.Unallocated != 0 || b.Free != 36*events.BlockSize || r.count("SlotFilled") != 1 {
			r.Fatalf("after a part of the way: %s; the record holds %v", b, r.names())
		}
		size = 16 * events.BlockSize
		r.ledger(capacity.Update{At: time.Now(), ID: events.AvailabilityID{1}, Size: &size})
		if b, _ := r.book(); b.Quota != r.cfg.Quota || b.Unallocated == 0 {
			r.Fatalf("when it fits: %s", b)
		}
		r.world.Post(sim.Offer(3, 1))
		r.mineUntil("a new slot is filled", func() bool { return r.count("SlotFilled") >= 2 })
		r.clean()
		if slices.Contains(r.names(), "ProofMissed") || len(alerts.of(health.AlertQuota)) != 1 {
			r.Fatalf("told %+v; the record holds %v", told, r.names())
		}
	})
}

// A download that had room when it began goes on although the quota was lowered.
func TestADownloadThatHadRoomGoesOnBeyondALowerQuota(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		var away atomic.Bool
		away.Store(true)
		s.download = func(context.Context, events.DownloadJob) error {
			if away.Load() {
				return events.ErrContentUnavailable
			}
			return nil
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("it downloads", func() bool { return slices.Contains(s.noted(), "download") })
		r.host.Kill()
		r.cfg.Quota = 1
		away.Store(false)
		r.start()
		r.mineUntil("it is filled", r.has("SlotFilled"))
		r.clean()
	})
}
