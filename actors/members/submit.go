package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file hands in the proofs of a member. Who owns the account may be unknown, dead, or out of reach
// just when a proof is due. Then another member passes it on; if none does, or a quarter of the time has passed
// without an answer, it is handed over through the event store (ready.go); and when half of it has, a member that
// has the key sends it itself. Both it and the owner may take the same nonce: docs/cluster.md says what that costs.

// dueProof is the proof of a slot for a period.
type dueProof struct {
	slot   events.SlotID
	period uint64
}

// proofTimes is when half of the time that a proof had at first has passed, and when all of it, in chain time.
type proofTimes struct {
	half, end  time.Time
	handedOver events.Proof // is in the event store
}

// How often, about, the owner is asked until half of the time has passed, if it answers at once that it cannot; and
// after that, if it does not answer, by a member without the key.
const (
	triesUntilHalf = 8
	triesAfterHalf = 4
)

// errHalfTime: the owner did not answer until half of the time had passed, or a part of the rest.
var errHalfTime = errors.New("no answer in the time in which others are asked to send the proof")

// SubmitProof implements port.Market. The errors are those of the owner; if there was no answer, those
// of port.Account.SubmitProof.
func (m *Market) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	q := submitProof{call, period, proof}
	if call.Deadline.IsZero() {
		return m.askMembers(ctx, q)
	}
	half := m.halfTime(dueProof{call.Slot, period}, call.Deadline)
	now, withoutKey := m.route.Now(), m.route.Account == nil
	until := half
	if !now.Before(half) && withoutKey { // All that it can do is to ask, and to hand the proof over, again.
		until = now.Add(call.Deadline.Sub(now) / triesAfterHalf)
	}
	patience := until.Sub(now)
	inTime, end := m.within(ctx, patience)
	defer end()
	asking, endAsking := m.within(inTime, patience/2) // Then it is handed over, and all are asked again.
	defer endAsking()
	// An owner that says at once that it cannot is asked again from here. A caller that tries again and again
	// waits longer each time, perhaps past half of a short period.
	pause := max(time.Second, patience/triesUntilHalf)
	for {
		receipt, err := m.askMembers(asking, q)
		if !Unanswered(err) || ctx.Err() != nil {
			return receipt, err
		}
		late := inTime.Err() != nil || !m.route.Now().Before(half)
		if late && !withoutKey {
			return m.route.Account.SubmitProof(ctx, call, period, proof)
		}
		if err = m.handOver(ctx, q, err); late {
			return receipt, err
		}
		_ = shell.Sleep(inTime, m.route.Clock, pause)
		asking = inTime
	}
}

// within returns a context that ends after some time of the chain, and of the machine: blocks may not come.
func (m *Market) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := m.route.Before(ctx, m.route.Now().Add(d), errHalfTime)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := m.route.Clock.After(d, func() { cancel(errHalfTime) })
	return ctx, func() {
		stop()
		cancel(nil)
		end()
	}
}

// askMembers has the owner send a proof: directly, or through another member.
func (m *Market) askMembers(ctx context.Context, q submitProof) (events.Receipt, error) {
	receipt, err := m.submitByOwner(ctx, q)
	if Unanswered(err) && ctx.Err() == nil {
		return m.throughOthers(ctx, q, err)
	}
	return receipt, err
}

// handOver hands a proof over through the event store, once, because no member answered, for the reason why. The error
// that it returns says so, too.
func (m *Market) handOver(ctx context.Context, q submitProof, why error) error {
	if m.route.HandOver == nil {
		return why
	}
	due := dueProof{q.Call.Slot, q.Period}
	m.mu.Lock()
	done := m.deadlines[due].handedOver == q.Proof
	m.mu.Unlock()
	if !done {
		err := m.route.HandOver(ctx, Ready{
			Slot: q.Call.Slot, Period: q.Period, Challenge: q.Call.Challenge, Deadline: q.Call.Deadline, Proof: q.Proof,
		})
		if err != nil {
			return fmt.Errorf("%w; nor can the proof be left in the event store: %s", why, err.Error())
		}
		m.mu.Lock()
		if h, known := m.deadlines[due]; known {
			h.handedOver = q.Proof
			m.deadlines[due] = h
		}
		m.mu.Unlock()
	}
	return fmt.Errorf("%w; the proof waits for the owner in the event store", why)
}

// TakenProofs implements port.Market. What this member sent itself, beside the owner or as the owner in an
// outage, another owner may not know.
func (m *Market) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	taken, err := byOwner(ctx, m, takenProofs{slot, from}, func() ([]events.TakenProof, error) {
		return m.Market.TakenProofs(ctx, slot, from)
	})
	if err != nil || m.route.Account == nil {
		return taken, err
	}
	sent, err := m.route.Account.TakenProofs(ctx, slot, from)
	for _, t := range sent {
		if !slices.ContainsFunc(taken, func(o events.TakenProof) bool { return o.Receipt.TxHash == t.Receipt.TxHash }) {
			taken = append(taken, t)
		}
	}
	slices.SortStableFunc(taken, func(x, y events.TakenProof) int { return cmp.Compare(x.Period, y.Period) })
	return taken, err
}

// halfTime is until when others are asked to send a proof. It stays the same however often that is tried.
func (m *Market) halfTime(p dueProof, deadline time.Time) time.Time {
	now := m.route.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.deadlines, func(_ dueProof, h proofTimes) bool { return now.After(h.end) })
	h, known := m.deadlines[p]
	if !known {
		h = proofTimes{half: now.Add(deadline.Sub(now) / 2), end: deadline}
		m.deadlines[p] = h
	}
	return h.half
}

func (m *Market) submitByOwner(ctx context.Context, q submitProof) (events.Receipt, error) {
	return byOwner(ctx, m, q, func() (events.Receipt, error) {
		return m.Market.SubmitProof(ctx, q.Call, q.Period, q.Proof)
	})
}

// throughOthers asks the other members to pass a proof on to the owner, which did not answer for the reason
// why.
func (m *Market) throughOthers(ctx context.Context, q submitProof, why error) (events.Receipt, error) {
	owner, known := m.route.Owner()
	for _, other := range m.route.Cluster.Seen() {
		if !known || other == owner || other == m.route.Cluster.Member() || ctx.Err() != nil {
			continue
		}
		if receipt, err := Ask(ctx, m.route.Cluster, other, passOnProof(q)); !Unanswered(err) {
			return receipt, err
		}
	}
	return events.Receipt{}, why
}

// Unanswered says that a question about a transaction was not answered by an owner that knows. A member that has
// just lost the account may still take itself for the owner.
func Unanswered(err error) bool {
	return err != nil && (shell.IsOneOf(err, events.ErrNoOwner, shell.ErrStoreAway) ||
		!shell.IsOneOf(err, slices.Collect(maps.Values(outcomes))...))
}
