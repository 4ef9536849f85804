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

// Contents reads CARs from their sources.
type Contents interface {
	// Examine reads a CAR from a source to its end. *events.ContentRefusal: it is none. events.ErrSourceAway,
	// events.ErrForbiddenSource: nothing is known of it.
	Examine(ctx context.Context, claim events.ContentClaim, from events.ContentSource) (events.ContentFound, error)
	// Open reads it again, from the given byte on. The caller closes it, and compares what it reads.
	Open(ctx context.Context, from events.ContentSource, offset uint64) (io.ReadCloser, error)
}

// Copies keeps bytes of pieces on this host's disk, and in its ledger. Its methods may be called at once, and repeated;
// those about one piece take turns, or fail, so that what is on the disk is what the ledger holds.
type Copies interface {
	// Keep stores the payload of a piece, as a whole or not at all, once the ledger holds its bytes. If it is here,
	// nothing happens. *capacity.SpaceError, events.ErrDiskFull, events.ErrPieceMismatch.
	Keep(ctx context.Context, piece events.SectorPiece, payload io.Reader) error
	// Open reads a payload from its beginning. events.ErrNoSuchPiece.
	Open(ctx context.Context, piece events.SectorPiece) (io.ReadCloser, error)
	// Drop removes it, unless something else needs it, and gives its bytes back. That it is not here is success.
	Drop(ctx context.Context, cid string) error
}
