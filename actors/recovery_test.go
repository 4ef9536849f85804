package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// loseRecord puts an empty store in the place of the record.
func (r *rig) loseRecord() {
	r.host.Kill()
	r.store = storetest.NewMemory()
	r.ports.Store = r.store
}

// stored decodes all events of one type.
func stored[T any](r *rig) (all []T) {
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if m, err := catalog.Codec().Decode(e); err == nil {
			if m, ok := any(m).(T); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

func (r *rig) book() (b capacity.Book, reservations int) {
	r.Helper()
	ledger, err := r.host.ViewLedger(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return ledger.Book, len(ledger.Reservations)
}

func TestADownloadGoesOnAfterACrash(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
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
		r.start()
		r.mineUntil("it is filled", r.has("SlotFilled"))
		if r.count("SaleStarted") != 1 || r.count("SlotReserved") != 1 || r.count("ReservationCreated") != 1 {
			r.Fatalf("it began anew: %v", r.names())
		}
	})
}

func TestOurEarlierReservationOnChainCountsAsOurs(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = func(ctx context.Context, _ events.DownloadJob) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the contract has our reservation", r.has("SlotReserved"))
		r.loseRecord() // Of everything, only the contract remembers it.
		s.download = nil
		r.start()
		r.offer(64 * events.BlockSize)
		r.mineUntil("it is filled", r.has("SlotFilled"))
		reserved := stored[*messages.SlotReserved](r)
		if len(reserved) != 1 || reserved[0].GetReceipt() != nil {
			r.Fatalf("it was reserved again: %v", reserved)
		}
	})
}

func TestAFillInFlightIsFoundAfterACrash(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the fill is sent", func() bool { return slices.Contains(s.noted(), "fill") })
		r.host.Kill() // Before its answer.
		r.world.Mine(5)
		r.start()
		r.mineUntil("it proves", r.has("DataLifetimeExtended"))
		fills := stored[*messages.SlotFilled](r)
		if len(fills) != 1 || fills[0].GetReceipt() == nil || fills[0].GetBlockHash() == "" {
			r.Fatalf("the fills of the record: %v", fills)
		}
	})
}

func TestASlotOfALostRecordIsAdoptedAndProvenWithItsData(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.Quota = 1 << 30
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		slot := events.SlotIDOf(sim.Offer(1, 1).ID, 0)
		r.loseRecord()
		s := r.disturb()
		s.download = func(context.Context, events.DownloadJob) error { return nil }
		r.start() // With no availability: the record of those is lost as well.
		r.mineUntil("it proves again", r.has("ProofSubmitted"))
		if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 {
			r.Fatalf("it was slashed %d times; the record holds %v", n, r.names())
		}
		fill := stored[*messages.SlotFilled](r)[0]
		var log *messages.ChainSlotFilled
		for _, l := range stored[*messages.ChainSlotFilled](r) {
			log = l
		}
		if log == nil || !fill.GetFilledAt().AsTime().Equal(log.GetLog().GetTime().AsTime()) ||
			fill.GetBlockHash() != log.GetLog().GetBlockHash() {
			r.Fatalf("the fill that was learned is %v, its log is %v", fill, log)
		}
		r.mineUntil("it is paid and settled", r.has("SaleSettled"))
		if b, open := r.book(); open != 0 || b.Stored != 0 || b.Overhead != 0 || b.Reserved != 0 {
			r.Fatalf("left in the ledger: %d reservations, %s", open, b)
		}
	})
}

// slash makes the host miss proofs until the contract takes the slot.
func (r *rig) slash(slot events.SlotID) {
	r.Helper()
	r.host.Kill()
	if err := r.world.TakeBack(slot); err != nil {
		r.Fatal(err)
	}
}

func TestASlotThatWasTakenFromUsIsFilledAgainAtTheDiscount(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		r.start()
		r.offer(4 * events.BlockSize) // Room for one slot: the bytes must go on to the next attempt.
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		slot := events.SlotIDOf(sim.Offer(1, 1).ID, 0)
		r.slash(slot)
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.mineUntil("it is filled again", func() bool { return r.count("SlotFilled") == 2 })
		if slices.Contains(s.noted(), "delete") {
			r.Fatalf("the data was deleted; the record holds %v", r.names())
		}
		starts := stored[*messages.SaleStarted](r)
		if len(starts) != 2 || !starts[1].GetRepair() || starts[1].GetAttempt() != 2 {
			r.Fatalf("the attempts: %v", starts)
		}
		if b, open := r.book(); open != 1 || b.Stored != 4*events.BlockSize {
			r.Fatalf("in the ledger: %d reservations, %s", open, b)
		}
		r.mineUntil("it is paid and settled", func() bool { return r.count("SaleSettled") == 2 })
		if r.count("PayoutReceived") != 1 || len(r.world.Stored()) != 0 {
			r.Fatalf("%d slots are on disk; the record holds %v", len(r.world.Stored()), r.names())
		}
	})
}

func TestALostSlotThatAnotherHostFillsIsDeleted(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		slot := events.SlotIDOf(sim.Offer(1, 1).ID, 0)
		r.slash(slot)
		for r.world.Rival(slot) != nil { // Not in a period in which a proof was accepted.
			r.world.Mine(1)
		}
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.mineUntil("it is settled", r.has("SaleSettled"))
		if r.count("DataDeleted") != 1 || r.count("SaleStarted") != 1 || len(r.world.Stored()) != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
	})
}

