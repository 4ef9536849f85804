package actors_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// alive fails the test when the host has ended.
func (r *rig) alive() {
	r.Helper()
	select {
	case <-r.host.Done():
		r.Fatalf("the host ended: %v", r.host.Err())
	default:
	}
}

// subjects returns the quarantined work of a kind.
func (r *rig) subjects(kind shell.SubjectKind) (all []shell.Subject) {
	r.Helper()
	for _, q := range r.status().Quarantined {
		if q.Subject.Kind == kind {
			all = append(all, q.Subject)
		}
	}
	return all
}

// proven runs one of several sales to its end; no proof of any sale may be missed.
func (r *rig) proven(slot events.SlotID) {
	r.Helper()
	r.mineUntil("it ends", func() bool { return r.world.State(slot) == events.SlotPaid })
	if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 || len(r.world.Taken(slot)) < 3 {
		r.Fatalf("slashed %d times; the record: %v", n, r.names())
	}
}

func (r *rig) restart() {
	r.Helper()
	r.host.Kill()
	r.start()
}

// One bad offer must not cost hosted slots, neither now nor after a restart.
func TestAnOfferOnWhichTheQueuePanicsIsLeftAlone(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		broken.Store(true)
		bad := longer(2, 1)
		told := r.listen()
		r.cfg.Cores.DecideQueue = func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
			if c, ok := c.(slotqueue.Queue); ok && broken.Load() && c.RequestID == bad.ID {
				panic("a bug in the queue")
			}
			return slotqueue.Decide(s, c)
		}
		hosted := r.hosting()
		r.world.Post(bad)
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		r.world.Post(longer(3, 1))
		r.mineUntil("the next offer is filled", func() bool { return r.count("SlotFilled") == 2 })
		r.alive()
		if n := len(told.of(health.AlertWorkQuarantined)); n != 1 || len(r.subjects(shell.SubjectMarket)) != 1 {
			r.Fatalf("%d alerts, the status has %v", n, r.status().Quarantined)
		}
		r.restart()
		r.mine(5)
		r.alive()
		if n := r.count("WorkQuarantined"); n != 1 || len(r.subjects(shell.SubjectMarket)) != 1 {
			r.Fatalf("after a restart it was quarantined %d times; status: %v", n, r.status().Quarantined)
		}
		broken.Store(false)
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectMarket)[0]); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("it is filled after all", func() bool { return r.count("SlotFilled") == 3 })
		if len(r.status().Quarantined) != 0 || r.count("QuarantineEnded") != 1 {
			r.Fatalf("quarantined still: %v", r.status().Quarantined)
		}
		r.proven(hosted)
		r.clean()
	})
}

// Work that fails again when an operator has it tried again is quarantined at once.
func TestWhatFailsAgainWhenTriedAgainIsQuarantinedAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.Cores.DecideQueue = func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
			if _, ok := c.(slotqueue.Queue); ok {
				panic("a bug in the queue")
			}
			return slotqueue.Decide(s, c)
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectMarket)[0]); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("it is quarantined again", func() bool { return r.count("WorkQuarantined") == 2 })
		err := r.host.TryAgain(r.Context(), shell.Subject{Kind: shell.SubjectMarket, Key: "999"})
		if !errors.Is(err, shell.ErrNotQuarantined) {
			r.Fatalf("something that is not quarantined: %v", err)
		}
	})
}

// If the ledger panics at a question of the queue, the offer is quarantined and not the ledger.
func TestAnOfferThatThePortsPanicOnIsLeftAlone(t *testing.T) {
	inWorld(t, func(r *rig) {
		bad := sim.Offer(2, 1)
		r.ports.Market = panickingMarket{r.ports.Market, bad.ID}
		hosted := r.hosting()
		r.world.Post(bad)
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		if len(r.subjects(shell.SubjectSlot)) != 1 {
			r.Fatalf("quarantined: %v", r.status().Quarantined)
		}
		r.alive()
		r.settled(hosted)
	})
}

