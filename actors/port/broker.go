package port

import (
	"context"
	"io"

	"github.com/hostnode/hostnode/events"
)

// Broker finds storage for aggregates. Its methods may be called at once, and repeated: a broker knows an offer by its
// aggregate. What it says is a claim, which the caller compares with what is possible.
type Broker interface {
	// Offer offers an aggregate, and answers how the deal stands then. events.ErrBrokerAway.
	Offer(ctx context.Context, offer events.AggregateOffer) (events.DealReport, error)
	// State is how the deal about an offered aggregate stands. A broker that waits for the account's signature gets it
	// here. events.ErrBrokerAway, events.ErrNotOffered, events.ErrUnsigned.
	State(ctx context.Context, aggregate string) (events.DealReport, error)
	// Withdraw takes an offer back that is neither approved nor rejected. An offer that is not there is success.
	// events.ErrBrokerAway.
	Withdraw(ctx context.Context, aggregate string) error
}

// ContentSources read the bytes of CARs from where they are.
type ContentSources interface {
	// Open reads from a source, from the given byte on. Errors are temporary (events.ErrSourceAway) or of the source's
	// name (events.ErrMalformed, events.ErrForbiddenSource). The caller closes it.
	Open(ctx context.Context, from events.ContentSource, offset uint64) (io.ReadCloser, error)
}
