package storage

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// MismatchError says what differs from what was promised. It is an events.ErrContentMismatch.
type MismatchError struct {
	What     string // such as "slot size of the manifest"
	Expected string
	Got      string
}

// Error says what was expected and what came.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s is %s, expected %s", e.What, e.Got, e.Expected)
}

// Unwrap makes errors.Is(err, events.ErrContentMismatch) true.
func (e *MismatchError) Unwrap() error { return events.ErrContentMismatch }

func mismatch(what string, expected, got any) error {
	return &MismatchError{What: what, Expected: fmt.Sprint(expected), Got: fmt.Sprint(got)}
}
