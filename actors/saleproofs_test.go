package actors_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// deafMarket does not answer which proofs it took, in a chosen way.
type deafMarket struct {
	port.Market
	how   atomic.Int32 // 0: it says so
	asked atomic.Int32
}

// The ways in which a market does not answer.
const (
	deafHangs = iota + 1
	deafFails
)

func (m *deafMarket) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	m.asked.Add(1)
	switch m.how.Load() {
	case deafHangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case deafFails:
		return nil, errors.New("the node is away")
	}
	return m.Market.TakenProofs(ctx, slot, from)
}

func (r *rig) deaf() *deafMarket {
	m := &deafMarket{Market: r.ports.Market}
	r.ports.Market = m
	return m
}

// A missing answer costs no proof, and what is answered later is recorded as submitted.
func TestAMarketThatDoesNotSayWhatItTookHoldsBackNoProof(t *testing.T) {
	for name, how := range map[string]int32{"it hangs": deafHangs, "it fails": deafFails} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				m := r.deaf()
				m.how.Store(how)
				slot := r.hosting()
				r.mine(3 * period)
				if m.asked.Load() == 0 || r.count("ProofSubmitted") < 3 {
					r.Fatalf("asked %d times, the record: %v", m.asked.Load(), r.names())
				}
				r.host.Kill() // And after a restart.
				asked, sent := m.asked.Load(), r.world.Sent()
				r.start()
				r.mine(2 * period)
				if m.asked.Load() == asked || r.world.Sent() <= sent {
					r.Fatalf("after the restart asked %d times, %d proofs sent", m.asked.Load()-asked, r.world.Sent()-sent)
				}
				m.how.Store(0)
				r.settled(slot)
			})
		})
	}
}

// fullRepo cannot write that a slot is kept for longer.
type fullRepo struct {
	port.Repo
	full atomic.Bool
}

func (f *fullRepo) Extend(ctx context.Context, slot events.SlotID, until time.Time) error {
	if f.full.Load() {
		return syscall.ENOSPC
	}
	return f.Repo.Extend(ctx, slot, until)
}

// A disk that became full right before the fill holds back no proof, because a proof only reads.
func TestADiskThatIsFullAfterTheFillHoldsBackNoProof(t *testing.T) {
	inWorld(t, func(r *rig) {
		f := &fullRepo{Repo: r.ports.Repo}
		f.full.Store(true)
		r.ports.Repo = f
		slot := r.hosting()
		r.mine(3 * period)
		r.host.Kill()
		r.start()
		r.mine(2 * period)
		if n := r.count("ProofSubmitted"); n < 4 || r.has("DataLifetimeExtended")() {
			r.Fatalf("%d proofs; the record: %v", n, r.names())
		}
		f.full.Store(false)
		r.mineUntil("its lifetime is extended", r.has("DataLifetimeExtended"))
		r.settled(slot)
	})
}

// An outage leaves proofs of many periods of which the record knows nothing. The market is
// asked for them although the sale was told of newer duties before it answered.
func TestProofsOfBeforeAreAskedForAlthoughNewerOnesWereTold(t *testing.T) {
	const periods = 12 // More than are asked for if nothing was missed.
	inWorld(t, func(r *rig) {
		m, s := r.deaf(), r.flaky()
		slot := r.hosting()
		s.leaveAt("ProofDue", refuses)
		r.mineUntil("the store goes", s.gone)
		r.mine(periods * period)
		r.host.Kill()
		s.set(up)
		m.how.Store(deafHangs)
		before := r.count("ProofSubmitted")
		r.start()
		r.mine(2 * period)
		if n := r.count("ProofSubmitted"); n <= before || n > before+3 {
			r.Fatalf("%d proofs were in the record, %d are now", before, n)
		}
		m.how.Store(0)
		r.mineUntil("the sale is settled", r.has("SaleSettled"))
		taken, told := r.world.Taken(slot), map[uint64]bool{}
		for _, p := range r.submitted() {
			told[p] = true
		}
		for _, p := range taken {
			if !told[p] {
				r.Errorf("period %d was taken and is not in the record", p)
			}
		}
		if r.world.Slashed(slot) != 0 || r.count("ProofMissed") != 0 || len(told) != len(taken) {
			r.Fatalf("taken %v, in the record %v, missed %d", taken, r.submitted(), r.count("ProofMissed"))
		}
		r.clean()
	})
}

// busyNode takes no proof, a few times, and notes those that it was given.
type busyNode struct {
	port.Market
	refusals int
	why      error
	given    []events.Proof
}

func (m *busyNode) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	m.given = append(m.given, proof)
	if m.refusals > 0 {
		m.refusals--
		return events.Receipt{}, m.why
	}
	return m.Market.SubmitProof(ctx, call, period, proof)
}

// countedProver counts the proofs of periods.
type countedProver struct {
	port.Prover
	made int
}

func (p *countedProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	p.made++
	return p.Prover.Prove(ctx, job)
}

// A proof takes all cores for seconds, so one that only has to be sent again is not made again; but one that the
// contract refused is.
func TestAProofThatMustBeSentAgainIsNotMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		why  error
		more int // proofs than periods
	}{
		"the node is busy":        {why: errors.New("the node is busy")},
		"the contract refuses it": {why: events.ErrInvalidProof, more: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				m, p := &busyNode{Market: r.ports.Market, why: c.why}, &countedProver{Prover: r.ports.Prover}
				r.ports.Market, r.ports.Prover = m, p
				r.hosting()
				r.mine(period)
				before, given, proven := p.made, len(m.given), r.count("ProofSubmitted")
				m.refusals = 3
				r.mine(3 * period)
				periods := r.count("ProofSubmitted") - proven
				if periods < 2 || p.made-before != periods+c.more || len(m.given)-given != periods+3 {
					r.Errorf("%d proofs were made and %d sent for %d periods", p.made-before, len(m.given)-given, periods)
				}
			})
		})
	}
}
