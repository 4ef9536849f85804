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

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// all returns the decoded events of one kind, in their order.
func all[E any](r *rig) (out []E) {
	r.Helper()
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if !catalog.Streams().InRecord(e.Stream) {
			continue
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		if found, ok := m.(E); ok {
			out = append(out, found)
		}
	}
	return out
}

// released is the last release of a slot of the request, with its criterion.
func (r *rig) released(id events.RequestID) *messages.SlotReleased {
	var last *messages.SlotReleased
	for _, e := range all[*messages.SlotReleased](r) {
		if e.GetRequestId() == id.String() {
			last = e
		}
	}
	return last
}

func (r *rig) releasedFor(id events.RequestID, criterion string) func() bool {
	return func() bool {
		e := r.released(id)
		return e != nil && e.GetCriterion() == criterion
	}
}

// allSettled checks that nothing of any sale is left.
func (r *rig) allSettled() {
	r.Helper()
	if s := r.status(); len(s.Sales) != 0 || len(r.world.Stored()) != 0 ||
		r.count("ReservationDeleted") != r.count("ReservationCreated") {
		r.Fatalf("left over: %d sales, %d slots on disk; %v", len(s.Sales), len(r.world.Stored()), r.names())
	}
}

// long is a request whose expiry leaves time for all the troubles of a test.
func long(number byte, slots uint64) events.Request {
	q := sim.Offer(number, slots)
	q.Ask.Duration, q.Expiry = 10*time.Hour, 5*time.Hour
	return q
}

func withheld(ctx context.Context, _ events.DownloadJob) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestAClientWhoWithholdsItsDataIsAvoidedForAWhile(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = withheld
		r.cfg.GiveUpDownload, r.cfg.AvoidClient = time.Minute, 5*time.Minute
		r.start()
		r.offer(64 * events.BlockSize)
		bad, other := long(1, 1), long(2, 1)
		r.world.Post(bad)
		r.mineUntil("the sale is given up", r.has("SaleSettled"))
		r.mine(2)
		r.allSettled()
		e := r.released(bad.ID)
		if e.GetRequeue() || e.GetCriterion() != slotqueue.CriterionWithheld {
			r.Fatalf("released: %v", e)
		}
		avoided := all[*messages.ClientAvoided](r)
		if len(avoided) != 1 || avoided[0].GetClient() != bad.Client.String() ||
			!strings.Contains(avoided[0].GetReason(), "no new byte") {
			r.Fatalf("avoided: %v", avoided)
		}

		s.download = nil
		other.Client = bad.Client
		honest := long(3, 1)
		honest.Client = events.Address{8}
		r.world.Post(other)
		r.world.Post(honest)
		r.mineUntil("the honest client is served", func() bool { return r.count("SlotFilled") == 1 })
		refused := all[*messages.SlotsRefused](r)
		if len(refused) != 1 || refused[0].GetCriterion() != slotqueue.CriterionClient {
			r.Fatalf("refused: %v", refused)
		}
		// When the client is forgiven, what is still on offer is judged again.
		for r.world.Head().Time.Before(avoided[0].GetUntil().AsTime().Add(-2 * time.Second)) {
			r.mine(1)
		}
		if r.count("SaleStarted") != 2 {
			r.Fatalf("served before the time was over: %v", r.names())
		}
		r.mineUntil("the forgiven client is served", func() bool { return r.count("SlotFilled") == 2 })
	})
}

