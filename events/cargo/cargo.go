// Package cargo is the ledger of pieces: which wait, which travel together, in which aggregate each is, and what became
// of it. It is pure; the journal of package actors/aggregation runs it, and one actor is its only writer. Start here.
//
// The rules:
//
//  1. Each piece is in exactly one place: queued, in one live aggregate, approved, or refused. Events only move it.
//  2. A piece has a priority, which counts first inserts from 1 and is kept for ever, so that one that is retried is
//     ahead of what came later. The lower number is first. It also names the piece in events, because it is short.
//  3. The same piece again is the same piece: no second event, the same answer, whatever content brings it.
//  4. Queued pieces may be loaded on ferries, which are merged until one is full: it becomes an aggregate. A ferry is a
//     list, not a piece: merging flattens, and no commitment is computed before the last list is there.
//  5. A list is named by its CID, in the order in which its pieces are placed: the largest first. A list of many parts
//     is void without the last one. No list is made into an aggregate twice.
//  6. A rejected aggregate gives its good pieces back. If nobody says which are bad, all are given back with one
//     attempt more, placed in another order; after the last attempt each half is tried alone, then its halves, until
//     single pieces are refused. What is refused is never queued again.
//  7. The copy of a piece's bytes is released once it is approved or refused, and so are the proofs of what was
//     rejected.
//
// pieces.go has how many pieces are kept, evolve.go the fold, packers.go which pieces travel together, outlook.go what
// a client wants to know: since when, for what, and until when a piece waits.
package cargo

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// Event is what the ledger records.
type Event = messages.CargoEvent

// MaxPart is how many pieces an event lists at most, so that it has at most 256 KiB.
const MaxPart = 12_000

// Errors of commands.
var (
	// ErrPiece: no piece can be so.
	ErrPiece = errors.New("no piece can be so")
	// ErrTooLarge: the piece is larger than half of an aggregate.
	ErrTooLarge = errors.New("the piece is larger than half of an aggregate")
	// ErrOtherPayload: the piece is known with another payload or size.
	ErrOtherPayload = errors.New("the piece is known with another size")
	// ErrStale: the command is about a state that is over. Nothing happened.
	ErrStale = errors.New("the pieces are somewhere else now")
	// ErrUnknownPiece: there is no such piece.
	ErrUnknownPiece = errors.New("no such piece was taken in")
	// ErrNoProof: the piece is in no aggregate.
	ErrNoProof = errors.New("there is no proof, because the piece is in no aggregate")
	// ErrUnknown: there is no such aggregate.
	ErrUnknown = errors.New("there is no such aggregate")
)

// Commands.
type (
	// Command is one of those below.
	Command interface{ given() time.Time }
	// Queue takes a piece in. ErrPiece, ErrTooLarge, ErrOtherPayload.
	Queue struct {
		At            time.Time
		Root          commd.Node
		Size, Payload uint64
		Content       events.ContentLink
		Group         string
		Kept          bool   // a copy of its bytes is kept here
		Largest       uint64 // that the settings take, padded; 0: any
	}
	// Set says how pieces are packed from now on. ErrPacking.
	Set struct {
		At      time.Time
		Packing Packing
	}
	// Load has a part of a list of queued pieces travel together. ErrStale.
	Load struct {
		At             time.Time
		Ferry          string // the CID of the whole list
		Class          uint64
		Pieces         []uint64
		Part, Parts    uint32
		Full, Isolated bool
	}
	// Merge has ferries travel together. ErrStale.
	Merge struct {
		At   time.Time
		From []string
		Full uint64 // the class of an aggregate
	}
	// Make says what a full ferry became. ErrStale.
	Make struct {
		At                       time.Time
		Ferry, Aggregate, Proofs string
		ProofsSize               uint64
	}
	// Approve says that an aggregate is stored. ErrUnknown.
	Approve struct {
		At        time.Time
		Aggregate string
	}
	// Reject says that it is not, with a part of the list of bad pieces; Parts 0: there is no list. ErrUnknown.
	Reject struct {
		At          time.Time
		Aggregate   string
		Bad         []uint64
		Reason      string
		Part, Parts uint32
		Attempts    uint8 // after so many without a list, pieces are isolated
	}
	// Refuse says that a queued piece never gets into an aggregate.
	Refuse struct {
		At       time.Time
		Priority uint64
		Reason   string
	}
	// Release says that files are gone.
	Release struct {
		At     time.Time
		Pieces []uint64
		Proofs []string // the aggregates whose they were
	}
)

