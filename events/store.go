package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Store is an event store: named streams of events, each with gapless
// revisions from 0, and one global order over all of them.
//
// Its rules are EventStoreDB's (spec/eventstore.md §3), so that one
// implementation can replace another; all of them pass the suite in storetest.
// All methods are safe for concurrent use and return when their context ends.
type Store interface {
	// Append writes events to a stream, all or none, and returns when they are
	// durable. With expected = cur the current last revision:
	//
	//  - Exact or NoStream equal to cur: written, whatever the ids.
	//  - Exact or NoStream below cur: when the ids equal those of the events at
	//    expected+1 and following, nothing is written and the original result
	//    is returned; otherwise a *WrongRevisionError. This holds for ever,
	//    also across restarts, so an append whose answer was lost is repeated
	//    with the same ids and the same expectation.
	//  - Exact above cur: a *WrongRevisionError.
	//  - Any: written, unless all ids were written recently to this stream
	//    (then the original result), or only a first part of them (then a
	//    *WrongRevisionError). Recently is bounded, so Any is not safe to
	//    repeat after a restart.
	//  - StreamExists: as Any, but a *WrongRevisionError when the stream has
	//    neither events nor metadata, and ErrStreamDeleted when it is deleted.
	//
	// To NoStream, a deleted stream is empty; its numbering goes on. It becomes
	// readable again by an append, by setting its metadata, or by an append
	// without events that expects Any or the last revision. The store then sets
	// $tb (StreamMetadata.TruncateBefore) to after the old events, which stay
	// hidden. Appending the deleted events once more is a repeat, and changes
	// nothing. A tombstoned stream takes no append (ErrStreamDeleted), nor does
	// its metadata stream if it was empty before. With no events, only the
	// expectation is checked; NoStream then holds for a deleted stream, too.
	// Errors other than *WrongRevisionError: ErrTooLarge, ErrMalformed,
	// ErrReadOnly, ErrAway, ErrClosed, ErrStoreFailed, and ctx's error.
	//
	// The metadata of a stream (StreamMetadata) is set by appending to its
	// MetadataStream, and is in force from that append on.
	Append(ctx context.Context, stream string, expected Expected, batch []NewEvent) (AppendResult, error)

	// ReadStream yields the events of one stream in the given direction, starting
	// at a revision (inclusive). It yields ErrStreamNotFound when the stream has
	// no events or is deleted, and ErrStreamDeleted when it is tombstoned, or
	// holds the metadata of a tombstoned stream. It yields nothing when it starts
	// after the end, or when metadata hides all events. The sequence ends after
	// the first error. Limit 0 means no limit.
	//
	// A virtual stream (system.go) yields the events that it links to, each with
	// its Link. For an event that cannot be read in its own stream it yields the
	// link alone (Recorded.Gone). ReadStream.From is then a revision of the link.
	ReadStream(ctx context.Context, stream string, q ReadStream) iter.Seq2[Recorded, error]

	// ReadAll yields the events of all streams in global order, starting after a
	// position (exclusive; 0, or the position of an event), up to the last
	// durable one when the read gets there. Limit 0 means no limit. It also
	// yields what metadata hides from ReadStream, and the events of the system's
	// own streams (IsSystem), which a fold must skip.
	ReadAll(ctx context.Context, after Position, limit int) iter.Seq2[Recorded, error]

	// ReadBack is ReadAll in reverse order, of the events before a position
	// (exclusive). EndPosition is after the last event.
	ReadBack(ctx context.Context, before Position, limit int) iter.Seq2[Recorded, error]

	// Subscribe yields the events of all streams after a position (exclusive)
	// for ever: first those that exist, then new ones as they become durable.
	// It ends with ctx's error, ErrClosed or ErrStoreFailed. A slow consumer
	// delays nobody: it reads on from its own position.
	Subscribe(ctx context.Context, after Position) iter.Seq2[Recorded, error]

	// Wait returns when there is a durable event after a position, or at once
	// if there is one already. Errors are those of Subscribe.
	Wait(ctx context.Context, after Position) error

	// Delete deletes a stream if it is where expected says. Its events stay in
	// ReadAll. Softly (forever is false), ReadStream does not find the stream
	// until something is appended; its metadata shows that
	// (StreamMetadata.Deleted), and it may be repeated. For ever, a tombstone (an
	// event of type TypeTombstone) ends the stream. Delete returns the position of
	// what it wrote. Errors are those of Append. To delete softly what has neither
	// events nor metadata is a *WrongRevisionError, whatever is expected.
	Delete(ctx context.Context, stream string, expected Expected, forever bool) (Position, error)

	// Head is the position of the last durable event, 0 when there is none.
	Head(ctx context.Context) (Position, error)

	// Close ends all reads and subscriptions with ErrClosed and releases the
	// files. It may be called more than once.
	Close() error
}

// Watchful is a store that notices itself when its server goes away, and when it is back.
type Watchful interface {
	// Away reports whether the server does not answer, since when, and why.
	Away() (since time.Time, reason string, away bool)
	// Changed is closed when that changes. Take it before calling Away, and a new one each time.
	Changed() <-chan struct{}
}