func TestASlashThatIsReorganisedLosesNothing(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it proves", r.has("ProofSubmitted"))
		r.mine(4) // The proof stays when the slash goes.
		slot := events.SlotIDOf(sim.Offer(1, 1).ID, 0)
		if err := r.world.TakeBack(slot); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		r.world.Reorganize(3)
		synctest.Wait()
		r.mineUntil("it is ours again", func() bool { return r.count("SlotFilled") == 2 })
		r.mineUntil("it is paid and settled", r.has("SaleSettled"))
		if settled := stored[*messages.SaleSettled](r)[0]; settled.GetCollateralLost() != "0" {
			r.Fatalf("lost: %s; the record holds %v", settled.GetCollateralLost(), r.names())
		}
	})
}

// A request that failed on a branch that is gone runs on: its slots are proven again, in
// the period in which that happened as well, until the real end.
func TestAnEndThatIsReorganisedAwayIsProvenToTheRealOne(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		request := longer(1, 3)
		r.world.Post(request)
		r.mineUntil("all prove", func() bool { return r.count("ProofSubmitted") >= 6 && r.count("RequestStarted") == 3 })
		r.mine(4) // The proofs stay when the end goes.
		kept := events.SlotIDOf(request.ID, 2)
		for i := range uint64(2) {
			if err := r.world.TakeBack(events.SlotIDOf(request.ID, i)); err != nil {
				r.Fatal(err)
			}
		}
		synctest.Wait()
		r.mineUntil("it failed", r.has("SaleFailed"))
		proofs := len(r.world.Taken(kept))
		r.world.Reorganize(4)
		synctest.Wait()
		r.mineUntil("it proves again", func() bool { return len(r.world.Taken(kept)) > proofs+2 })
		r.mineUntil("all are settled", func() bool { return r.count("SaleSettled") == 3 })
		stream := events.SaleStream(r.ports.Market.Account(), kept)
		count := map[string]int{}
		for e, err := range r.store.ReadStream(r.Context(), stream, events.ReadStream{}) {
			if err != nil {
				r.Fatal(err)
			}
			count[e.Type]++
		}
		if count["SlotFilled"] != 2 || count["SaleStarted"] != 1 || count["PayoutReceived"] != 1 || count["RequestEnded"] != 1 {
			r.Fatalf("the record of the slot: %v", count)
		}
		if n := r.world.Slashed(kept); n != 0 || r.count("ProofMissed") != 0 {
			r.Fatalf("slashed %d times; the record: %v", n, r.names())
		}
		r.clean()
	})
}

func TestRequestsAndFreedSlotsOfTheMeantimeAreQueued(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.mine(2)
		r.host.Kill()
		r.world.Post(sim.Offer(1, 1))
		r.world.Mine(1)
		rivals := sim.Offer(2, 1)
		r.world.Post(rivals)
		r.world.Mine(1)
		slot := events.SlotIDOf(rivals.ID, 0)
		if err := r.world.Rival(slot); err != nil {
			r.Fatal(err)
		}
		if err := r.world.TakeBack(slot); err != nil {
			r.Fatal(err)
		}
		r.world.Mine(1)
		r.start()
		r.mineUntil("both are filled", func() bool { return r.count("SlotFilled") == 2 })
		repairs := 0
		for _, e := range stored[*messages.SaleStarted](r) {
			if e.GetRepair() {
				repairs++
			}
		}
		if repairs != 1 {
			r.Fatalf("%d of the sales are repairs, want the one", repairs)
		}
	})
}

func TestReservationsWithoutASaleAreSettledAtTheStart(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		request := sim.Offer(1, 1)
		slot := events.SlotIDOf(request.ID, 0)
		r.ledger(capacity.Reserve{
			At: time.Now(), Slot: slot, RequestID: request.ID, Attempt: 1,
			Ask: capacity.Ask{
				SlotSize: request.Ask.SlotSize, Duration: request.Ask.Duration,
				PricePerBytePerSecond: request.Ask.PricePerBytePerSecond,
				CollateralPerByte:     request.Ask.CollateralPerByte, RequestEnd: time.Now().Add(time.Hour),
			},
		})
		r.world.Put(slot, request.Ask.SlotSize, time.Now())
		if _, open := r.book(); open != 1 {
			r.Fatal("the test needs a reservation")
		}
		r.host.Kill()
		r.start()
		r.mine(1)
		if b, open := r.book(); open != 0 || b.Free != 64*events.BlockSize || len(r.world.Stored()) != 0 {
			r.Fatalf("left: %d reservations, %s, %d slots on disk", open, b, len(r.world.Stored()))
		}
	})
}

func TestASaleInEveryPhaseGoesOnAfterACrash(t *testing.T) {
	for _, phase := range sale.Phases() {
		if phase == sale.Unknown || phase == sale.ProvingSimulated || (sale.State{Phase: phase}).Ended() {
			continue
		}
		t.Run(phase.String(), func(t *testing.T) {
			inWorld(t, func(r *rig) {
				reached := false
				r.cfg.Cores.NextSale = func(s sale.State) []sale.Effect {
					if reached = reached || s.Phase == phase; reached { // Nothing more is done: the host is about to die.
						return nil
					}
					return sale.Next(s)
				}
				r.start()
				r.offer(64 * events.BlockSize)
				r.world.Post(sim.Offer(1, 1))
				r.mineUntil("the phase is reached", func() bool { return reached })
				r.host.Kill()
				r.cfg.Cores.NextSale = nil
				r.start()
				r.mineUntil("it is paid and settled", r.has("SaleSettled"))
				if r.count("PayoutReceived") != 1 || r.count("SaleStarted") != 1 || len(r.world.Stored()) != 0 {
					r.Fatalf("the record holds %v", r.names())
				}
				if _, open := r.book(); open != 0 {
					r.Fatalf("%d reservations are left", open)
				}
			})
		})
	}
}