// panickingMarket panics when it is asked about a request.
type panickingMarket struct {
	port.Market
	bad events.RequestID
}

func (m panickingMarket) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	if id == m.bad {
		panic("a bug in the adapter")
	}
	return m.Market.Request(ctx, id)
}

func TestALedgerCommandThatPanicsIsRefusedAndTheOthersAreNot(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		broken.Store(true)
		bad := longer(2, 1)
		r.cfg.Cores.DecideCapacity = func(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
			if c, ok := c.(capacity.Reserve); ok && broken.Load() && c.RequestID == bad.ID {
				panic("a bug in the ledger")
			}
			return capacity.Decide(s, c)
		}
		hosted := r.hosting()
		r.world.Post(bad)
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		r.mineUntil("the sale ends", r.has("SaleIgnored"))
		r.world.Post(longer(3, 1))
		r.mineUntil("the next offer is filled", func() bool { return r.count("SlotFilled") == 2 })
		r.alive()
		r.mineUntil("the ledger runs", func() bool { return len(r.status().Down) == 0 })
		broken.Store(false)
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectLedger)[0]); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("it is filled after all", func() bool { return r.count("SlotFilled") == 3 })
		r.proven(hosted)
		r.clean()
	})
}

// A command that the ledger must decide is not dropped: it waits until it is tried again.
func TestASettlementThatPanicsWaits(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		broken.Store(true)
		r.cfg.Cores.DecideCapacity = func(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
			if _, ok := c.(capacity.Settle); ok && broken.Load() {
				panic("a bug in the ledger")
			}
			return capacity.Decide(s, c)
		}
		r.hosting()
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		r.mine(100)
		r.alive()
		if r.has("SaleSettled")() {
			r.Fatalf("settled without the ledger: %v", r.names())
		}
		broken.Store(false)
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectLedger)[0]); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("it is settled", r.has("SaleSettled"))
		if _, open := r.book(); open != 0 {
			r.Fatalf("%d reservations are left", open)
		}
		r.clean()
	})
}

// A panic at any message of any actor but the supervisor costs no proof, and everything is
// sold, proven and settled as without it.
func TestEachActorIsStartedAgainAfterAPanic(t *testing.T) {
	for _, actor := range []string{"Reservations", "SlotQueue", "SlotWorker", "ProofScheduler", "SalesAgent"} {
		for _, nth := range []int64{1, 2, 3, 5, 8, 13, 21, 34} {
			t.Run(actor, func(t *testing.T) {
				inWorld(t, func(r *rig) {
					var met atomic.Int64
					r.cfg.BeforeMessage = func(name string, _ any) {
						if strings.HasPrefix(name, actor) && met.Add(1) == nth {
							panic("planted")
						}
					}
					r.start()
					r.setUp(64 * events.BlockSize)
					offer := longer(1, 2)
					r.world.Post(offer)
					r.mineUntil("both are settled", func() bool { return r.count("SaleSettled") == 2 })
					r.alive()
					if r.count("ProofMissed") != 0 || r.count("PayoutReceived") != 2 {
						r.Fatalf("message %d: the record holds %v", nth, r.names())
					}
					if _, open := r.book(); open != 0 || len(r.world.Stored()) != 0 {
						r.Fatalf("left: %d reservations, %d slots", open, len(r.world.Stored()))
					}
					r.clean()
				})
			})
		}
	}
}

// setUp is offer for a host whose ledger may be down just now.
func (r *rig) setUp(size events.Bytes) {
	r.Helper()
	for _, cmd := range []capacity.Command{
		capacity.SetQuota{At: time.Now(), Bytes: 1 << 30},
		capacity.Create{At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
			Size: size, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1 << 38), Enabled: true,
		}},
	} {
		r.mineUntil("the ledger takes it", func() bool {
			err := r.host.Ledger(r.Context(), cmd)
			if err != nil && !errors.Is(err, shell.ErrPartDown) {
				r.Fatal(err)
			}
			return err == nil
		})
	}
}

