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
	"github.com/hostnode/hostnode/events/snapshot"
)

// core is a pure machine as a single writer needs it.
type core[S, C any, E proto.Message] struct {
	empty  func() S
	decide func(S, C) ([]E, error)
	evolve func(S, E) S
	// schema and restore are of the machine's snapshots.
	schema  string
	restore func(pieces [][]byte) (S, error)
}

var (
	ledger = core[capacity.State, capacity.Command, capacity.Event]{
		empty: capacity.New, decide: capacity.Decide, evolve: capacity.Evolve,
		schema:  capacity.StateSchema,
		restore: func(p [][]byte) (capacity.State, error) { return capacity.RestorePieces(capacity.Limits{}, p) },
	}
	queue = core[slotqueue.State, slotqueue.Command, slotqueue.Event]{
		empty:  func() slotqueue.State { return slotqueue.New(slotqueue.Limits{}) },
		decide: slotqueue.Decide, evolve: slotqueue.Evolve,
		schema:  slotqueue.StateSchema,
		restore: func(p [][]byte) (slotqueue.State, error) { return slotqueue.RestorePieces(slotqueue.Limits{}, p) },
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
	state, count, err := load(ctx, w.store, codec, stream, m)
	if err != nil {
		return fmt.Errorf("read %s: %w", stream, err)
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

// load folds a stream behind its newest snapshot, or from its beginning, and
// counts its events. The beginning of the queue may be hidden, so that a fold of
// what the stream shows would be another state.
func load[S, C any, E proto.Message](
	ctx context.Context, store events.Store, codec *events.Codec, stream string, m core[S, C, E],
) (state S, count uint64, err error) {
	found, err := snapshot.Reader{
		Store: store, Codec: codec, Stream: events.SnapshotStream(stream), Schema: m.schema, Of: stream,
	}.Load(ctx, func(pieces [][]byte) (err error) {
		state, err = m.restore(pieces)
		return err
	})
	if err != nil {
		return state, 0, err
	}
	if found.Usable {
		count = found.Last.Revision + 1
	} else {
		state = m.empty()
	}
	for r, err := range snapshot.Tail(ctx, store, stream, count) {
		if err != nil {
			return state, 0, err
		}
		decoded, err := codec.Decode(r)
		if err != nil {
			return state, 0, err
		}
		e, ok := decoded.(E)
		if !ok {
			return state, 0, fmt.Errorf("%w: revision %d is a %s", events.ErrDamaged, r.Revision, r.Type)
		}
		state, count = m.evolve(state, e), r.Revision+1
	}
	return state, count, nil
}
