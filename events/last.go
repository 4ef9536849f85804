package events

import (
	"context"
	"errors"
)

// Last is the last event of a stream that can be read; false when there is none, also
// when there is no such stream.
func Last(ctx context.Context, s Store, stream string) (last Recorded, found bool, err error) {
	for r, err := range s.ReadStream(ctx, stream, ReadStream{From: End, Backward: true, Limit: 1}) {
		if errors.Is(err, ErrStreamNotFound) {
			break
		}
		return r, err == nil, err
	}
	return last, false, nil
}
