package actors_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// measuring is a market that knows the block time.
type measuring struct {
	port.Market
	each atomic.Int64
}

func (m *measuring) BlockTime() (time.Duration, bool) {
	each := time.Duration(m.each.Load())
	return each, each > 0
}

// If blocks are too far apart for a proof to be made and mined within a period, nothing is
// reserved, the reason has the numbers, and the slot is taken as soon as it can be filled.
func TestASlotThatCouldNeverBeFilledInAPeriodIsRefused(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &measuring{Market: r.ports.Market}
		r.ports.Market, r.cfg.Margin = m, duty.Margin{Blocks: 4}
		m.each.Store(int64(period * time.Second / 4))
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 1)
		r.world.Post(q)
		r.mineUntil("it is refused", r.releasedFor(q.ID, slotqueue.CriterionPeriod))
		e, s := r.released(q.ID), r.status()
		if !e.GetRequeue() || !strings.Contains(e.GetOutcome(), "the 4 blocks") || r.count("SaleStarted") != 0 {
			r.Fatalf("released: %v", e)
		}
		if s.BlockTime != (chainview.BlockTime{Usual: period * time.Second / 4}) || !strings.Contains(e.GetOutcome(), s.NoRoom) {
			r.Fatalf("blocks are %+v, no room because of %q", s.BlockTime, s.NoRoom)
		}
		m.each.Store(int64(time.Second))
		r.mineUntil("it is filled", r.has("SlotFilled"))
		woken := stored[*messages.QueueResumed](r)
		if reason := woken[len(woken)-1].GetReason(); reason != "the blocks leave time for a proof in a period" {
			r.Errorf("it was woken because %q", reason)
		}
		if why := r.status().NoRoom; why != "" {
			r.Fatalf("still no room: %s", why)
		}
	})
}

func TestABlockTimeThatIsNotKnownIsNoReasonToRefuse(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.ports.Market, r.cfg.Margin = &measuring{Market: r.ports.Market}, duty.Margin{Blocks: 1}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("it is filled", r.has("SlotFilled"))
		if s := r.status(); s.BlockTime.Usual != 0 || s.NoRoom != "" {
			r.Fatalf("blocks are %+v, no room because of %q", s.BlockTime, s.NoRoom)
		}
	})
}
