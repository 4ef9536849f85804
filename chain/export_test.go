package chain

import (
	"context"
	"errors"

	"github.com/hostnode/hostnode/events"
)

// Looked says whether all that follows from a block was done for the transactions under
// way; also when there are none, or the market is closed.
func (m *Market) Looked(ctx context.Context, block events.Hash) bool {
	looked, err := ask(ctx, m.tx, func(context.Context) bool {
		return !m.tx.busy() || m.tx.seen == [32]byte(block)
	})
	return err != nil || looked
}

// Compact rewrites the outbox, as it is when it has grown large.
func (m *Market) Compact(ctx context.Context) error {
	failed, err := ask(ctx, m.tx, func(context.Context) error { return m.outbox.compact(m.tx.book.needed()) })
	return errors.Join(failed, err)
}

// RequestIDOf is the id that the contract gives a request (spec/marketplace.md §1.3).
func RequestIDOf(r events.Request) (events.RequestID, error) {
	return requestID(newABIs(), requestTo(r))
}
