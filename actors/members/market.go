package members

import (
	"context"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Market is the contract as a member sees it: it reads by itself, and asks the owner to send
// transactions. Safe for concurrent use.
type Market struct {
	port.Market // reads, and sends while this member is the owner
	route       Route

	mu        sync.Mutex
	deadlines map[dueProof]proofTimes
}

// Route is how a member reaches the owner.
type Route struct {
	Cluster port.Cluster
	Owner   func() (events.Member, bool) // who has the term, if any member has
	// Account sends proofs that are due while the owner does not answer. May be nil: the member
	// has no key.
	Account port.Account
	// HandOver hands a proof over to the owner, who cannot be asked, through the event store. May be nil.
	HandOver func(context.Context, Ready) error
	Clock    shell.Clock
	Now      func() time.Time // chain time
	// Before is chainview.View.Before.
	Before func(context.Context, time.Time, error) (context.Context, context.CancelFunc)
}

// NewMarket returns the market of a member.
func NewMarket(local port.Market, r Route) *Market {
	return &Market{Market: local, route: r, deadlines: map[dueProof]proofTimes{}}
}

// Unwrap is the market that this one is in front of, for its additional interfaces.
func (m *Market) Unwrap() port.Market { return m.Market }

// byOwner has the owner do something: here, if this member is the owner.
func byOwner[A any](ctx context.Context, m *Market, q Question[A], here func() (A, error)) (none A, err error) {
	owner, known := m.route.Owner()
	switch {
	case !known:
		return none, events.ErrNoOwner
	case owner == m.route.Cluster.Member():
		return here()
	}
	return Ask(ctx, m.route.Cluster, owner, q)
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

// FreeSlot implements port.Market.
func (m *Market) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	return byOwner(ctx, m, freeSlot{call},
		func() (events.PayoutReceipt, error) { return m.Market.FreeSlot(ctx, call) })
}

// Answer adds how this member answers the questions of other members' Markets: as the owner, and as one
// that passes a proof on to the owner.
func (m *Market) Answer(to Answers) {
	own := m.Market
	On(to, func(ctx context.Context, q reserveSlot) (events.Receipt, error) { return own.ReserveSlot(ctx, q.Call) })
	On(to, func(ctx context.Context, q fillSlot) (events.Fill, error) { return own.FillSlot(ctx, q.Call, q.Proof) })
	On(to, func(ctx context.Context, q submitProof) (events.Receipt, error) {
		return own.SubmitProof(ctx, q.Call, q.Period, q.Proof)
	})
	On(to, func(ctx context.Context, q passOnProof) (events.Receipt, error) {
		return m.submitByOwner(ctx, submitProof(q))
	})
	On(to, func(ctx context.Context, q takenProofs) ([]events.TakenProof, error) {
		return own.TakenProofs(ctx, q.Slot, q.From)
	})
	On(to, func(ctx context.Context, q freeSlot) (events.PayoutReceipt, error) { return own.FreeSlot(ctx, q.Call) })
}
