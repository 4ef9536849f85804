package porttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

// The simulation rests on its fakes, so they run the suites as well.

func TestFakeMarket(t *testing.T) {
	porttest.Market(t, func(t *testing.T) porttest.MarketWorld {
		w := sim.NewWorld(events.NewAmount(1 << 40))
		posted := byte(0)
		return porttest.MarketWorld{
			Market: w.Ports(nil).Market,
			Post: func() events.Request {
				posted++
				r := sim.Offer(posted, 2)
				w.Post(r)
				return r
			},
			Drive:      func(call func(context.Context) error) error { return w.Drive(t.Context(), call) },
			Proof:      w.Proof,
			WrongProof: events.Proof{0: {31: 7}},
			Warp:       w.Warp,
			Rival: func(c events.SlotCall) {
				if err := w.Rival(c.Slot); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestFakeRepo(t *testing.T) {
	porttest.Repo(t, func(*testing.T) porttest.RepoWorld {
		w := sim.NewWorld(events.Amount{})
		put := byte(0)
		return porttest.RepoWorld{
			Repo: w.Ports(nil).Repo,
			Put: func(until time.Time) events.SlotID {
				put++
				w.Put(events.SlotID{put}, events.BlockSize, until)
				return events.SlotID{put}
			},
		}
	})
}

func TestFakeProver(t *testing.T) {
	porttest.Prover(t, func(*testing.T) porttest.ProverWorld {
		w := sim.NewWorld(events.Amount{})
		w.Put(events.SlotID{1}, events.BlockSize, events.Unix(1))
		return porttest.ProverWorld{
			Prover: w.Ports(nil).Prover,
			Job:    events.ProofJob{Slot: events.SlotID{1}, Challenge: events.Challenge{5}},
			Accepts: func(j events.ProofJob, p events.Proof) bool {
				return p == sim.ProofFor(j.Slot, j.Challenge)
			},
		}
	})
}
