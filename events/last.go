package events

import (
	"context"
	"errors"
)

// Last returns the last readable event of a stream; false when there is none, or no
// such stream.
func Last(ctx context.Context, s Store, stream string) (last Recorded, found bool, err error) {
	for r, err := range s.ReadStream(ctx, stream, ReadStream{From: End, Backward: true, Limit: 1}) {
		if errors.Is(err, ErrStreamNotFound) {
			break
		}
		return r, err == nil, err
	}
	return last, false, nil
}
