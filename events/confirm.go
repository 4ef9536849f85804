package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// confirmations is how often an append without events is tried at the end of a stream that others write to.
const confirmations = 5

// Confirm returns nil when a store has shown that it is the one who decides what the record is, by committing an
// append without events at the end of a stream that the caller may write. It writes nothing. A node of a cluster that
// answers reads only believes that it leads: after a pause of its process, another one may have been elected. What is
// read before Confirm is to be read again. Errors other than the context's: ErrAway when nothing is committed,
// ErrDenied when the caller may not write, ErrWrongRevision when the stream was deleted.
func Confirm(ctx context.Context, s Store, stream string) error {
	var refused error // at a stream that is not there
	for range confirmations {
		last, found, err := Last(ctx, s, stream)
		// Refused where none is, it was deleted; an append at its end would bring it back.
		if err != nil || !found && refused != nil {
			return cmp.Or(err, refused)
		}
		expected := NoStream()
		if found {
			expected = Exact(last.Revision)
		}
		if _, err = s.Append(ctx, stream, expected, nil); !errors.Is(err, ErrWrongRevision) {
			return err
		}
		if refused = nil; !found {
			refused = err
		}
	}
	return fmt.Errorf("%w: it commits nothing at the end of %s, as it shows it", ErrAway, stream)
}