func (c Queue) given() time.Time   { return c.At }
func (c Set) given() time.Time     { return c.At }
func (c Load) given() time.Time    { return c.At }
func (c Merge) given() time.Time   { return c.At }
func (c Make) given() time.Time    { return c.At }
func (c Approve) given() time.Time { return c.At }
func (c Reject) given() time.Time  { return c.At }
func (c Refuse) given() time.Time  { return c.At }
func (c Release) given() time.Time { return c.At }

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
	case Queue:
		return queue(s, c)
	case Set:
		if err := c.Packing.Check(); err != nil || s.Packing == c.Packing {
			return nil, err
		}
		return c.Packing.message(), nil
	case Load:
		return load(s, c)
	case Merge:
		return merge(s, c)
	case Make:
		return makeAggregate(s, c)
	case Approve:
		f, err := s.offered(c.Aggregate)
		if err != nil || f.State == Stored {
			return nil, err
		}
		return &messages.AggregateApproved{Aggregate: c.Aggregate}, nil
	case Reject:
		return reject(s, c)
	case Refuse:
		if p, known := s.Piece(c.Priority); !known || p.Status != Queued {
			return nil, nil
		}
		return &messages.PieceRefused{Priority: c.Priority, Reason: events.Clip(c.Reason, maxReason)}, nil
	case Release:
		return release(s, c)
	}
	panic(fmt.Sprintf("cargo: unknown command %T", c))
}

// maxReason limits what is recorded of a reason, in bytes.
const maxReason = 2000

func queue(s State, c Queue) (Event, error) {
	piece := commd.CID(c.Root)
	smallest, err := commd.PieceSize(c.Payload)
	if err == nil {
		err = commd.CheckPieceSize(c.Size)
	}
	switch {
	case err != nil || smallest > c.Size:
		return nil, fmt.Errorf("%w: %s with %d bytes, padded to %d", ErrPiece, piece, c.Payload, c.Size)
	case c.Largest > 0 && c.Size > c.Largest:
		return nil, fmt.Errorf("%w: %s has %d bytes; the most is %d", ErrTooLarge, piece, c.Size, c.Largest)
	}
	if priority, known := s.Find(c.Root); known {
		if p, _ := s.Piece(priority); p.Size() != c.Size {
			return nil, fmt.Errorf("%w: %s has %d bytes, not %d", ErrOtherPayload, piece, p.Size(), c.Size)
		}
		return nil, nil
	}
	if !slices.Contains(s.names, c.Group) && len(s.names) > math.MaxUint16 {
		return nil, fmt.Errorf("%w: %q would be one more of %d groups", ErrPiece, c.Group, len(s.names))
	}
	return &messages.PieceQueued{
		Priority: s.Pieces() + 1, Piece: piece, Size: c.Size, Payload: c.Payload, Content: c.Content.String(),
		Group: c.Group, Kept: c.Kept,
	}, nil
}

