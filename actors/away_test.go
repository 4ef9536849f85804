package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/audit"
)

// hosting runs a host until its slot proves, and returns the slot. The request
// runs long enough for some outages.
func (r *rig) hosting() events.SlotID {
	r.Helper()
	r.start()
	r.offer(64 * events.BlockSize)
	offer := sim.Offer(1, 1)
	offer.Ask.Duration = 800 * time.Second
	r.world.Post(offer)
	r.mineUntil("it proves", r.has("ProofSubmitted"))
	return events.SlotIDOf(offer.ID, 0)
}

// settled runs the sale to its end, and checks that every proof that the contract took is
// recorded once, and that none was missed.
func (r *rig) settled(slot events.SlotID) {
	r.Helper()
	r.mineUntil("the sale is settled", r.has("SaleSettled"))
	if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 {
		r.Fatalf("the contract slashed the slot %d times; the record: %v", n, r.names())
	}
	if diff := cmp.Diff(r.world.Taken(slot), r.submitted()); diff != "" {
		r.Fatalf("proofs that the contract took (-), proofs in the record (+):\n%s", diff)
	}
	if n := len(r.world.Taken(slot)); n < 3 || r.world.Sent() != n {
		r.Fatalf("%d proofs were sent, %d were taken", r.world.Sent(), n)
	}
	r.clean()
}

// clean audits the record.
func (r *rig) clean() {
	r.Helper()
	report, err := audit.Run(context.Background(), r.store, audit.Options{})
	if err != nil || !report.Clean() {
		r.Fatalf("the audit (%v): %+v", err, report.Findings)
	}
}

// submitted returns the periods of the recorded proofs, in their order.
func (r *rig) submitted() (periods []uint64) {
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil || e.Type != "ProofSubmitted" {
			continue
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		periods = append(periods, m.(*messages.ProofSubmitted).GetPeriod())
	}
	return periods
}

// away returns what the status says of the event store.
func (r *rig) away() shell.StoreStatus { return r.status().Record }

const period = 20 // blocks of a second

func TestProofsThatAreDueAreSentWhileTheStoreIsAway(t *testing.T) {
	for _, how := range []failure{refuses, forgets, hangs} {
		for _, at := range []string{"ProofDue", "ProofSubmitted", "DataLifetimeExtended", "SlotFilled"} {
			for _, blocks := range []int{3, period, 4 * period} {
				t.Run(fmt.Sprintf("%d at %s for %d blocks", how, at, blocks), func(t *testing.T) {
					inWorld(t, func(r *rig) {
						s := r.flaky()
						if strings.HasPrefix(at, "Proof") {
							slot := r.hosting()
							s.leaveAt(at, how)
							r.outage(s, blocks)
							r.settled(slot)
							return
						}
						s.leaveAt(at, how)
						r.start()
						r.offer(64 * events.BlockSize)
						r.world.Post(sim.Offer(1, 1))
						r.outage(s, blocks)
						r.settled(events.SlotIDOf(sim.Offer(1, 1).ID, 0))
					})
				})
			}
		}
	}
}

// Whoever seals the blocks of a chain must know that the host waits for its store, before the
// host itself counts the store as away.
func TestAStatusCountsTheCallsThatTheStoreHasNotAnswered(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.flaky()
		r.hosting()
		if n := r.status().Unanswered; n != 0 {
			r.Fatalf("%d calls have no answer when all is well", n)
		}
		s.set(hangs)
		r.world.Post(sim.Offer(9, 1))
		r.world.Mine(1)
		synctest.Wait()
		if st := r.status(); st.Unanswered == 0 || st.Record.Away {
			r.Fatalf("%d calls have no answer, the event store is away: %t", st.Unanswered, st.Record.Away)
		}
		s.set(up)
		synctest.Wait()
		if n := r.status().Unanswered; n != 0 {
			r.Fatalf("%d calls have no answer when all is well again", n)
		}
	})
}

// outage waits until the store has gone, and brings it back after some blocks.
func (r *rig) outage(s *flakyStore, blocks int) {
	r.Helper()
	r.mineUntil("the store goes", s.gone)
	before := r.names()
	r.mine(blocks)
	if !s.writes() && !slices.Equal(before, r.names()) {
		r.Fatalf("the record grew while the store was away: %v, then %v", before, r.names())
	}
	s.set(up)
	synctest.Wait()
}

