package actors_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// behindStore is a store whose reads do not show everything: it lags behind, or its log and
// streams are read from different nodes.
type behindStore struct {
	*storetest.Memory
	// hides says which events are not shown; nil: none.
	hides atomic.Pointer[func(all bool, r events.Recorded) bool]
}

func (s *behindStore) shown(all bool, of iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range of {
			if hides := s.hides.Load(); err == nil && hides != nil && (*hides)(all, r) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s *behindStore) ReadAll(ctx context.Context, p events.Position, n int) iter.Seq2[events.Recorded, error] {
	return s.shown(true, s.Memory.ReadAll(ctx, p, n))
}

func (s *behindStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return s.shown(false, s.Memory.ReadStream(ctx, stream, q))
}

// downloading runs a host until a slot is being downloaded, and kills it. The next host's store
// hides what hides selects.
func (r *rig) downloading(hides func(all bool, e events.Recorded) bool) (s *script, store *behindStore) {
	r.Helper()
	s = r.disturb()
	s.download = func(ctx context.Context, _ events.DownloadJob) error {
		<-ctx.Done() // The host dies under it.
		return ctx.Err()
	}
	r.start()
	r.offer(64 * events.BlockSize)
	r.world.Post(sim.Offer(1, 1))
	r.mineUntil("it downloads", func() bool { return slices.Contains(s.noted(), "download") })
	r.host.Kill()
	s.download = nil
	store = &behindStore{Memory: r.store}
	store.hides.Store(&hides)
	r.ports.Store = store
	return s, store
}

// TestASaleThatTheLogDoesNotShowGoesOn: the log is read from a node that lags behind, the
// ledger from the leader. A reservation that seems to be nobody's belongs to a living sale.
func TestASaleThatTheLogDoesNotShowGoesOn(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, store := r.downloading(func(all bool, e events.Recorded) bool {
			return all && strings.HasPrefix(e.Stream, events.CategorySale+"-")
		})
		before := len(s.noted())
		r.start()
		r.mine(1)
		store.hides.Store(nil)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		if slices.Contains(s.noted()[before:], "delete") || r.count("ReservationDeleted") != 0 {
			r.Fatalf("what a living sale needs was taken: %v, %v", s.noted()[before:], r.names())
		}
		r.mineUntil("it is settled", r.has("SaleSettled"))
		r.clean()
	})
}

// TestAStartWaitsForALogThatShowsIt: a log without the start of this very process is old.
func TestAStartWaitsForALogThatShowsIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		end := events.Position(0)
		s, store := r.downloading(func(all bool, e events.Recorded) bool { return all && e.Position > end })
		end, _ = r.store.Head(r.Context())
		end -= 2 // It is even behind what the last process wrote.
		r.start()
		r.mine(5)
		if r.count("SaleStarted") != 1 || r.count("ReservationDeleted") != 0 {
			r.Fatalf("it began on an old log: %v", r.names())
		}
		before := len(s.noted())
		store.hides.Store(nil)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		if !slices.Contains(s.noted()[before:], "download") {
			r.Fatalf("it did not go on: %v", s.noted()[before:])
		}
	})
}

// TestALedgerThatIsBehindTheLogIsNotDecidedBy: the log has shown events of the ledger that its
// stream does not show.
func TestALedgerThatIsBehindTheLogIsNotDecidedBy(t *testing.T) {
	inWorld(t, func(r *rig) {
		_, store := r.downloading(func(all bool, e events.Recorded) bool {
			return !all && e.Type == "ReservationCreated"
		})
		r.start()
		r.mine(5)
		if away := r.away(); !away.Away || !strings.Contains(away.Reason, "shows less") {
			r.Fatalf("the record is %+v, want it told that it shows less", away)
		}
		store.hides.Store(nil)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		r.mineUntil("it is settled", r.has("SaleSettled"))
		r.clean()
	})
}

// TestAReservationOfNobodyIsGivenBack: this is the case that the check exists for.
func TestAReservationOfNobodyIsGivenBack(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		offer := sim.Offer(1, 1)
		r.ledger(capacity.Reserve{
			At: time.Now(), Slot: events.SlotIDOf(offer.ID, 0), RequestID: offer.ID, Attempt: 1,
			Ask: capacity.Ask{
				SlotSize: offer.Ask.SlotSize, Duration: offer.Ask.Duration,
				PricePerBytePerSecond: offer.Ask.PricePerBytePerSecond, CollateralPerByte: offer.Ask.CollateralPerByte,
				RequestEnd: time.Now().Add(time.Hour),
			},
		})
		r.host.Kill()
		r.start()
		r.mineUntil("it is given back", r.has("ReservationDeleted"))
	})
}

// TestASaleWhoseReservationIsGoneSettlesAndSaysSo: nothing can be stored without the
// reservation, and trying again cannot help.
func TestASaleWhoseReservationIsGoneSettlesAndSaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = func(ctx context.Context, job events.DownloadJob) error {
			if r.count("ReservationDeleted") == 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return job.Grant(ctx, 1)
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it downloads", func() bool { return slices.Contains(s.noted(), "download") })
		made := stored[*messages.ReservationCreated](r)[0]
		r.ledger(capacity.Settle{
			At: time.Now(), Slot: events.SlotIDOf(sim.Offer(1, 1).ID, 0), Attempt: 1,
			CollateralReturned: events.Must(events.ParseAmount(made.GetCollateral())),
		})
		r.host.Kill()
		r.start()
		r.mineUntil("it is settled", r.has("SaleSettled"))
		ended := stored[*messages.SaleErrored](r)
		if len(ended) != 1 || !strings.Contains(ended[0].GetError(), "not in the ledger") {
			r.Fatalf("it ended with %v; the record holds %v", ended, r.names())
		}
	})
}
