package actors_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// closedDuties returns the periods of a slot that were closed without a proof before the event
// that ended the hosting, with the reasons.
func (r *rig) closedDuties(slot events.SlotID, end string) (missed, excused map[uint64]string) {
	r.Helper()
	missed, excused = map[uint64]string{}, map[uint64]string{}
	stream := events.SaleStream(r.ports.Market.Account(), slot)
	for e, err := range r.store.ReadStream(r.Context(), stream, events.ReadStream{}) {
		if err != nil {
			r.Fatal(err)
		}
		if e.Type == end {
			return missed, excused
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		switch m := m.(type) {
		case *messages.ProofMissed:
			missed[m.GetPeriod()] = m.GetReason()
		case *messages.ProofExcused:
			excused[m.GetPeriod()] = m.GetReason()
		}
	}
	r.Fatalf("the record of the slot has no %s: %v", end, r.names())
	return nil, nil
}

// opened records, for a host that is down, a duty for each period after the last recorded one
// that was over by a given time: a host may open a duty whatever later blocks say.
func (r *rig) opened(slot events.SlotID, until time.Time) (periods []uint64) {
	r.Helper()
	cfg := r.world.Terms().Proofs
	stream := events.SaleStream(r.ports.Market.Account(), slot)
	var last events.Recorded
	known := uint64(0)
	for e, err := range r.store.ReadStream(r.Context(), stream, events.ReadStream{}) {
		if err != nil {
			r.Fatal(err)
		}
		if m, err := catalog.Codec().Decode(e); err == nil {
			if m, ok := m.(interface{ GetPeriod() uint64 }); ok {
				known = max(known, m.GetPeriod())
			}
		}
		last = e
	}
	var due []events.NewEvent
	for p := known + 1; duty.End(cfg, p).Before(until); p++ {
		name, version, data, err := catalog.Codec().Encode(&messages.ProofDue{
			At: events.TimeToMessage(duty.Start(cfg, p)), Period: p, Challenge: events.Challenge{1}.String(),
			Deadline: events.TimeToMessage(duty.End(cfg, p).Add(-time.Second)),
		})
		if err != nil {
			r.Fatal(err)
		}
		meta := last.Meta
		meta.Cause, meta.Causation, meta.Version = fmt.Sprintf("block:%d", r.world.Head().Number), "", version
		id := events.NewEventID(stream, fmt.Sprintf("%s@%d", meta.Cause, last.Revision+1), len(due))
		due = append(due, events.NewEvent{ID: id, Type: name, Meta: meta, Data: data})
		periods = append(periods, p)
	}
	if _, err := r.store.Append(r.Context(), stream, events.Exact(last.Revision), due); err != nil {
		r.Fatal(err)
	}
	return periods
}

// wantClosed checks that, of the duties open at an end, those that the contract marked are
// missed and the others excused.
func (r *rig) wantClosed(slot events.SlotID, opened, marked []uint64, end string) {
	r.Helper()
	missed, excused := r.closedDuties(slot, end)
	unmarked := slices.DeleteFunc(slices.Clone(opened), func(p uint64) bool { return slices.Contains(marked, p) })
	if len(marked) == 0 || len(unmarked) == 0 {
		r.Fatalf("open were %d, marked by the contract %d: nothing is to be told apart", opened, marked)
	}
	if diff := cmp.Diff(marked, slices.Sorted(maps.Keys(missed))); diff != "" {
		r.Errorf("marked by the contract (-), missed in the record (+):\n%s", diff)
	}
	if diff := cmp.Diff(unmarked, slices.Sorted(maps.Keys(excused))); diff != "" {
		r.Errorf("that no block could mark (-), excused in the record (+):\n%s", diff)
	}
	for p, why := range missed {
		if strings.Contains(why, "not known") {
			r.Errorf("period %d: %s", p, why)
		}
	}
	for p, why := range excused {
		if !strings.Contains(why, "no block came that could mark it") {
			r.Errorf("period %d: %s", p, why)
		}
	}
	r.clean()
}

// seldom is a request with a proof in every few periods.
func seldom(number byte, slots uint64) events.Request {
	offer := longer(number, slots)
	offer.Ask.ProofProbability = events.NewAmount(4)
	return offer
}

func TestADutyThatIsOpenWhenTheSlotIsTakenIsMissedOnlyIfABlockCouldMarkIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(seldom(1, 1))
		r.mineUntil("it proves", func() bool { return r.has("ProofSubmitted")() && r.has("RequestStarted")() })
		slot := events.SlotIDOf(seldom(1, 1).ID, 0)
		r.downUntil("the slot is taken", r.lost(slot))
		opened, marked := r.opened(slot, r.world.Head().Time), r.world.MissedPeriods(slot)
		r.world.Mine(5 * period)
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.wantClosed(slot, opened, marked, "SlotForfeited")
	})
}

func TestADutyThatIsOpenWhenTheRequestFailsIsMissedOnlyIfABlockCouldMarkIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(seldom(1, 3))
		r.mineUntil("all prove", func() bool { return r.count("ProofSubmitted") >= 3 && r.count("RequestStarted") == 3 })
		kept := events.SlotIDOf(seldom(1, 3).ID, 2)
		r.downUntil("a miss is marked", func() bool { return r.world.Slashed(kept) == 1 })
		for i := range uint64(2) {
			if err := r.world.TakeBack(events.SlotIDOf(seldom(1, 3).ID, i)); err != nil {
				r.Fatal(err)
			}
		}
		opened, marked := r.opened(kept, r.world.Head().Time), r.world.MissedPeriods(kept)
		r.world.Mine(5 * period)
		r.start()
		r.mineUntil("it failed", r.has("SaleFailed"))
		r.wantClosed(kept, opened, marked, "SaleFailed")
	})
}

func TestADutyThatIsOpenWhereThePastCannotBeReadIsMissedAndSaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &forgetful{Market: r.ports.Market}
		r.ports.Market = m
		slot := r.hosting()
		r.downUntil("the slot is taken", r.lost(slot))
		opened := r.opened(slot, r.world.Head().Time)
		r.world.Mine(5 * period)
		m.lost.Store(true)
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		missed, excused := r.closedDuties(slot, "SlotForfeited")
		if diff := cmp.Diff(opened, slices.Sorted(maps.Keys(missed))); diff != "" || len(excused) > 0 {
			r.Fatalf("open at the end (-), missed in the record (+), %d excused:\n%s", len(excused), diff)
		}
		for p, why := range missed {
			if !strings.Contains(why, "whether a block could mark it is not known") || !strings.Contains(why, "pruned") {
				r.Errorf("period %d: %s", p, why)
			}
		}
		r.clean()
	})
}