func TestASecondOutageIsLikeTheFirst(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.flaky()
		slot := r.hosting()
		for _, how := range []failure{refuses, forgets, hangs, refuses} {
			s.leaveAt("ProofDue", how)
			r.outage(s, period+7)
			r.mine(3)
		}
		s.set(refuses) // And an outage that begins while the host catches up after the last one.
		r.mine(period)
		s.set(up)
		time.Sleep(100 * time.Millisecond)
		s.set(hangs)
		r.mine(2 * period)
		s.set(up)
		r.settled(slot)
	})
}

func TestProofsOfAnOutageAreNotForgottenByACrash(t *testing.T) {
	for _, at := range []string{"ProofDue", "ProofSubmitted", "DataLifetimeExtended"} {
		t.Run(at, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				s := r.flaky()
				s.leaveAt(at, refuses)
				r.start()
				r.offer(64 * events.BlockSize)
				r.world.Post(sim.Offer(1, 1))
				r.mineUntil("the store goes", s.gone)
				r.mine(3 * period)
				slot := events.SlotIDOf(sim.Offer(1, 1).ID, 0)
				taken := len(r.world.Taken(slot))
				if taken < 2 {
					r.Fatalf("%d proofs were taken during the outage", taken)
				}
				r.host.Kill()
				started := make(chan *actors.Host, 1)
				go func() {
					host, err := actors.Start(context.Background(), r.cfg, r.ports, silent())
					if err != nil {
						t.Error(err)
					}
					started <- host
				}()
				r.mine(2) // It waits for the store.
				if len(started) != 0 {
					r.Fatal("the host started without its record")
				}
				s.set(up)
				time.Sleep(10 * time.Second)
				r.host = <-started
				r.settled(slot)
				if r.foundLater() == 0 {
					r.Error("no duty says that nobody recorded it while its period ran")
				}
			})
		})
	}
}

// foundLater is how many duties were recorded when their periods were over.
func (r *rig) foundLater() (n int) {
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil || e.Type != "ProofDue" {
			continue
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		if due := m.(*messages.ProofDue); due.GetAt().AsTime().After(due.GetDeadline().AsTime()) {
			n++
		}
	}
	return n
}

// There may be no event of a proof that was in flight when the host died, or that was mined at
// the end of its period.
func TestAProofThatIsOnChainIsNeverRecordedAsMissed(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.flaky()
		slot := r.hosting()
		s.leaveAt("ProofSubmitted", refuses)
		r.mineUntil("the store goes", s.gone)
		r.host.Kill()
		s.set(up)
		r.world.Mine(2 * period) // The period of the proof is over, and another one is missed.
		r.start()
		r.mine(5)
		taken := r.world.Taken(slot)
		if diff := cmp.Diff(taken, r.submitted()); diff != "" {
			r.Fatalf("taken (-), in the record (+):\n%s", diff)
		}
		r.clean()
	})
}

func TestNothingElseBeginsWhileTheStoreIsAway(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, script := r.flaky(), r.disturb()
		r.start()
		r.offer(64 * events.BlockSize)
		s.leaveAt("SlotStored", refuses) // The download has ended; this is not in the record.
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the store goes", s.gone)
		r.mine(2)
		before := script.noted()
		r.world.Post(sim.Offer(2, 1)) // Nobody looks at it.
		r.mine(period)
		if diff := cmp.Diff(before, script.noted()); diff != "" {
			r.Fatalf("calls about slots during the outage: %s", diff)
		}
		s.set(up)
		r.mineUntil("both are filled", func() bool { return r.count("SlotFilled") == 2 })
		r.mineUntil("both are settled", func() bool { return r.count("SaleSettled") == 2 })
		r.clean()
	})
}

func TestACallThatRunsMayEndAndIsNotTriedAgainWhileTheStoreIsAway(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, script := r.flaky(), r.disturb()
		let := make(chan error)
		script.download = func(context.Context, events.DownloadJob) error { return <-let }
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it downloads", func() bool { return slices.Contains(script.noted(), "download") })
		s.set(refuses)
		r.mine(10)
		let <- errSource
		r.mine(period)
		if n := len(slices.DeleteFunc(script.noted(), func(c string) bool { return c != "download" })); n != 1 {
			r.Fatalf("%d downloads", n)
		}
		s.set(up)
		go func() { let <- nil }()
		r.mineUntil("it is settled", r.has("SaleSettled"))
		r.clean()
	})
}

