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
// without an answer, it is left in the event store for the owner (ready.go); and when half of it has, a member that
// has the key sends it itself. Both it and the owner may take the same nonce: docs/cluster.md says what that costs.

// dueProof is the proof of a slot for a period.
type dueProof struct {
	slot   events.SlotID
	period uint64
}

// halfTime is when half of the time that a proof had at first has passed, and when all of it, in chain time.
type halfTime struct {
	at, end time.Time
	left    events.Proof // is in the event store
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
	now, keyless := m.way.Now(), m.way.Account == nil
	until := half
	if !now.Before(half) && keyless { // All that it can do is to ask, and to leave the proof, again.
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
		late := inTime.Err() != nil || !m.way.Now().Before(half)
		if late && !keyless {
			return m.way.Account.SubmitProof(ctx, call, period, proof)
		}
		if err = m.leave(ctx, q, err); late {
			return receipt, err
		}
		_ = shell.Sleep(inTime, m.way.Clock, pause)
		asking = inTime
	}
}

// within returns a context that ends after some time of the chain, and of the machine: blocks may not come.
func (m *Market) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := m.way.Before(ctx, m.way.Now().Add(d), errHalfTime)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := m.way.Clock.After(d, func() { cancel(errHalfTime) })
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

// leave leaves a proof in the event store, once, because nobody answered, for the reason why. What it returns
// says so, too.
func (m *Market) leave(ctx context.Context, q submitProof, why error) error {
	if m.way.Leave == nil {
		return why
	}
	due := dueProof{q.Call.Slot, q.Period}
	m.mu.Lock()
	left := m.halfs[due].left == q.Proof
	m.mu.Unlock()
	if !left {
		err := m.way.Leave(ctx, Ready{
			Slot: q.Call.Slot, Period: q.Period, Challenge: q.Call.Challenge, Deadline: q.Call.Deadline, Proof: q.Proof,
		})
		if err != nil {
			return fmt.Errorf("%w; nor can the proof be left in the event store: %s", why, err.Error())
		}
		m.mu.Lock()
		if h, known := m.halfs[due]; known {
			h.left = q.Proof
			m.halfs[due] = h
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
	if err != nil || m.way.Account == nil {
		return taken, err
	}
	sent, err := m.way.Account.TakenProofs(ctx, slot, from)
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
	now := m.way.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.halfs, func(_ dueProof, h halfTime) bool { return now.After(h.end) })
	h, known := m.halfs[p]
	if !known {
		h = halfTime{at: now.Add(deadline.Sub(now) / 2), end: deadline}
		m.halfs[p] = h
	}
	return h.at
}

func (m *Market) submitByOwner(ctx context.Context, q submitProof) (events.Receipt, error) {
	return byOwner(ctx, m, q, func() (events.Receipt, error) {
		return m.Market.SubmitProof(ctx, q.Call, q.Period, q.Proof)
	})
}

// throughOthers asks the other members to pass a proof on to the owner, which did not answer for the reason
// why.
func (m *Market) throughOthers(ctx context.Context, q submitProof, why error) (events.Receipt, error) {
	owner, known := m.way.Owner()
	for _, other := range m.way.Cluster.Seen() {
		if !known || other == owner || other == m.way.Cluster.Member() || ctx.Err() != nil {
			continue
		}
		if receipt, err := Ask(ctx, m.way.Cluster, other, passOnProof(q)); !Unanswered(err) {
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
