package events

import (
	"errors"
	"slices"
)

// This file holds what the pipeline that makes aggregates, its brokers and its sources say to each other. It stands
// here, not beside any of them, because none imports another.

// AggregateOffer is an aggregate that a broker is to find storage for.
type AggregateOffer struct {
	// Aggregate is its piece CID, of version 1.
	Aggregate string
	// Size is padded, a power of two; Pieces is how many it has.
	Size   Bytes
	Pieces int
}

// DealStatus is how a deal about an aggregate stands.
type DealStatus string

// The statuses of a deal.
const (
	DealPending  DealStatus = "PENDING"
	DealSigned   DealStatus = "SIGNED"
	DealApproved DealStatus = "APPROVED"
	DealRejected DealStatus = "REJECTED"
)

// Known reports whether there is such a status.
func (s DealStatus) Known() bool {
	return slices.Contains([]DealStatus{DealPending, DealSigned, DealApproved, DealRejected}, s)
}

// DealReport is what a broker says of an aggregate. It is a claim: nothing of it is believed before it was compared.
type DealReport struct {
	Aggregate string
	Status    DealStatus
	// Deal is how the broker calls the deal; empty: it does not say.
	Deal string
	// Bad are CIDs, of version 1, of the aggregate's pieces because of which it was rejected; none: the broker does not
	// say, or the aggregate is not rejected.
	Bad []string
	// Reason is the broker's, for people.
	Reason string
}

// Errors of brokers.
var (
	// ErrBrokerAway: the broker gave no answer, or none that could be read. It is asked again.
	ErrBrokerAway = errors.New("the broker does not answer")
	// ErrNoBroker: what answers in the place of the broker refuses this host, or is no broker. It says nothing about a
	// deal: it is an ErrBrokerAway, which an operator has to correct.
	ErrNoBroker = errors.New("the broker takes nothing from this host")
	// ErrBrokerLies: what the broker says cannot be.
	ErrBrokerLies = errors.New("the broker says what cannot be")
	// ErrNotOffered: the broker knows no such aggregate, or it was withdrawn.
	ErrNotOffered = errors.New("the broker has no such offer")
	// ErrDealOver: an aggregate that is approved or rejected is not withdrawn.
	ErrDealOver = errors.New("the deal is approved or rejected already")
	// ErrUnsigned: the broker waits for a signature of the account, which this process cannot make.
	ErrUnsigned = errors.New("the deal cannot be signed here")
)

// ContentSource is where the bytes of a CAR are.
type ContentSource struct {
	BucketName   string
	BucketRegion string
	Key          string
	// BucketURL is http:, https: or file:, with the key appended; empty: Key is the whole URL, or a path.
	BucketURL string
}

// ErrSourceAway: a source gives no answer now, or none that is the content. That says nothing about the content.
var ErrSourceAway = errors.New("the source does not answer")

// ErrForbiddenSource: the settings do not let this source be read.
var ErrForbiddenSource = errors.New("this source may not be read")