// lazyProver makes no proofs for a while.
type lazyProver struct {
	port.Prover
	lazy atomic.Bool
}

func (p *lazyProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	if p.lazy.Load() {
		return events.ProofResult{}, errSource
	}
	return p.Prover.Prove(ctx, job)
}

// If another process writes to the sale's stream during our outage, what was decided is void,
// but the proofs that the contract took still count.
func TestWhatTheContractTookIsKeptWhenTheRecordMovedMeanwhile(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, p := r.flaky(), &lazyProver{Prover: r.ports.Prover}
		r.ports.Prover = p
		slot := r.hosting()
		r.mineUntil("the request has started", r.has("RequestStarted"))
		s.leaveAt("ProofDue", refuses)
		r.mineUntil("the store goes", s.gone)
		r.mine(2 * period)
		p.lazy.Store(true)
		r.mineUntil("a proof is missed", func() bool { return r.world.Slashed(slot) == 1 })
		p.lazy.Store(false)
		r.mine(period)
		stream := events.SaleStream(r.ports.Market.Account(), slot)
		var last events.Recorded
		for e, err := range r.store.ReadStream(r.Context(), stream, events.ReadStream{}) {
			if err != nil {
				r.Fatal(err)
			}
			last = e
		}
		meta := last.Meta
		meta.Cause, meta.Causation = "look", ""
		other := events.NewEvent{ // A repetition changes nothing.
			ID:   events.NewEventID(stream, fmt.Sprintf("look@%d", last.Revision+1), 0),
			Type: "RequestStarted", Meta: meta, Data: []byte(`{"at":"2001-01-01T00:00:00Z"}`),
		}
		if _, err := r.store.Append(r.Context(), stream, events.Exact(last.Revision), []events.NewEvent{other}); err != nil {
			r.Fatal(err)
		}
		s.set(up)
		r.mineUntil("the sale is settled", r.has("SaleSettled"))
		if diff := cmp.Diff(r.world.Taken(slot), r.submitted()); diff != "" {
			r.Fatalf("taken (-), in the record (+):\n%s", diff)
		}
		if slashed := r.world.Slashed(slot); slashed != 1 || r.count("ProofMissed") != 1 {
			r.Fatalf("slashed %d times, %d misses are in the record", slashed, r.count("ProofMissed"))
		}
		if n := r.count("RequestStarted"); n != 2 {
			r.Fatalf("%d times RequestStarted, one of them another's", n)
		}
		r.clean()
	})
}

func TestOperatorsAreAnsweredWhileTheStoreIsAway(t *testing.T) {
	create := func(id byte) capacity.Command {
		return capacity.Create{At: time.Now(), ID: events.AvailabilityID{id}, Now: capacity.Offer{
			Size: events.BlockSize, Duration: time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1000), Enabled: true,
		}}
	}
	inWorld(t, func(r *rig) {
		s := r.flaky()
		r.start()
		r.offer(events.BlockSize)
		s.leaveAt("AvailabilityCreated", refuses)
		began := time.Now()
		if err := r.host.Ledger(r.Context(), create(2)); !errors.Is(err, shell.ErrStoreAway) {
			r.Fatalf("on its way when the store went: %v", err)
		}
		if took := time.Since(began); took > 11*time.Second {
			r.Fatalf("the answer took %s", took)
		}
		began = time.Now()
		if err := r.host.Ledger(r.Context(), create(3)); !errors.Is(err, shell.ErrStoreAway) || time.Since(began) > 0 {
			r.Fatalf("while the store is away: %v after %s", err, time.Since(began))
		}
		if a := r.away(); !a.Away || a.Since.IsZero() || !strings.Contains(a.Reason, events.ErrAway.Error()) {
			r.Fatalf("the status says %+v", a)
		}
		s.set(up)
		r.mine(10)
		if a := r.away(); a.Away {
			r.Fatalf("back, but the status says %+v", a)
		}
		if err := r.host.Ledger(r.Context(), create(2)); err != nil { // Asking again is harmless.
			r.Fatal(err)
		}
		if n := r.count("AvailabilityCreated"); n != 2 {
			r.Fatalf("%d availabilities, want the first and the one that was on its way", n)
		}
		r.clean()
	})
}