func TestDataThatIsNotWhatTheRequestNamesEndsTheSale(t *testing.T) {
	tests := []struct {
		name     string
		client   byte // what it is like; package sim
		reserved int  // on chain
	}{
		{"blocks that are wrong", 0xbd, 1},
		{"a manifest of something else: before anything is reserved on chain", 0xf0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				r.cfg.AvoidClient = time.Hour
				r.start()
				r.offer(64 * events.BlockSize)
				q := long(1, 2)
				q.Nonce[0] = test.client
				r.world.Post(q)
				r.mineUntil("a sale is settled", r.has("SaleSettled"))
				r.mine(5)
				r.allSettled()
				if n := r.count("SlotReserved"); n > test.reserved*r.count("SaleStarted") || test.reserved == 0 && n > 0 {
					r.Fatalf("%d slots were reserved on chain", n)
				}
				if avoided := all[*messages.ClientAvoided](r); len(avoided) == 0 || len(avoided) > 2 {
					r.Fatalf("avoided: %v", avoided)
				}
				for _, e := range all[*messages.SaleErrored](r) {
					if e.GetCriterion() != slotqueue.CriterionWrong {
						r.Fatalf("errored: %v", e)
					}
				}
			})
		})
	}
}

func TestNobodyIsAvoidedWhenNoSourceCanBeReached(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = func(context.Context, events.DownloadJob) error {
			return errors.Join(events.ErrContentUnavailable, events.ErrNoSource)
		}
		r.cfg.GiveUpDownload, r.cfg.AvoidClient = time.Minute, time.Hour
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 1)
		r.world.Post(q)
		r.mineUntil("the slot is put back", r.releasedFor(q.ID, slotqueue.CriterionSources))
		s.download = nil
		r.allSettled()
		if r.count("ClientAvoided") != 0 || !r.released(q.ID).GetRequeue() {
			r.Fatalf("the client pays for our network: %v", r.names())
		}
		r.mineUntil("it is tried again", r.has("SlotFilled"))
	})
}

func TestARequestThatIsCancelledInMidDownloadEndsItAtOnce(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		var ended atomic.Int32
		s.download = func(ctx context.Context, job events.DownloadJob) error {
			if err := job.Grant(ctx, events.BlockSize); err != nil {
				return err
			}
			defer ended.Add(1)
			return withheld(ctx, job)
		}
		r.start()
		r.offer(64 * events.BlockSize)
		q := sim.Offer(1, 1)
		r.world.Post(q)
		r.mine(10)
		if r.count("BytesReleased") == 0 || ended.Load() != 0 {
			r.Fatalf("not in mid-download: %v", r.names())
		}
		r.world.Warp(r.world.Head().Time.Add(q.Expiry))
		r.mine(3)
		if ended.Load() != 1 || r.count("SaleCancelled") != 1 {
			r.Fatalf("%d downloads ended; %v", ended.Load(), r.names())
		}
		r.mine(3)
		r.allSettled()
		if r.count("ClientAvoided") != 0 {
			r.Fatal("a client who cancels is avoided")
		}
	})
}

func TestALongDownloadThatGoesOnKeepsItsWorker(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = func(ctx context.Context, job events.DownloadJob) error {
			for n := range 60 { // An hour, six times the longest patience.
				select {
				case <-time.After(time.Minute):
					job.Arrived(events.Bytes(60-n) * events.BlockSize)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		}
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 1)
		r.world.Post(q)
		for range 62 {
			r.mine(1)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		r.mineUntil("the slot is filled", r.has("SlotFilled"))
		if r.count("SaleStarted") != 1 {
			r.Fatalf("the download was given up: %v", r.names())
		}
	})
}

