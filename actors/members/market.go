package members

import (
	"context"
	"errors"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// ErrNoOwner: no member has the term now, so nobody sends transactions. It is temporary.
var ErrNoOwner = errors.New("no member of the host sends transactions now")

// Market is the contract as a member sees it: it reads by itself, and asks the owner to send
// transactions. Safe for concurrent use.
type Market struct {
	port.Market // reads, and sends while this member is the owner
	cluster     port.Cluster
	owner       func() (events.Member, bool)
}

// NewMarket returns the market of a member. owner says who has the term, if anybody has.
func NewMarket(local port.Market, c port.Cluster, owner func() (events.Member, bool)) *Market {
	return &Market{Market: local, cluster: c, owner: owner}
}

// Unwrap is the market that this one is in front of, for its additional interfaces.
func (m *Market) Unwrap() port.Market { return m.Market }

// byOwner has the owner do something: here, if this member is the owner.
func byOwner[A any](ctx context.Context, m *Market, q Question[A], here func() (A, error)) (none A, err error) {
	owner, known := m.owner()
	switch {
	case !known:
		return none, ErrNoOwner
	case owner == m.cluster.Member():
		return here()
	}
	return Ask(ctx, m.cluster, owner, q)
}

// ReserveSlot implements port.Market.
func (m *Market) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	return byOwner(ctx, m, reserveSlot{call}, func() (events.Receipt, error) { return m.Market.ReserveSlot(ctx, call) })
}

// FillSlot implements port.Market.
func (m *Market) FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error) {
	return byOwner(ctx, m, fillSlot{call, proof},
		func() (events.Fill, error) { return m.Market.FillSlot(ctx, call, proof) })
}

// SubmitProof implements port.Market.
func (m *Market) SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	return byOwner(ctx, m, submitProof{call, period, proof},
		func() (events.Receipt, error) { return m.Market.SubmitProof(ctx, call, period, proof) })
}

// TakenProofs implements port.Market.
func (m *Market) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	return byOwner(ctx, m, takenProofs{slot, from},
		func() ([]events.TakenProof, error) { return m.Market.TakenProofs(ctx, slot, from) })
}

// FreeSlot implements port.Market.
func (m *Market) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	return byOwner(ctx, m, freeSlot{call},
		func() (events.PayoutReceipt, error) { return m.Market.FreeSlot(ctx, call) })
}

// AnswerMarket adds how the owner answers the questions of a Market.
func AnswerMarket(to Answers, m port.Market) {
	On(to, func(ctx context.Context, q reserveSlot) (events.Receipt, error) { return m.ReserveSlot(ctx, q.Call) })
	On(to, func(ctx context.Context, q fillSlot) (events.Fill, error) { return m.FillSlot(ctx, q.Call, q.Proof) })
	On(to, func(ctx context.Context, q submitProof) (events.Receipt, error) {
		return m.SubmitProof(ctx, q.Call, q.Period, q.Proof)
	})
	On(to, func(ctx context.Context, q takenProofs) ([]events.TakenProof, error) {
		return m.TakenProofs(ctx, q.Slot, q.From)
	})
	On(to, func(ctx context.Context, q freeSlot) (events.PayoutReceipt, error) { return m.FreeSlot(ctx, q.Call) })
}
