// Package content is the life of one CAR that is to be stored: from the request to consume it to the piece that its
// bytes make, or to its refusal. It is pure; package actors/aggregation runs it.
//
//	none → Requested → Accepted | Refused
//	                ↖ ContentRetried, by a person ↙
//
// A CAR is named by the SHA-256 of its bytes, so the same request again brings no second event, and one that names
// another source only adds that. What was refused stays so, whatever asks for it again, unless a person has it read
// once more; so does a piece, which is replaced if its bytes make another one then.
package content

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// Event is what is recorded of a CAR.
type Event = messages.ContentEvent

// Status is how far it is.
type Status string

// The statuses.
const (
	None      Status = ""
	Requested Status = "requested"
	Accepted  Status = "accepted"
	Refused   Status = "refused"
)

// Piece is what a CAR makes.
type Piece struct {
	CID  string // of version 1
	Size uint64 // padded
}

// made is an event that names what a CAR makes.
type made interface {
	GetPiece() string
	GetPieceSize() uint64
}

func pieceOf(e made) Piece { return Piece{e.GetPiece(), e.GetPieceSize()} }

// State is one CAR.
type State struct {
	Status  Status
	Since   time.Time // of the status
	At      time.Time // of the request
	Size    uint64    // its bytes
	Group   string
	Claim   Piece                  // what it is claimed to be; zero: nobody says
	Sources []events.ContentSource // the newest first
	// Piece is what it makes; it stays while it is read once more.
	Piece      Piece
	Blocks     uint64
	RootAbsent bool
	Kept       bool   // a copy of its bytes is here
	Replaced   string // the CID of the piece that it was taken for before; empty: there is none
	// Code and Detail say why it is refused.
	Code, Detail string
	Retries      int
}

// Limits of a request.
const (
	// MaxSources is how many sources are known of a CAR; further ones are not taken.
	MaxSources = 16
	// MaxText limits each text of a request, in bytes.
	MaxText = 2000
	// MaxGroup limits the name of a group, in bytes.
	MaxGroup = 100
)

// Errors of requests.
var (
	// ErrRequest: the request cannot be one of a CAR.
	ErrRequest = errors.New("no request for a CAR")
	// ErrOtherSize: a CAR with this CID has another size.
	ErrOtherSize = errors.New("this CAR was requested with another size")
	// ErrUnknown: it was never requested.
	ErrUnknown = errors.New("this CAR was never requested")
)

// Commands.
type (
	// Command is one of those below.
	Command interface{ given() time.Time }
	// Request wants a CAR stored. ErrRequest, ErrOtherSize.
	Request struct {
		At     time.Time
		Size   uint64
		Source events.ContentSource
		Group  string
		Claim  Piece
	}
	// Accept says that it was read, and what it makes.
	Accept struct {
		At         time.Time
		Piece      Piece
		Blocks     uint64
		RootAbsent bool
		Kept       bool
	}
	// Refuse says that it was read, and is none.
	Refuse struct {
		At           time.Time
		Code, Detail string
	}
	// Retry has it read once more. ErrUnknown.
	Retry struct {
		At         time.Time
		By, Reason string
	}
)

func (c Request) given() time.Time { return c.At }
func (c Accept) given() time.Time  { return c.At }
func (c Refuse) given() time.Time  { return c.At }
func (c Retry) given() time.Time   { return c.At }

// Decide returns the events that follow from c; none when it changes nothing. It does not change s.
func Decide(s State, c Command) ([]Event, error) {
	e, err := decide(s, c)
	if e == nil || err != nil {
		return nil, err
	}
	return events.Stamp([]Event{e}, c.given()), nil
}

func decide(s State, c Command) (Event, error) {
	switch c := c.(type) {
	case Request:
		return request(s, c)
	case Accept:
		if s.Status == Requested {
			return &messages.ContentAccepted{
				Piece: c.Piece.CID, PieceSize: c.Piece.Size, Blocks: c.Blocks, RootAbsent: c.RootAbsent,
				Kept: c.Kept,
			}, nil
		}
	case Refuse:
		if s.Status == Requested {
			return &messages.ContentRefused{Code: c.Code, Detail: events.Clip(c.Detail, MaxText)}, nil
		}
	case Retry:
		switch s.Status {
		case None:
			return nil, ErrUnknown
		case Requested:
		case Accepted, Refused:
			return &messages.ContentRetried{By: events.Clip(c.By, MaxText), Reason: events.Clip(c.Reason, MaxText)}, nil
		}
	}
	return nil, nil
}