func TestASlotWhoseWindowIsNotOpenLetsItsWorkerGo(t *testing.T) {
	inWorld(t, func(r *rig) {
		first, second := long(1, 1), long(2, 1)
		first.Ask.PricePerBytePerSecond = events.NewAmount(2) // It is looked at first.
		var opens time.Time
		r.cfg.MaxWorkers = 1
		r.cfg.MayReserve = func(q admission.MayReserve) admission.Permission {
			if q.Request.ID == first.ID {
				return admission.Permission{Opens: opens, Reason: "not yet"}
			}
			return admission.Permission{}
		}
		opens = r.world.Head().Time.Add(5 * time.Minute)
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(first)
		r.world.Post(second)
		r.mineUntil("the other slot is filled", r.has("SlotFilled"))
		e := r.released(first.ID)
		if e == nil || e.GetCriterion() != slotqueue.CriterionDispersal || !e.GetRequeue() ||
			!e.GetRetryAt().AsTime().Equal(opens) {
			r.Fatalf("released: %v, want it back at %s", e, opens)
		}
		looks := r.count("SlotTaken")
		for r.world.Head().Time.Before(opens.Add(-3 * time.Second)) {
			r.mine(1)
		}
		if r.count("SlotTaken") != looks || r.count("SaleStarted") != 1 {
			r.Fatalf("looked at again before the window opens: %v", r.names())
		}
		r.mineUntil("it is filled when the window is open", func() bool { return r.count("SlotFilled") == 2 })
	})
}

func TestMoreProofsThanTheProverCanMakeAreRefused(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.ProofLoad = 1
		r.start()
		r.offer(64 * events.BlockSize)
		cheap := long(1, 1) // A proof in every period, for a price that the availability takes.
		r.world.Post(cheap)
		r.mineUntil("it is refused", r.releasedFor(cheap.ID, slotqueue.CriterionProofs))
		rare := long(2, 1)
		rare.Ask.ProofProbability = events.NewAmount(1_000_000)
		r.world.Post(rare)
		r.mineUntil("one that seldom wants a proof is taken", r.has("SaleStarted"))
		if e := r.released(cheap.ID); !strings.Contains(e.GetOutcome(), "the limit is 1 %") {
			r.Fatalf("released: %v", e)
		}
	})
}

func TestOnlyOneOfTwoSlotsThatAreLookedAtTogetherIsTaken(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.MaxSlotsPerRequest = 1
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 2)
		r.world.Post(q)
		r.mineUntil("one is filled", r.has("SlotFilled"))
		if r.count("SaleStarted") != 1 || !r.releasedFor(q.ID, slotqueue.CriterionRequestCap)() &&
			!slices.ContainsFunc(all[*messages.SlotReleased](r), func(e *messages.SlotReleased) bool {
				return e.GetCriterion() == slotqueue.CriterionRequestCap
			}) {
			r.Fatalf("%v", r.names())
		}
	})
}

func TestARootThatIsNoFieldElementIsRefusedAtTheDoor(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 2)
		for i := range q.Content.MerkleRoot {
			q.Content.MerkleRoot[i] = 0xff
		}
		r.world.Post(q)
		r.mine(3)
		refused := all[*messages.SlotsRefused](r)
		if len(refused) != 1 || refused[0].GetCriterion() != slotqueue.CriterionUnsound || r.count("SlotsQueued") != 0 {
			r.Fatalf("refused %v; %v", refused, r.names())
		}
	})
}

func TestAClientWhoseDataComesTooSlowlyIsAvoided(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = func(ctx context.Context, job events.DownloadJob) error {
			for n := events.Bytes(1000); n > 0; n-- { // Weeks, for a request that expires in hours.
				select {
				case <-time.After(9 * time.Minute):
					job.Arrived(n * events.BlockSize)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		}
		r.cfg.JudgePace, r.cfg.AvoidClient = 10*time.Minute, time.Hour
		r.start()
		r.offer(64 * events.BlockSize)
		q := long(1, 1)
		r.world.Post(q)
		for n := 0; n < 30 && r.released(q.ID) == nil; n++ {
			r.world.Warp(r.world.Head().Time.Add(time.Minute))
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		r.mine(3)
		r.allSettled()
		e := r.released(q.ID)
		if e.GetRequeue() || e.GetCriterion() != slotqueue.CriterionSlow {
			r.Fatalf("released: %v", e)
		}
		avoided := all[*messages.ClientAvoided](r)
		if len(avoided) != 1 || !strings.Contains(avoided[0].GetReason(), "too slowly") {
			r.Fatalf("avoided: %v", avoided)
		}
	})
}
