package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// core is a pure machine as a single writer needs it.
type core[S, C any, E proto.Message] struct {
	empty  func() S
	decide func(S, C) ([]E, error)
	evolve func(S, E) S
}

var (
	ledger = core[capacity.State, capacity.Command, capacity.Event]{capacity.New, capacity.Decide, capacity.Evolve}
	queue  = core[slotqueue.State, slotqueue.Command, slotqueue.Event]{
		func() slotqueue.State { return slotqueue.New(slotqueue.Limits{}) }, slotqueue.Decide, slotqueue.Evolve,
	}
)

// writer appends what follows from a command to a stream that has no other writer now.
type writer struct {
	store events.Store
	meta  events.Metadata
}

// maxConflicts is how often a command is decided again because somebody else wrote
// meanwhile. The lock of the data directory lets nobody; so this is only for a store
// that several share.
const maxConflicts = 3

// submit folds the stream, decides, and appends with the expected revision. When it
// returns nil, what follows is durable.
func submit[S, C any, E proto.Message](
	ctx context.Context, w writer, stream string, m core[S, C, E], cmd C,
) error {
	for n := 1; ; n++ {
		err := submitOnce(ctx, w, stream, m, cmd)
		if !errors.Is(err, events.ErrWrongRevision) || n == maxConflicts {
			return err
		}
	}
}

func submitOnce[S, C any, E proto.Message](
	ctx context.Context, w writer, stream string, m core[S, C, E], cmd C,
) error {
	codec := catalog.Codec()
	state, count := m.empty(), uint64(0)
	for r, err := range w.store.ReadStream(ctx, stream, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		decoded, err := codec.Decode(r)
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		e, ok := decoded.(E)
		if !ok {
			return fmt.Errorf("read %s: %w: revision %d is a %s", stream, events.ErrDamaged, r.Revision, r.Type)
		}
		state, count = m.evolve(state, e), r.Revision+1
	}
	decided, err := m.decide(state, cmd)
	if err != nil || len(decided) == 0 {
		return err
	}
	batch := make([]events.NewEvent, 0, len(decided))
	for i, e := range decided {
		name, version, data, err := codec.Encode(e)
		if err != nil {
			return fmt.Errorf("encode %T: %w", e, err)
		}
		meta := w.meta
		meta.Version = version
		unique := fmt.Sprintf("%s@%d", meta.Causation, count)
		batch = append(batch, events.NewEvent{
			ID: events.NewEventID(stream, unique, i), Type: name, Data: data, Meta: meta,
		})
	}
	if _, err := w.store.Append(ctx, stream, events.ExpectNext(count), batch); err != nil {
		return fmt.Errorf("write %s: %w", stream, err)
	}
	return nil
}
