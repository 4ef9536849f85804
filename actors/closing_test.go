package actors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// missed returns the missed periods of a slot, and why they were missed, in the order of the
// record and before the event that ended the hosting.
func (r *rig) missed(slot events.SlotID, end string) (periods []uint64, reasons string) {
	r.Helper()
	stream := events.SaleStream(r.ports.Market.Account(), slot)
	for e, err := range r.store.ReadStream(context.Background(), stream, events.ReadStream{}) {
		if err != nil {
			r.Fatal(err)
		}
		if e.Type == end {
			break
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		if m, ok := m.(*messages.ProofMissed); ok {
			periods = append(periods, m.GetPeriod())
			reasons += m.GetReason() + "\n"
		}
	}
	slices.Sort(periods)
	return periods, reasons
}

// downUntil keeps the host down until a condition holds.
func (r *rig) downUntil(what string, holds func() bool) {
	r.Helper()
	r.host.Kill()
	for range 2000 {
		if holds() {
			return
		}
		r.world.Mine(1)
	}
	r.Fatalf("never: %s", what)
}

// lost reports whether the contract has taken a slot.
func (r *rig) lost(slot events.SlotID) func() bool {
	return func() bool { return r.world.State(slot) == events.SlotRepair }
}

func longer(number byte, slots uint64) events.Request {
	offer := sim.Offer(number, slots)
	offer.Ask.Duration = 800 * time.Second
	return offer
}

func TestEveryPeriodUntilTheSlotWasTakenIsRecordedAsMissed(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.hosting()
		r.downUntil("the slot is taken", r.lost(slot))
		want := r.world.MissedPeriods(slot)
		r.world.Mine(5 * period) // A proof whose miss could no longer be marked was not owed.
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		got, reasons := r.missed(slot, "SlotForfeited")
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 2 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
		}
		if n := strings.Count(reasons, "the host did not run, or did not reach the chain, until the contract had taken"); n != len(got) {
			r.Errorf("the reasons: %s", reasons)
		}
		if u := stored[*messages.SlotForfeited](r)[0].GetUnjudged(); u != "" {
			r.Errorf("not known: %s", u)
		}
		r.clean()
	})
}

func TestEveryPeriodUntilTheRequestFailedIsRecordedAsMissed(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(longer(1, 3))
		r.mineUntil("all prove", func() bool { return r.count("ProofSubmitted") >= 3 && r.count("RequestStarted") == 3 })
		r.host.Kill()
		r.world.Mine(2 * period)
		kept := events.SlotIDOf(longer(1, 3).ID, 2)
		for i := range uint64(2) {
			if err := r.world.TakeBack(events.SlotIDOf(longer(1, 3).ID, i)); err != nil {
				r.Fatal(err)
			}
		}
		want := r.world.MissedPeriods(kept)
		r.world.Mine(5 * period)
		r.start()
		r.mineUntil("it failed", r.has("SaleFailed"))
		got, reasons := r.missed(kept, "SaleFailed")
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 1 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
		}
		if !strings.Contains(reasons, "until the request had failed") {
			r.Errorf("the reasons: %s", reasons)
		}
		r.mineUntil("all is settled", func() bool { return r.count("SaleSettled") >= 1 })
		r.clean()
	})
}

// cutFeed delivers nothing while it is cut.
type cutFeed struct {
	port.ChainFeed
	cut atomic.Bool
	let chan struct{}
}

