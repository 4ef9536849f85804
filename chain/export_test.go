package chain

import (
	"context"

	"github.com/hostnode/hostnode/events"
)

// Looked says whether all that follows from a block was done for the transactions under
// way; also when there are none, or the market is closed.
func (m *Market) Looked(ctx context.Context, block events.Hash) bool {
	looked := make(chan bool, 1)
	err := m.tx.do(ctx, func(context.Context) { looked <- !m.tx.busy() || m.tx.seen == [32]byte(block) })
	return err != nil || <-looked
}

// Compact rewrites the outbox, as it is when it has grown large.
func (m *Market) Compact(ctx context.Context) error {
	done := make(chan error, 1)
	err := m.tx.do(ctx, func(context.Context) { done <- m.outbox.compact(m.tx.book.needed()) })
	if err != nil {
		return err
	}
	return <-done
}

// RequestIDOf is the id that the contract gives a request (spec/marketplace.md §1.3).
func RequestIDOf(r events.Request) (events.RequestID, error) {
	return requestID(newABIs(), requestTo(r))
}
