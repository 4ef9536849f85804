package sim

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// This file checks the promises of an event store, including everything between it and the
// host: what is acknowledged is stored and shown, and no process is refused because of its own
// events.

func (s hostStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.mine.add(batch)
	r, err := s.busStore.Append(ctx, stream, expected, batch)
	if len(batch) == 0 || !catalog.Streams().InRecord(stream) { // Nothing is decided by these.
		return r, err
	}
	first, exact := expected.Count()
	switch {
	case !exact:
	case err == nil:
		s.world.promise(s.holds(ctx, stream, first, batch), stream, first+uint64(len(batch)))
	case errors.Is(err, events.ErrWrongRevision) && batch[0].Type == "HostStopped":
		// A stop gives up the append that is under way, and reads on if it was done after all.
	case errors.Is(err, events.ErrWrongRevision):
		s.world.promise(s.otherWrote(ctx, stream, first), stream, 0)
	}
	return r, err
}

// promise notes how many events of a stream were acknowledged, or that a promise was broken.
func (w *world) promise(wrong error, stream string, count uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[stream] = max(w.told[stream], count)
	if w.wrong == nil {
		w.wrong = wrong
	}
}

// holds checks that acknowledged events are stored where they were appended.
func (s hostStore) holds(ctx context.Context, stream string, from uint64, batch []events.NewEvent) error {
	n := 0
	for e, err := range s.committed.ReadStream(context.WithoutCancel(ctx), stream, events.ReadStream{
		From: from, Limit: len(batch),
	}) {
		if err == nil && e.Revision > from+uint64(n) {
			return nil // It was stored before, and a later owner has truncated it since.
		}
		if err != nil || e.ID != batch[n].ID || e.Type != batch[n].Type {
			break
		}
		n++
	}
	if n < len(batch) {
		return broken(AcknowledgedIsStored, "event %d of %s was acknowledged, and the store does not hold it",
			from+uint64(n), stream)
	}
	return nil
}

// otherWrote checks, after a refused append, that another process wrote the event at its place.
func (s hostStore) otherWrote(ctx context.Context, stream string, at uint64) error {
	ctx = context.WithoutCancel(ctx)
	for e, err := range s.committed.ReadStream(ctx, stream, events.ReadStream{From: at, Limit: 1}) {
		if err == nil && e.Revision == at && s.mine.has(e.ID) && !s.anew(stream) {
			return broken(OwnWritesStand, "the host was refused at event %d of %s, which it wrote itself", at, stream)
		}
	}
	return nil
}

// writtenIDs are the ids of events that one process of the host appended, or tried to.
type writtenIDs struct {
	mu  sync.Mutex
	ids map[events.EventID]bool
}

func (w *writtenIDs) add(batch []events.NewEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range batch {
		w.ids[e.ID] = true
	}
}

func (w *writtenIDs) has(id events.EventID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ids[id]
}

// whole passes a read on, and checks that it showed all events acknowledged to the host.
func (s hostStore) whole(
	stream string, q events.ReadStream, of iter.Seq2[events.Recorded, error],
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		s.world.mu.Lock()
		want := s.world.told[stream]
		s.world.mu.Unlock()
		n, next := 0, q.From
		for e, err := range of {
			if err == nil {
				n, next = n+1, e.Revision+1
			}
			if !yield(e, err) || err != nil && !errors.Is(err, events.ErrStreamNotFound) {
				return // The reader stopped before the end.
			}
		}
		if !q.Backward && next < want && (q.Limit == 0 || n < q.Limit) {
			s.world.promise(broken(AcknowledgedIsShown, "a read of %s shows %d events, %d were acknowledged",
				stream, next, want), stream, 0)
		}
	}
}