// A process whose supervisor is gone would live and prove nothing new.
func TestAPanicOfTheSupervisorEndsTheHost(t *testing.T) {
	inWorld(t, func(r *rig) {
		var broken atomic.Bool
		r.cfg.BeforeMessage = func(name string, _ any) {
			if name == "Supervisor" && broken.CompareAndSwap(true, false) {
				panic("planted")
			}
		}
		hosted := r.hosting()
		broken.Store(true)
		r.mine(1)
		select {
		case <-r.host.Done():
		default:
			r.Fatal("the host lives on")
		}
		if err := r.host.Err(); !errors.Is(err, actors.ErrBroken) || !strings.Contains(err.Error(), "planted") {
			r.Fatalf("it ended with %v", err)
		}
		r.restart()
		r.settled(hosted)
	})
}

// spoil appends an event to a stream that no build can read.
func (r *rig) spoil(stream string) {
	r.Helper()
	_, err := r.store.Append(r.Context(), stream, events.Expected{}, []events.NewEvent{{
		ID: events.NewEventID(stream, "spoilt", 0), Type: "QuotaSet", Data: []byte(`{"bytes":"many"}`),
		Meta: events.Metadata{Version: 1},
	}})
	if err != nil {
		r.Fatal(err)
	}
}

func TestAnUnreadableRecordOfAPartSellsNothingAndProvesWhatIsHosted(t *testing.T) {
	for name, stream := range map[string]func(*rig) string{
		"Reservations": func(r *rig) string { return events.CapacityStream(r.ports.Market.Account()) },
		"SlotQueue":    func(r *rig) string { return events.SlotQueueStream(r.ports.Market.Account()) },
		"market":       func(*rig) string { return events.MarketStream(1, events.Address{9}) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				hosted := r.hosting()
				r.host.Kill()
				r.spoil(stream(r))
				told := r.listen()
				r.start()
				r.world.Post(sim.Offer(2, 1))
				taken := len(r.world.Taken(hosted))
				r.mineUntil("it proves on", func() bool { return len(r.world.Taken(hosted)) >= taken+5 })
				r.alive()
				if down := r.status().Down; name != "market" && (len(down) != 1 || down[0].Name != name) {
					r.Fatalf("down: %+v", down)
				}
				if n := len(told.of(health.AlertPartDown)); n == 0 {
					r.Fatal("nobody was told")
				}
				r.mineUntil("the request ends", r.has("PayoutReceived"))
				if r.count("SaleStarted") != 1 || r.count("ProofMissed") != 0 {
					r.Fatalf("the record holds %v", r.names())
				}
			})
		})
	}
}

// A worker that fails again and again is not started again without a pause.
func TestAFailingWorkerIsStartedAgainWithPauses(t *testing.T) {
	inWorld(t, func(r *rig) {
		var starts atomic.Int64
		r.cfg.BeforeMessage = func(name string, _ any) {
			if strings.HasPrefix(name, "SlotWorker") {
				starts.Add(1)
				panic("planted")
			}
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mine(60)
		r.alive()
		if n := starts.Load(); n < 3 || n > 12 {
			r.Fatalf("%d starts in a minute", n)
		}
	})
}

// A call of a hosted sale that panics is tried again, and costs no proof.
func TestACallThatPanicsIsTriedAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.ports.Prover = &panickingProver{Prover: r.ports.Prover}
		r.settled(r.hosting())
		r.alive()
	})
}

// panickingProver panics at every second call.
type panickingProver struct {
	port.Prover
	calls atomic.Int64
}

func (p *panickingProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	if p.calls.Add(1)%2 == 1 {
		panic("planted")
	}
	return p.Prover.Prove(ctx, job)
}
