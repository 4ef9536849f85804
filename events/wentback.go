package events

import (
	"errors"
	"time"
)

// ErrWentBack: the event store lacks events that it has acknowledged. It is an older
// copy, or another store. A host that knows this writes nothing to it.
var ErrWentBack = errors.New("the event store has gone back: it lacks events that it had acknowledged")

// WentBack says what a store lacks of a host's record. Zero: nothing.
type WentBack struct {
	// Ends is when the last event in the store was written; zero: it has none. Seen is
	// when the store last acknowledged an event to the host.
	Ends, Seen time.Time
	// Streams are those that lack events, the most recently written first.
	Streams []ShortStream
	// Offers and Reservations are those that were made or changed since, in words.
	Offers, Reservations []string
}

// ShortStream is a stream that lacks events.
type ShortStream struct {
	Stream string
	// Had is how many events it had, Has how many there are.
	Had, Has uint64
}

// None reports that nothing is lacking.
func (w WentBack) None() bool { return len(w.Streams) == 0 }
