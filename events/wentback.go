package events

import (
	"errors"
	"time"
)

// ErrWentBack: the event store lacks events that it has acknowledged. It is an older
// copy, or another store; nothing is written to it by whoever knows more.
var ErrWentBack = errors.New("the event store has gone back: it lacks events that it had acknowledged")

// WentBack is what a store lacks of a host's record. Zero: nothing.
type WentBack struct {
	// Ends is when the last event that is there was written; zero: none is. Seen is when
	// the host was last acknowledged one.
	Ends, Seen time.Time
	// Streams are those that lack events, the ones that were written last first.
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

// None says that nothing is lacking.
func (w WentBack) None() bool { return len(w.Streams) == 0 }