// Inner returns an additional interface of a store, or of one that it is in front of.
func Inner[T any](s Store) (T, bool) {
	t, ok := s.(T)
	if front, is := s.(interface{ Unwrap() Store }); is && !ok {
		return Inner[T](front.Unwrap())
	}
	return t, ok
}

// Position is the place of an event in the global order. Positions increase;
// our own stores number 1, 2, 3 ..., EventStoreDB counts the bytes of its log.
type Position uint64

// EndPosition is the position after the last event, for ReadBack.
const EndPosition = ^Position(0)

// ReadStream says which part of a stream to read.
type ReadStream struct {
	// From is the first revision, inclusive. Reading backward, End and every
	// revision after the last event stand for the last event.
	From uint64
	// Backward reads towards revision 0.
	Backward bool
	// Limit is the most events to yield; 0 means all.
	Limit int
}

// End means, as ReadStream.From, to read backward from the last event.
const End = ^uint64(0)

// Expected is the revision at which a writer believes the stream to be. The
// zero value is Any.
type Expected struct {
	kind     expectedKind
	revision uint64
}

type expectedKind uint8

const (
	expectAny expectedKind = iota
	expectNoStream
	expectExact
	expectExists
)

// Any expects nothing.
func Any() Expected { return Expected{} }

// NoStream expects that nothing was ever written to the stream.
func NoStream() Expected { return Expected{kind: expectNoStream} }

// StreamExists expects that the stream has events or metadata and is not
// deleted.
func StreamExists() Expected { return Expected{kind: expectExists} }

// Exact expects the last event of the stream to have this revision.
func Exact(revision uint64) Expected { return Expected{expectExact, revision} }

// ExpectNext expects a stream that holds exactly n events: NoStream for 0,
// otherwise Exact(n-1).
func ExpectNext(n uint64) Expected {
	if n == 0 {
		return NoStream()
	}
	return Exact(n - 1)
}

// IsAny reports whether the writer expects nothing.
func (e Expected) IsAny() bool { return e.kind == expectAny }

// IsExists reports whether the writer expects only that the stream exists.
func (e Expected) IsExists() bool { return e.kind == expectExists }

// Count is the number of events that the writer believes the stream to hold;
// false for Any and StreamExists.
func (e Expected) Count() (uint64, bool) {
	switch e.kind {
	case expectNoStream:
		return 0, true
	case expectExact:
		return e.revision + 1, true
	case expectAny, expectExists:
	}
	return 0, false
}

func (e Expected) String() string {
	switch e.kind {
	case expectNoStream:
		return "no stream"
	case expectExact:
		return fmt.Sprintf("revision %d", e.revision)
	case expectExists:
		return "that the stream exists"
	case expectAny:
	}
	return "any"
}

// AppendResult says where the last event of an append is.
type AppendResult struct {
	// Revision of the last event of the append. When it had no events, the
	// last revision of the stream.
	Revision uint64
	// Exists is false when the append had no events and the stream has none.
	Exists bool
	// Position of the last event of the append; 0 when it had no events, or is a
	// repeat whose last event is hidden by $tb.
	Position Position
	// Repeated says that the events had been written before. A store that is
	// reached over a network does not know, and says false.
	Repeated bool
}

// Errors of a store.
var (
	// ErrStreamNotFound: the stream has no events, or is deleted.
	ErrStreamNotFound = errors.New("stream not found")
	// ErrStreamDeleted: the stream ended with a tombstone, for good; or it was
	// expected to exist and is deleted.
	ErrStreamDeleted = errors.New("stream is deleted")
	// ErrReadOnly: the stream cannot be written: it is virtual, or the caller
	// lacks the right.
	ErrReadOnly = errors.New("stream is read-only")
	// ErrDenied: the store demands other credentials for this.
	ErrDenied = errors.New("event store denies access")
	// ErrAway: the store does not answer. The call may have taken effect or
	// not; an append is repeated with the same ids and the same expectation.
	ErrAway = errors.New("event store does not answer")
	// ErrWrongRevision is what errors.Is finds in a *WrongRevisionError.
	ErrWrongRevision = errors.New("wrong expected revision")
	// ErrTooLarge: an event or an append is larger than the store takes.
	ErrTooLarge = errors.New("event too large")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("event store is closed")
	// ErrStoreFailed: the disk failed or is full. Nothing more is accepted
	// until the store is opened again; what was acknowledged is safe.
	ErrStoreFailed = errors.New("event store failed")
	// ErrDamaged: stored bytes do not have their checksum. The error that wraps
	// it names stream, revision and position.
	ErrDamaged = errors.New("event store is damaged")
)

// WrongRevisionError says that a stream is not at the revision that its writer expected.
type WrongRevisionError struct {
	Stream   string
	Expected Expected
	// Actual is the last revision; meaningful only when Exists.
	Actual uint64
	Exists bool
}

func (e *WrongRevisionError) Error() string {
	actual := "no stream"
	if e.Exists {
		actual = fmt.Sprintf("revision %d", e.Actual)
	}
	return fmt.Sprintf("append to %s: %v: expected %s, is %s",
		e.Stream, ErrWrongRevision, e.Expected, actual)
}

// Is makes errors.Is(err, ErrWrongRevision) true.
func (e *WrongRevisionError) Is(target error) bool { return target == ErrWrongRevision }