func (f *cutFeed) Follow(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error {
	return f.ChainFeed.Follow(ctx, from, f.unlessCut(deliver))
}

func (f *cutFeed) FollowHeads(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error {
	return f.ChainFeed.FollowHeads(ctx, from, f.unlessCut(deliver))
}

func (f *cutFeed) unlessCut(deliver func(context.Context, events.ChainUpdate) error) func(context.Context, events.ChainUpdate) error {
	return func(ctx context.Context, u events.ChainUpdate) error {
		if f.cut.Load() {
			select {
			case <-f.let:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return deliver(ctx, u)
	}
}

// A host that was cut off from the chain learns of the newest blocks before it learns that the
// slot is gone: nothing was owed after the loss.
func TestALossWhileTheHostWasCutOffIsDatedByTheChain(t *testing.T) {
	inWorld(t, func(r *rig) {
		f := &cutFeed{ChainFeed: r.ports.Feed, let: make(chan struct{})}
		r.ports.Feed = f
		slot := r.hosting()
		f.cut.Store(true)
		for !r.lost(slot)() {
			r.world.Mine(1)
		}
		want := r.world.MissedPeriods(slot)
		r.world.Mine(5 * period)
		f.cut.Store(false)
		close(f.let)
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		got, reasons := r.missed(slot, "SlotForfeited")
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 2 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s%s", diff, reasons)
		}
		r.clean()
	})
}

// A host that runs and cannot prove loses its slot in the marking window of a period: that
// period is recorded too, although nobody judges it later.
func TestAHostThatRunsRecordsEachMissBeforeTheLoss(t *testing.T) {
	inWorld(t, func(r *rig) {
		p := &lazyProver{Prover: r.ports.Prover}
		r.ports.Prover = p
		slot := r.hosting()
		p.lazy.Store(true)
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		got, _ := r.missed(slot, "SlotForfeited")
		if diff := cmp.Diff(r.world.MissedPeriods(slot), got); diff != "" || len(got) < 2 {
			r.Fatalf("missed by the contract (-), in the record (+):\n%s", diff)
		}
		r.clean()
	})
}

// forgetful is a market that has lost its past: it knows no block but the newest few.
type forgetful struct {
	port.Market
	lost atomic.Bool
}

func (m *forgetful) HeadAt(ctx context.Context, number uint64) (events.Head, error) {
	head, err := m.Market.HeadAt(ctx, number)
	if newest, _ := m.Market.Head(ctx); err == nil && m.lost.Load() && number+20 < newest.Number && !m.fill(number) {
		return events.Head{}, errors.New("pruned")
	}
	return head, err
}

// fill: the block of the fill itself is known, so that the loss can be judged.
func (m *forgetful) fill(number uint64) bool { return number < 330 }

func TestAPastThatCannotBeReadDoesNotHoldUpTheEnd(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &forgetful{Market: r.ports.Market}
		r.ports.Market = m
		slot := r.hosting()
		r.downUntil("the slot is taken", r.lost(slot))
		r.world.Mine(5 * period)
		m.lost.Store(true)
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		if u := stored[*messages.SlotForfeited](r)[0].GetUnjudged(); !strings.Contains(u, "pruned") {
			r.Fatalf("not known: %q", u)
		}
		r.mineUntil("it is settled, or tried again", func() bool { return r.has("SaleSettled")() })
		r.clean()
	})
}

// lateFeed delivers nothing until it is released.
type lateFeed struct {
	port.ChainFeed
	let chan struct{}
}

func (f lateFeed) Follow(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error {
	select {
	case <-f.let:
		return f.ChainFeed.Follow(ctx, from, deliver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f lateFeed) FollowHeads(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error {
	select {
	case <-f.let:
		return f.ChainFeed.FollowHeads(ctx, from, deliver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The loss is not recorded until the log has said when the slot was taken; if it never does,
// that is recorded too.
func TestALossWaitsForTheLogThatDatesItButNotForEver(t *testing.T) {
	for _, comes := range []bool{true, false} {
		inWorld(t, func(r *rig) {
			slot := r.hosting()
			r.downUntil("the slot is taken", r.lost(slot))
			want := r.world.MissedPeriods(slot)
			feed, late := r.ports.Feed, lateFeed{r.ports.Feed, make(chan struct{})}
			r.ports.Feed = late
			r.start()
			time.Sleep(time.Minute)
			synctest.Wait()
			if r.has("SlotForfeited")() {
				r.Fatalf("the loss is recorded without its misses: %v", r.names())
			}
			if comes {
				close(late.let)
				r.mineUntil("it is lost", r.has("SlotForfeited"))
			} else {
				time.Sleep(time.Hour)
				synctest.Wait()
			}
			r.ports.Feed = feed
			got, _ := r.missed(slot, "SlotForfeited")
			lost := stored[*messages.SlotForfeited](r)
			if len(lost) != 1 || (lost[0].GetUnjudged() == "") != comes || comes != slices.Equal(got, want) {
				r.Fatalf("the log comes: %t; %v, missed %d, want %d", comes, lost, got, want)
			}
		})
	}
}
