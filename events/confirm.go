package events

import (
	"context"
	"errors"
	"fmt"
)

// confirmations is how often an append without events is tried at the end of a stream that others write to.
const confirmations = 5

// Confirm returns nil when a store has shown that it is the one who decides what the record is, by committing an
// append without events at the end of a stream that the caller may write. It writes nothing. A node of a cluster that
// answers reads only believes that it leads: after a pause of its process, another one may have been elected. What is
// read before Confirm is to be read again. Errors besides the context's: ErrAway when nothing is committed, ErrDenied
// when the caller may not write.
func Confirm(ctx context.Context, s Store, stream string) error {
	for range confirmations {
		last, found, err := Last(ctx, s, stream)
		if err != nil {
			return err
		}
		expected := NoStream()
		if found {
			expected = Exact(last.Revision)
		}
		if _, err = s.Append(ctx, stream, expected, nil); !errors.Is(err, ErrWrongRevision) {
			return err
		}
	}
	return fmt.Errorf("%w: it commits nothing at the end of %s, as it shows it", ErrAway, stream)
}
