package events

import (
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	BucketName   string `json:"bucketName,omitempty"`
	BucketRegion string `json:"bucketRegion,omitempty"`
	Key          string `json:"key"`
	// BucketURL is http:, https: or file:, with the key appended; empty: Key is the whole URL, or a path.
	BucketURL string `json:"bucketUrl,omitempty"`
}

// ErrSourceAway: a source gives no answer now, or none that is the content. That says nothing about the content.
var ErrSourceAway = errors.New("the source does not answer")

// ContentRefusal says that bytes are no content that can be stored. It is a verdict, not a failure.
type ContentRefusal struct {
	Code   string // one of a fixed list (docs/aggregation.md)
	Detail string
}

func (r *ContentRefusal) Error() string { return r.Code + ": " + r.Detail }

// ContentClaim is what is said of a CAR before it was read.
type ContentClaim struct {
	Link ContentLink
	Size uint64
	// Piece and PieceSize are those that it should make; empty: nobody says.
	Piece     string
	PieceSize uint64
}

// ContentFound is what a CAR was found to be.
type ContentFound struct {
	Piece      SectorPiece
	Blocks     uint64
	RootAbsent bool // no block of it is its root
}

// ErrForbiddenSource: the settings do not let this source be read.
var ErrForbiddenSource = errors.New("this source may not be read")

// ContentLink is the SHA-256 of a CAR, which its CAR CID has: version 1, codec 0x0202. Its text is that CID: bagbaiera…
type ContentLink [32]byte

var (
	// linkPrefix are the CID's version, its codec, and its hash with its length; numbers are varints.
	linkPrefix = [...]byte{0x01, 0x82, 0x04, 0x12, 0x20}
	linkText   = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

func (l ContentLink) String() string {
	return "b" + linkText.EncodeToString(append(linkPrefix[:], l[:]...))
}

// MarshalText and UnmarshalText are by its text.
func (l ContentLink) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *ContentLink) UnmarshalText(text []byte) (err error) {
	*l, err = ParseContentLink(string(text))
	return err
}

// ParseContentLink reads a CAR CID. Each link has only one text. ErrMalformed.
func ParseContentLink(text string) (l ContentLink, err error) {
	rest, ok := strings.CutPrefix(text, "b")
	b, err := linkText.DecodeString(rest)
	if ok = ok && err == nil && len(b) == len(linkPrefix)+len(l); ok {
		l = ContentLink(b[len(linkPrefix):])
	}
	if !ok || l.String() != text {
		return ContentLink{}, fmt.Errorf(
			"%w: %q is no CID of a CAR: want bagbaiera… (version 1, codec 0x0202, SHA-256)", ErrMalformed, clip(text))
	}
	return l, nil
}

// ListCID is the CID of a list that is stored as DAG-CBOR, from its SHA-256: bafyrei…
func ListCID(digest [32]byte) string {
	return "b" + linkText.EncodeToString(append([]byte{0x01, 0x71, 0x12, 0x20}, digest[:]...))
}
