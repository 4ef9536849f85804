package port

import (
	"context"
	"io"

	"github.com/hostnode/hostnode/events"
)

// Broker finds storage for aggregates. Its methods may be called at once, and repeated: a broker knows an offer by its
// aggregate. What it says is a claim, of which only the form was checked: it is about this aggregate, its status is
// known, and its texts have a limit and their form; otherwise the error is events.ErrBrokerLies. The caller compares it
// with the rest: which pieces there are, and what the broker said before.
//
// All methods may give events.ErrBrokerAway, some of which are events.ErrNoBroker too.
type Broker interface {
	// Offer offers an aggregate, and answers how the deal stands then. An offer that was withdrawn can be made again.
	Offer(ctx context.Context, offer events.AggregateOffer) (events.DealReport, error)
	// State is how the deal about an offered aggregate stands. A broker that waits for the account's signature gets it
	// here, for this offer and no other. events.ErrNotOffered, events.ErrUnsigned.
	State(ctx context.Context, offer events.AggregateOffer) (events.DealReport, error)
	// Withdraw takes an offer back. One that is not there is success, and one that is approved or rejected
	// events.ErrDealOver.
	Withdraw(ctx context.Context, aggregate string) error
}

// ContentSources read the bytes of CARs from where they are.
type ContentSources interface {
	// Open reads from a source, from the given byte on. Errors are temporary (events.ErrSourceAway) or of the source's
	// name (events.ErrMalformed, events.ErrForbiddenSource). The caller closes it.
	Open(ctx context.Context, from events.ContentSource, offset uint64) (io.ReadCloser, error)
}