func request(s State, c Request) (Event, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	switch source := sourceMessage(c.Source); {
	case s.Status == None:
		return &messages.ContentRequested{
			Size: c.Size, Source: source, Group: c.Group, Piece: c.Claim.CID, PieceSize: c.Claim.Size,
		}, nil
	case s.Size != c.Size:
		return nil, fmt.Errorf("%w: %d bytes, not %d", ErrOtherSize, s.Size, c.Size)
	case s.Status == Refused || slices.Contains(s.Sources, c.Source) || len(s.Sources) >= MaxSources:
		return nil, nil
	default:
		return &messages.ContentSourceAdded{Source: source}, nil
	}
}

func (c Request) check() error {
	for _, text := range []string{c.Source.BucketName, c.Source.BucketRegion, c.Source.BucketURL, c.Source.Key} {
		if len(text) > MaxText {
			return fmt.Errorf("%w: a text of its source has %d bytes; the most is %d", ErrRequest, len(text), MaxText)
		}
	}
	switch {
	case c.Size == 0:
		return fmt.Errorf("%w: size is 0, and no CAR has no bytes", ErrRequest)
	case c.Source.Key == "":
		return fmt.Errorf("%w: key is empty; it says where the bytes are", ErrRequest)
	case len(c.Group) > MaxGroup || strings.ContainsFunc(c.Group, func(r rune) bool { return r < ' ' }):
		return fmt.Errorf("%w: the name of a group has at most %d bytes in one line", ErrRequest, MaxGroup)
	case c.Claim != Piece{}:
		return c.Claim.check()
	}
	return nil
}

func (p Piece) check() error {
	_, err := commd.ParseCID(p.CID)
	if err == nil {
		err = commd.CheckPieceSize(p.Size)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// Evolve folds the next event. It changes what s refers to.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.ContentRequested:
		s = State{
			Status: Requested, At: e.GetAt().AsTime(), Size: e.GetSize(), Group: e.GetGroup(),
			Claim: pieceOf(e), Sources: []events.ContentSource{SourceOf(e.GetSource())},
		}
		s.Since = s.At
	case *messages.ContentSourceAdded:
		s.Sources = append([]events.ContentSource{SourceOf(e.GetSource())}, s.Sources...)
	case *messages.ContentAccepted:
		if before := s.Piece.CID; before != e.GetPiece() {
			s.Replaced = before
		}
		s.Status, s.Since, s.Piece = Accepted, e.GetAt().AsTime(), pieceOf(e)
		s.Blocks, s.RootAbsent, s.Kept = e.GetBlocks(), e.GetRootAbsent(), e.GetKept()
	case *messages.ContentRefused:
		s.Status, s.Since, s.Code, s.Detail = Refused, e.GetAt().AsTime(), e.GetCode(), e.GetDetail()
	case *messages.ContentRetried:
		s.Status, s.Since, s.Code, s.Detail = Requested, e.GetAt().AsTime(), "", ""
		s.Claim = Piece{} // Its bytes say what it makes; a wrong claim would refuse it for ever.
		s.Retries++
	}
	return s
}

func sourceMessage(s events.ContentSource) *messages.ContentSource {
	return &messages.ContentSource{
		BucketName: s.BucketName, BucketRegion: s.BucketRegion, Key: s.Key, BucketUrl: s.BucketURL,
	}
}

// SourceOf is the source that a message names.
func SourceOf(m *messages.ContentSource) events.ContentSource {
	return events.ContentSource{
		BucketName: m.GetBucketName(), BucketRegion: m.GetBucketRegion(), Key: m.GetKey(), BucketURL: m.GetBucketUrl(),
	}
}

// Asked is the command that an event follows from, after the state s, for whatever judges the record.
func Asked(s State, e Event) Command {
	switch e := e.(type) {
	case *messages.ContentRequested:
		return Request{e.GetAt().AsTime(), e.GetSize(), SourceOf(e.GetSource()), e.GetGroup(), pieceOf(e)}
	case *messages.ContentAccepted:
		return Accept{e.GetAt().AsTime(), pieceOf(e), e.GetBlocks(), e.GetRootAbsent(), e.GetKept()}
	case *messages.ContentRefused:
		return Refuse{e.GetAt().AsTime(), e.GetCode(), e.GetDetail()}
	case *messages.ContentRetried:
		return Retry{e.GetAt().AsTime(), e.GetBy(), e.GetReason()}
	case *messages.ContentSourceAdded: // Of the same CAR.
		return Request{At: e.GetAt().AsTime(), Size: s.Size, Source: SourceOf(e.GetSource()), Group: s.Group}
	}
	return nil
}
