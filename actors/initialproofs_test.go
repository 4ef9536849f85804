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

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// slowProver needs 16 to 20 s for a proof, and cannot be interrupted, like the real one.
type slowProver struct {
	port.Prover
	made atomic.Int64
}

func (p *slowProver) Prove(_ context.Context, job events.ProofJob) (events.ProofResult, error) {
	r, err := p.Prover.Prove(context.Background(), job)
	r.Took = 16*time.Second + time.Duration(p.made.Add(1)*7%5)*time.Second
	time.Sleep(r.Took)
	return r, err
}

// slowWorld has a period of this length, and a slow prover.
func (r *rig) slowWorld(period time.Duration) *slowProver {
	r.world = sim.NewWorldOf(period, events.NewAmount(1<<40))
	r.ports = r.world.Ports(r.store)
	p := &slowProver{Prover: r.ports.Prover}
	r.ports.Prover = p
	return p
}

// slowly gives the host a slow prover, workers for so many slots at once, periods of 40 s, and a
// request whose slots seldom owe a proof. A worker's patience is shorter than the wait for the prover.
func (r *rig) slowly(workers int, slots uint64) *slowProver {
	p := r.slowWorld(40 * time.Second)
	r.cfg.MaxWorkers, r.cfg.WorkerPatience = workers, 30*time.Second
	r.start()
	r.offer(1024 * events.BlockSize)
	offer := sim.Offer(1, slots)
	offer.Ask.ProofProbability, offer.Ask.Duration, offer.Expiry = events.NewAmount(100_000), 2*time.Hour, time.Hour
	r.world.Post(offer)
	return p
}

// All together need far more than a period for their proofs, and each proof is good in its period only.
func TestManySlotsWithSlowProofsAreFilledOneAfterTheOther(t *testing.T) {
	const slots = 8
	inWorld(t, func(r *rig) {
		p := r.slowly(slots, slots)
		r.mine(16 * 40)
		filled, made := r.count("SlotFilled"), p.made.Load()
		if filled != slots || made > slots+1 { // How long one takes is a guess before the first.
			r.Fatalf("%d proofs were made, %d of %d slots are filled", made, filled, slots)
		}
	})
}

// A slot that waits for its proof holds one of the few reservations that the contract gives for it.
func TestASlotKeepsItsWorkerUntilItIsFilled(t *testing.T) {
	const workers, slots = 2, 5
	inWorld(t, func(r *rig) {
		r.slowly(workers, slots)
		for r.count("SlotFilled") < slots {
			r.mine(1)
			if began, filled := r.count("SaleStarted"), r.count("SlotFilled"); began > filled+workers {
				r.Fatalf("%d sales began, and %d slots are filled", began, filled)
			}
			if r.world.Head().Number > 5000 || r.has("SaleIgnored")() {
				r.Fatalf("the record: %v", r.names())
			}
		}
	})
}

func TestASlotThatCannotBeProvenIsLetGo(t *testing.T) {
	inWorld(t, func(r *rig) {
		p := &lazyProver{Prover: r.ports.Prover}
		p.lazy.Store(true)
		r.ports.Prover = p
		r.cfg.MaxWorkers, r.cfg.WorkerPatience = 1, 90*time.Second
		r.start()
		r.offer(1024 * events.BlockSize)
		offer := sim.Offer(1, 2)
		offer.Expiry = 390 * time.Second
		r.world.Post(offer)
		r.mineUntil("the other slot is worked on", func() bool { return r.count("SaleStarted") == 2 })
		if n := r.count("SaleIgnored"); n != 1 {
			r.Fatalf("the record: %v", r.names())
		}
	})
}

// stuckProver makes no end of its first proof, until it is told to stop.
type stuckProver struct {
	port.Prover
	calls, ended atomic.Int64
}

func (p *stuckProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	if p.calls.Add(1) == 1 {
		<-ctx.Done()
		p.ended.Add(1)
		return events.ProofResult{}, ctx.Err()
	}
	return p.Prover.Prove(ctx, job)
}

func TestAProofForAFillIsEndedWhenItsChallengeIsGone(t *testing.T) {
	inWorld(t, func(r *rig) {
		p := &stuckProver{Prover: r.ports.Prover}
		r.ports.Prover = p
		r.start()
		r.offer(1024 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it is begun", func() bool { return p.calls.Load() == 1 })
		r.mine(period)
		if p.ended.Load() != 1 {
			r.Fatal("it goes on after its period")
		}
		r.mineUntil("the slot is filled", r.has("SlotFilled"))
	})
}

// proving reports whether a proof is made, or waits to be.
// fillless is a market that takes no fills while it is busy.
type fillless struct {
	port.Market
	busy  atomic.Bool
	tries atomic.Int64
}

func (m *fillless) FillSlot(ctx context.Context, c events.SlotCall, p events.Proof) (events.Fill, error) {
	m.tries.Add(1)
	if m.busy.Load() {
		return events.Fill{}, errors.New("the node is busy")
	}
	return m.Market.FillSlot(ctx, c, p)
}

// The deadline with which such a fill is not sent is the time of the newest block, which explains nothing.
func TestAnInitialProofWhoseChallengeIsOverSaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		m := &fillless{Market: r.ports.Market}
		m.busy.Store(true)
		r.ports.Market = m
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("a fill was tried", func() bool { return m.tries.Load() > 0 })
		r.mine(period)
		m.busy.Store(false)
		r.mineUntil("it is filled", r.has("SlotFilled"))
		outdated := stored[*messages.InitialProofOutdated](r)
		if len(outdated) == 0 || !strings.Contains(outdated[0].GetReason(), "the slot has another challenge") {
			r.Fatalf("the proof was outdated because of %v", outdated)
		}
	})
}

func (r *rig) proving() bool {
	return slices.ContainsFunc(r.status().Pools, func(p actors.PoolStatus) bool {
		return p.Name == "proofs" && p.Running+p.Waiting > 0
	})
}

// A development chain waits while proofs are made. By the machine's clock they take longer than a period here.
func TestOnAChainThatWaitsForProofsTheirTimeIsNotTheChains(t *testing.T) {
	inWorld(t, func(r *rig) {
		p := r.slowWorld(15 * time.Second)
		r.start()
		r.offer(1024 * events.BlockSize)
		offer := sim.Offer(1, 3)
		offer.Ask.ProofProbability = events.NewAmount(100_000)
		r.world.Post(offer)
		for blocks := 0; blocks < 6*period && r.count("SlotFilled") < 3; blocks++ {
			for r.proving() {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			r.mine(1)
		}
		filled, why := r.count("SlotFilled"), r.status().NoRoom
		if filled != 3 || p.made.Load() != 3 || why != "" {
			r.Fatalf("%d proofs made, %d slots filled; no room for more because of %q", p.made.Load(), filled, why)
		}
	})
}
