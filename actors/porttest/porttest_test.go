package porttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

// The simulation relies on its fakes, so they run the suites too.

func TestFakeMarket(t *testing.T) {
	porttest.Market(t, func(t *testing.T) porttest.MarketWorld {
		w := sim.NewWorld(events.NewAmount(1 << 40))
		w.Validation() // Nobody marks but who is asked to.
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
			Compete: func(c events.SlotCall, n int) {
				if err := w.Compete(c.Slot, n); err != nil {
					t.Fatal(err)
				}
			},
			Mark:     func(c events.SlotCall, period uint64) error { return w.Mark(c.Slot, period) },
			Withdraw: w.Withdraw,
			TryPost:  func(r events.Request) (events.Request, error) { return r, w.TryPost(r) },
		}
	})
}

func TestFakeFeed(t *testing.T) {
	porttest.Feed(t, func(*testing.T) porttest.FeedWorld {
		w := sim.NewWorld(events.NewAmount(1 << 40))
		posted := byte(0)
		return porttest.FeedWorld{
			Feed: w.Ports(nil).Feed,
			Post: func() {
				posted++
				w.Post(sim.Offer(posted, 2))
			},
			Mine: w.Mine, Reorganize: w.Reorganize, Head: w.Head,
		}
	})
}

func TestFakeRepo(t *testing.T) {
	porttest.Repo(t, func(t *testing.T) porttest.RepoWorld {
		w := sim.NewWorld(events.Amount{})
		put, ports := byte(0), w.Ports(nil)
		return porttest.RepoWorld{
			Repo: ports.Repo,
			Download: func() error {
				_, err := ports.Content.Download(t.Context(), events.DownloadJob{
					Request: sim.Offer(1, 1), Slot: events.SlotID{200},
					Grant: func(context.Context, events.Bytes) error { return nil },
				})
				return err
			},
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

func TestFakeProvider(t *testing.T) {
	porttest.Provider(t, func(t *testing.T) porttest.ProviderWorld {
		w := sim.NewWorld(events.NewAmount(1 << 40))
		var rules sim.SectorRules
		rules.Config, rules.Void, rules.Missed, rules.Fault, rules.Terminated = porttest.ProviderRules()
		return porttest.ProviderWorld{
			Provider: w.Provider(rules),
			Drive:    func(call func(context.Context) error) error { return call(t.Context()) },
			Mine:     func(n uint64) { w.Mine(int(n)) },
		}
	})
}

func TestFakeValidation(t *testing.T) {
	porttest.Validation(t, func(t *testing.T) porttest.ValidationWorld {
		w := sim.NewWorld(events.NewAmount(1 << 40))
		r := sim.Offer(1, 4)
		r.Ask.MaxSlotLoss, r.Ask.Duration, r.Expiry = 4, 4000*time.Second, 3900*time.Second
		w.Post(r)
		ref := func(index uint64) events.SlotRef {
			return events.SlotRef{Request: r.ID, Slot: events.SlotIDOf(r.ID, index), Index: index}
		}
		var neglected []events.SlotRef
		for i := range uint64(3) {
			if err := w.Rival(ref(i).Slot); err != nil {
				t.Fatal(err)
			}
			neglected = append(neglected, ref(i))
		}
		if err := w.Own(ref(3).Slot); err != nil {
			t.Fatal(err)
		}
		return porttest.ValidationWorld{
			Validation: w.Validation(), Again: w.Validation, Neglected: neglected, Own: ref(3),
			Proofs: w.Terms().Proofs, Slashes: int(w.Terms().MaxNumberOfSlashes), Reward: w.Reward(r),
			Drive: func(call func(context.Context) error) error { return w.Drive(t.Context(), call) },
			Head:  w.Head, Warp: w.Warp, Mine: w.Mine, Tokens: w.Tokens,
			Rival: func(slot events.SlotRef, period uint64) {
				if err := w.Mark(slot.Slot, period); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
