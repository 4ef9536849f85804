package actors

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
)

// The queue, the ledger and the list of living sales are saved now and then
// beside the record (package snapshot), so that a start reads the newest of
// each and the tail behind it. A host works the same without any of them.

// defaultSnapshotEvery is how many events pass between two snapshots: folding
// so many takes a start less than a second.
const defaultSnapshotEvery = 10_000

// stopSaving is how long a stop in good order may take to save all states.
const stopSaving = 20 * time.Second

// saver is whoever saves a state when the host has stopped.
type saver interface {
	// finish saves what is not saved yet. No actor and no task runs any more.
	finish(ctx context.Context) error
}

// saveAll saves all states once the tree has stopped.
// What fails only makes the next start slower.
func (b *base) saveAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopSaving)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(b.savers)) {
		err := b.rt.Guarded("snapshot", func() error { return b.savers[name].finish(ctx) })
		if err != nil {
			b.log.Warnf("a state was not saved at the stop; the next start reads more of the record: %v", err)
		}
	}
}

func (b *base) saves() bool { return b.SnapshotEvery > 0 }

// write saves one state and returns the last event of the snapshot before it.
func (b *base) write(
	ctx context.Context, of, schema string, last snapshot.Event, pieces [][]byte,
) (before *snapshot.Event, err error) {
	w := snapshot.Writer{
		Store: b.Store, Codec: b.codec, Stream: events.SnapshotStream(of), Meta: b.metadata(""),
	}
	return w.Save(ctx, snapshot.Snapshot{Schema: schema, Last: last, Pieces: pieces}, b.Clock.Now())
}

// readSnapshot takes the newest usable snapshot and tells why others were not.
func (b *base) readSnapshot(ctx context.Context, r snapshot.Reader, take func([][]byte) error) (snapshot.Found, error) {
	r.Store, r.Codec = b.Store, b.codec
	found, err := r.Load(ctx, take)
	for _, why := range found.Ignored {
		b.log.Warnf("a snapshot is not used, the record is read instead: %v", why)
	}
	return found, err
}

// keeper saves and loads the state of one machine. It belongs to the machine's
// actor.
type keeper[S any] struct {
	*base
	stream string // of the machine; it is truncated behind its snapshots if it may be
	schema string
	size   func(S) int // how many entries the state has
	pieces func(S) [][]byte
	parse  func([][]byte) (S, error)
	// now is the durable state with how many events are in it and the last one's
	// id; false while it is not loaded.
	now func() (S, uint64, events.EventID, bool)

	// begun and written are how many events are in the newest snapshot that was
	// loaded or begun, and loaded or written.
	begun, written atomic.Uint64
	saving         bool
}

// snapshotWritten is the outcome of a snapshot that was begun.
type snapshotWritten struct {
	events uint64
	err    error
}

// load is the restore of a machine.
func (k *keeper[S]) load(ctx context.Context, empty func() S) (shell.Saved[S], error) {
	var from shell.Saved[S]
	found, err := k.readSnapshot(ctx, snapshot.Reader{
		Stream: events.SnapshotStream(k.stream), Schema: k.schema, Of: k.stream,
	}, func(pieces [][]byte) (err error) {
		if from.Durable, err = k.parse(pieces); err == nil {
			from.Ahead, err = k.parse(pieces)
		}
		return err
	})
	if err != nil || !found.Usable {
		return shell.Saved[S]{Durable: empty(), Ahead: empty()}, err
	}
	from.Events, from.Last = found.Last.Revision+1, found.Last.ID
	k.begun.Store(from.Events)
	k.written.Store(from.Events)
	return from, nil
}

// consider begins a snapshot when enough happened since the last one: as many
// events as are set, and not fewer than the state has entries, so that writing
// it costs each event about what storing the event cost.
func (k *keeper[S]) consider(a *shell.Turn) {
	state, stored, last, loaded := k.now()
	if !k.saves() || !loaded || k.saving || k.record.Away() ||
		stored < k.begun.Load()+uint64(max(k.SnapshotEvery, k.size(state))) {
		return
	}
	k.saving = true
	k.begun.Store(stored) // Also when it fails: the next try is as far away.
	pieces, self := k.pieces(state), a.Self
	a.Do(func(ctx context.Context) {
		k.Turn(ctx, "snapshot "+k.stream)
		self.Tell(snapshotWritten{stored, k.rt.Guarded("snapshot", func() error {
			return k.save(ctx, stored, last, pieces)
		})})
	})
}

func (k *keeper[S]) save(ctx context.Context, stored uint64, last events.EventID, pieces [][]byte) error {
	before, err := k.write(ctx, k.stream, k.schema,
		snapshot.Event{Stream: k.stream, Revision: stored - 1, ID: last}, pieces)
	if err != nil || before == nil || !events.MayTruncate(k.stream) {
		return err
	}
	// Behind the older one, so that one bad snapshot loses nothing; its last event
	// stays, because a reader looks for it.
	return snapshot.Truncate(ctx, k.Store, k.stream, before.Revision)
}

// handle takes the keeper's own message; false for all others.
func (k *keeper[S]) handle(msg any) bool {
	m, ok := msg.(snapshotWritten)
	if !ok {
		return false
	}
	k.saving = false
	if m.err != nil {
		k.log.Warnf("a snapshot of %s was not written; it is tried again later: %v", k.stream, m.err)
		return true
	}
	k.written.Store(m.events)
	return true
}

// finish is for saver.
func (k *keeper[S]) finish(ctx context.Context) error {
	state, stored, last, loaded := k.now()
	if !k.saves() || !loaded || stored == k.written.Load() {
		return nil
	}
	return k.save(ctx, stored, last, k.pieces(state))
}