func load(s State, c Load) (Event, error) {
	if f := s.ferryOf(c.Ferry); f != nil {
		if f.State == Rejected {
			return nil, fmt.Errorf("%w: this list was rejected", ErrStale)
		}
		return nil, nil
	}
	switch {
	case c.Part == 0 || c.Part > c.Parts || len(c.Pieces) == 0 || len(c.Pieces) > MaxPart:
		return nil, fmt.Errorf("%w: part %d of %d, with %d pieces", ErrPiece, c.Part, c.Parts, len(c.Pieces))
	case !s.loading.ready(c.Ferry, c.Part, c.Parts):
		return nil, fmt.Errorf("%w: part %d does not continue a list", ErrStale, c.Part)
	}
	all := s.loading.with(c.Ferry, c.Pieces, c.Part, c.Parts).Pieces
	if err := s.canTravel(all, c.Class, c.Isolated); err != nil {
		return nil, err
	}
	if c.Part == c.Parts && s.ListID(all) != c.Ferry {
		return nil, fmt.Errorf("%w: the list is not %s", ErrStale, c.Ferry)
	}
	return &messages.FerryLoaded{
		Ferry: c.Ferry, Class: c.Class, Pieces: c.Pieces, Part: c.Part, Parts: c.Parts, Full: c.Full,
		Isolated: c.Isolated,
	}, nil
}

// canTravel reports whether these pieces are queued, and fit, in their order, into a class.
func (s State) canTravel(pieces []uint64, class uint64, isolated bool) error {
	seen, sum, last := make(map[uint64]bool, len(pieces)), uint64(0), uint64(commd.MaxSectorSize)
	for _, priority := range pieces {
		p, known := s.Piece(priority)
		if !known || p.Status != Queued || p.Suspected() != isolated || seen[priority] || p.Size() > last {
			return fmt.Errorf("%w: piece %d", ErrStale, priority)
		}
		seen[priority], last = true, p.Size()
		sum += p.Size()
	}
	if !Fits(class, sum, len(pieces)) {
		return fmt.Errorf("%w: %d pieces of %d bytes do not fit into %d", ErrPiece, len(pieces), sum, class)
	}
	return nil
}

func merge(s State, c Merge) (Event, error) {
	var all []uint64
	sum := uint64(0)
	for i, id := range c.From {
		f := s.ferryOf(id)
		if f == nil || f.State != Loaded || f.Full || slices.Contains(c.From[:i], id) {
			return nil, fmt.Errorf("%w: ferry %s", ErrStale, id)
		}
		all, sum = append(all, f.Pieces...), sum+f.Bytes
	}
	all, id := s.unused(all)
	class := classOf(sum, len(all), c.Full)
	if len(c.From) < 2 || class == 0 || all == nil {
		return nil, fmt.Errorf("%w: %d ferries with %d bytes cannot be merged", ErrPiece, len(c.From), sum)
	}
	return &messages.FerriesMerged{
		Ferry: id, Class: class, From: slices.Clone(c.From), Full: class == c.Full,
	}, nil
}

func makeAggregate(s State, c Make) (Event, error) {
	switch f := s.ferryOf(c.Ferry); {
	case f == nil || !f.Full:
		return nil, fmt.Errorf("%w: ferry %s", ErrStale, c.Ferry)
	case f.State != Loaded && f.Aggregate == c.Aggregate:
		return nil, nil
	case f.State != Loaded:
		return nil, fmt.Errorf("%w: ferry %s is %s already", ErrStale, c.Ferry, f.Aggregate)
	}
	return &messages.AggregateMade{
		Ferry: c.Ferry, Aggregate: c.Aggregate, Proofs: c.Proofs, ProofsSize: c.ProofsSize,
	}, nil
}

// offered is an aggregate that was made and is not rejected.
func (s State) offered(aggregate string) (*Ferry, error) {
	f := s.Aggregate(aggregate)
	if f == nil || f.State == Rejected {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, aggregate)
	}
	return f, nil
}

