package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// soon is how long a host may take to go on after its store's adapter has said that it answers.
const soon = 500 * time.Millisecond

func TestAHostGoesOnAtTheWordOfItsStore(t *testing.T) {
	for how, name := range map[failure]string{refuses: "refuses", forgets: "forgets", hangs: "hangs"} {
		for _, outage := range []time.Duration{time.Second, 31 * time.Second, 97 * time.Second} {
			t.Run(fmt.Sprintf("%s for %s", name, outage), func(t *testing.T) {
				inWorld(t, func(r *rig) {
					s := r.told()
					r.start()
					r.offer(64 * events.BlockSize)
					r.mine(3)
					s.set(how)
					r.world.Post(sim.Offer(1, 1)) // Its log waits for the store.
					r.world.Mine(1)
					time.Sleep(outage)
					s.set(up)
					time.Sleep(soon)
					synctest.Wait()
					if a := r.away(); !sells(a) || !r.has("SlotReserved")() {
						r.Fatalf("the status says %+v, and the record holds %v", a, r.names())
					}
				})
			})
		}
	}
}

// A store that answers for two seconds at a time is used in each of them.
func TestAStoreThatAnswersForTwoSecondsAtATimeIsUsed(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.told()
		r.start()
		r.offer(64 * events.BlockSize)
		r.mine(3)
		s.set(refuses)
		r.world.Post(sim.Offer(1, 1))
		for range 20 {
			time.Sleep(7 * time.Second)
			s.set(up)
			time.Sleep(soon)
			synctest.Wait()
			if a := r.away(); a.Away {
				r.Fatalf("it answers, and the status says %+v", a)
			}
			r.mine(1)
			time.Sleep(soon)
			s.set(refuses)
			r.mine(1)
		}
		s.set(up)
		r.mineUntil("it proves", r.has("ProofSubmitted"))
	})
}

// TestAStartGoesOnAtTheWordOfItsStore has a store that goes away once the start is stored, before
// the record is read.
func TestAStartGoesOnAtTheWordOfItsStore(t *testing.T) {
	for _, how := range []failure{refuses, hangs} {
		for _, tells := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d, it tells: %t", how, tells), func(t *testing.T) {
				inWorld(t, func(r *rig) {
					h := r.listen()
					slot := r.hosting()
					r.host.Kill()
					synctest.Wait()
					s, within := r.told(), soon
					if !tells {
						s, within = r.flaky(), 4*time.Second
					}
					s.after, s.afterIs = "HostStarted", how
					r.start()
					r.mine(20 * period)
					if r.status().Booted {
						r.Fatal("it has read a record that it cannot read")
					}
					s.set(up)
					time.Sleep(within)
					synctest.Wait()
					if !r.status().Booted {
						r.Fatalf("not after %s", within)
					}
					if n := len(h.of(health.AlertChain)); n != 0 {
						r.Errorf("told %d times that the chain is silent, which nobody has looked at", n)
					}
					r.mine(2 * period)
					for _, m := range stored[*messages.ProofMissed](r) {
						if !strings.HasPrefix(m.GetReason(), "the host was starting, and waited for its event store") {
							r.Errorf("period %d of %s: %s", m.GetPeriod(), slot.Short(), m.GetReason())
						}
					}
					if r.count("ProofMissed") == 0 {
						r.Error("nothing was missed")
					}
				})
			})
		}
	}
}

// failing is a market that takes no reservations for a while.
type failing struct {
	port.Market
	fails atomic.Bool
}

func (f *failing) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	if f.fails.Load() {
		return events.Receipt{}, errSource
	}
	return f.Market.ReserveSlot(ctx, call)
}

// TestWhatWaitsForTheChainGoesOnWithItsFirstBlock: the pauses of calls have grown long meanwhile.
func TestWhatWaitsForTheChainGoesOnWithItsFirstBlock(t *testing.T) {
	for _, outage := range []time.Duration{61 * time.Second, 97 * time.Second, 113 * time.Second} {
		inWorld(t, func(r *rig) {
			chain := &failing{Market: r.ports.Market}
			r.ports.Market = chain
			chain.fails.Store(true)
			r.start()
			r.offer(64 * events.BlockSize)
			r.world.Post(sim.Offer(1, 1))
			r.mine(3)
			time.Sleep(outage) // No block comes, and every call fails.
			chain.fails.Store(false)
			r.world.Mine(1)
			time.Sleep(soon)
			synctest.Wait()
			if !r.has("SlotReserved")() {
				r.Fatalf("after %s: the record holds %v", outage, r.names())
			}
		})
	}
}
