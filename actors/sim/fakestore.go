package sim

import (
	"context"
	"iter"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// hostStore is the store as the host sees it. While it is away, reads fail at once, and appends
// as the simulator decides. With parks set, reads are calls like all others: they are late,
// fail, or break off in the middle.
type hostStore struct {
	busStore
	parks bool
	// committed is what the store holds, to check whether it keeps its promises. mine is what
	// this process tried to write. An actor that is begun anew may meet its predecessor's last append: after a
	// panic, and what the owner writes in a later term of the same process.
	committed *storetest.Memory
	mine      *writtenIDs
	anew      func(stream string) bool
}

// ofOwner reports whether only the owner writes a stream, in its term.
func ofOwner(stream string) bool {
	return slices.Contains([]string{
		events.CategorySlotQueue, events.CategoryMarket, events.CategoryValidator, events.CategoryContent,
		events.CategoryCargo, events.CategoryDeal, events.CategoryAlert,
	}, events.Category(stream))
}

// storeOf is the store as a new process in a world sees it.
func (s *simulator) storeOf(w *world) hostStore {
	return hostStore{
		busStore: busStore{s.cluster, w}, parks: s.Reads, committed: s.store,
		mine: &writtenIDs{ids: map[events.EventID]bool{}},
		anew: func(stream string) bool {
			return s.Panic+s.Poison > 0 || s.aim != nil ||
				s.Members.Count > 0 && ofOwner(stream)
		},
	}
}

// reading parks a read; breaks: it breaks off after its first event.
func (s hostStore) reading(ctx context.Context, key string) (breaks bool, err error) {
	if !s.parks {
		return false, nil
	}
	reached := false
	_, err = do(ctx, s.world.bus, "store."+key, func() (struct{}, error) {
		reached = true
		return struct{}{}, nil
	})
	return reached && err != nil, err
}

func (s hostStore) away() error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if s.world.storeAway {
		return events.ErrAway
	}
	return nil
}

func (s hostStore) read(
	ctx context.Context, key string, read func() iter.Seq2[events.Recorded, error],
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		breaks, err := s.reading(ctx, key)
		if err == nil {
			err = s.away()
		}
		if breaks {
			for e, failed := range read() {
				if !yield(e, failed) {
					return
				}
				break
			}
		}
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		read()(yield)
	}
}

func (s hostStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return s.whole(stream, q, s.read(ctx, "readStream "+stream, func() iter.Seq2[events.Recorded, error] {
		return s.busStore.ReadStream(ctx, stream, q)
	}))
}

func (s hostStore) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return s.read(ctx, "readAll", func() iter.Seq2[events.Recorded, error] {
		return s.busStore.ReadAll(ctx, after, limit)
	})
}

func (s hostStore) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.read(ctx, "subscribe", func() iter.Seq2[events.Recorded, error] {
		return s.busStore.Subscribe(ctx, after)
	})
}

func (s hostStore) Head(ctx context.Context) (events.Position, error) {
	if _, err := s.reading(ctx, "head"); err != nil {
		return 0, err
	}
	if err := s.away(); err != nil {
		return 0, err
	}
	return s.busStore.Head(ctx)
}