func reject(s State, c Reject) (Event, error) {
	f := s.Aggregate(c.Aggregate)
	switch {
	case f == nil:
		return nil, fmt.Errorf("%w: %s", ErrUnknown, c.Aggregate)
	case f.State == Rejected:
		return nil, nil
	case f.State == Stored:
		return nil, fmt.Errorf("%w: %s is approved", ErrStale, c.Aggregate)
	}
	switch lists := c.Parts > 0; {
	case lists != (len(c.Bad) > 0) || c.Part > c.Parts || lists && c.Part == 0 || len(c.Bad) > MaxPart:
		return nil, fmt.Errorf("%w: part %d of %d, with %d pieces", ErrPiece, c.Part, c.Parts, len(c.Bad))
	case !s.rejecting.ready(f.ID, c.Part, c.Parts):
		return nil, fmt.Errorf("%w: part %d does not continue a list", ErrStale, c.Part)
	}
	for _, priority := range c.Bad {
		if p, known := s.Piece(priority); !known || p.ferry != f.Number {
			return nil, fmt.Errorf("%w: piece %d is not in %s", ErrStale, priority, c.Aggregate)
		}
	}
	return &messages.AggregateRejected{
		Aggregate: c.Aggregate, Bad: c.Bad, Reason: events.Clip(c.Reason, maxReason), Part: c.Part, Parts: c.Parts,
		Isolate: c.Parts == 0 && (f.Isolated || f.Attempt+1 >= c.Attempts || !s.canRetry(f)),
	}, nil
}

// canRetry reports whether the pieces of a ferry can travel once more as another list.
func (s State) canRetry(f *Ferry) bool {
	return s.ferryOf(s.ListID(s.placed(f.Pieces, f.Attempt+1))) == nil
}

func release(s State, c Release) (Event, error) {
	pieces := slices.DeleteFunc(sorted(c.Pieces), func(priority uint64) bool {
		_, held := s.releasable[priority]
		return !held
	})
	proofs := slices.DeleteFunc(sorted(c.Proofs), func(cid string) bool { return !s.Aggregate(cid).leavesProofs() })
	if len(pieces)+len(proofs) == 0 {
		return nil, nil
	}
	return &messages.CopiesReleased{Pieces: pieces, Proofs: proofs}, nil
}

// sorted are values in order, each once.
func sorted[T cmp.Ordered](all []T) []T { return slices.Compact(slices.Sorted(slices.Values(all))) }

// Place puts pieces into the order in which they are placed: the largest first, so that each is at a multiple of its
// size and no byte is wasted, and those of one size by their priority. After each attempt those of one size begin with
// another one, so that the list is another one, and so the aggregate.
func (s State) Place(pieces []uint64) []uint64 {
	attempt := uint8(0)
	for _, priority := range pieces {
		p, _ := s.Piece(priority)
		attempt = max(attempt, p.Attempts)
	}
	return s.placed(pieces, attempt)
}

func (s State) placed(pieces []uint64, attempt uint8) []uint64 {
	sizes := map[uint64][]uint64{}
	for _, priority := range pieces {
		p, _ := s.Piece(priority)
		sizes[p.Size()] = append(sizes[p.Size()], priority)
	}
	all := make([]uint64, 0, len(pieces))
	for _, size := range slices.Backward(slices.Sorted(maps.Keys(sizes))) {
		run := sizes[size]
		slices.Sort(run)
		first := int(attempt) % len(run)
		all = append(append(all, run[first:]...), run[:first]...)
	}
	return all
}

// ListID is the CID of a list of pieces: of the DAG-CBOR array of links to them.
func (s State) ListID(pieces []uint64) string {
	const array = 4 << 5
	h := sha256.New()
	h.Write(segment.AppendHead(nil, array, uint64(len(pieces))))
	for _, priority := range pieces {
		p, _ := s.Piece(priority)
		cid := commd.BinaryCID(p.Root)
		h.Write([]byte{0xd8, 0x2a, 0x58, byte(1 + len(cid)), 0})
		h.Write(cid)
	}
	return events.ListCID([32]byte(h.Sum(nil)))
}
