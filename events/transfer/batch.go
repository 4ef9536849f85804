package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// batch collects events that wait to be appended: events of one stream that
// follow each other in the source's log. It is written before an event of
// another stream is added, because the order between streams matters: a cause
// comes before its consequences.
type batch struct {
	to     events.Store
	stream string
	first  uint64 // the number of the first event in its stream
	all    []events.NewEvent
	bytes  int
}

// add adds an event, and first writes the batch if that is necessary. have is
// how many events the target has of the event's stream, waiting ones included.
func (b *batch) add(ctx context.Context, stream string, have uint64, e events.NewEvent) error {
	full := len(b.all) >= events.PreferredAppendEvents || b.bytes+e.Size() > events.PreferredAppendBytes
	if len(b.all) > 0 && (stream != b.stream || full) {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	if len(b.all) == 0 {
		b.stream, b.first = stream, have
	}
	b.all = append(b.all, e)
	b.bytes += e.Size()
	return nil
}

// flush writes what waits.
func (b *batch) flush(ctx context.Context) error {
	if len(b.all) == 0 {
		return nil
	}
	_, err := b.to.Append(ctx, b.stream, events.ExpectNext(b.first), b.all)
	b.all, b.bytes = nil, 0
	if errors.Is(err, events.ErrWrongRevision) || errors.Is(err, events.ErrStreamDeleted) {
		return fmt.Errorf("%w: somebody else wrote there meanwhile: %w", ErrConflict, err)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", b.stream, err)
	}
	return nil
}
