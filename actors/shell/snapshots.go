package shell

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
)

// This file saves the queue, the ledger and the list of living sales now and then (package
// snapshot), so that a start reads the newest snapshot of each and the events after it. A host
// works the same without any of them.

// DefaultSnapshotEvery is how many events lie between two snapshots: a start folds so many in
// less than a second.
const DefaultSnapshotEvery = 10_000

// stopSaving is how long a stop may take to save all states.
const stopSaving = 20 * time.Second

// Saver saves a state when the host has stopped.
type Saver interface {
	// Finish saves what is not saved yet. No actor and no task runs any more.
	Finish(ctx context.Context) error
}

// SaveAll saves all states once the tree has stopped. A failure only makes the next start
// slower.
func (b *Base) SaveAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopSaving)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(b.Savers)) {
		err := b.RT.Guarded("snapshot", func() error { return b.Savers[name].Finish(ctx) })
		if err != nil {
			b.Log.Warnf("a state was not saved at the stop, so the next start reads more of the record: %v", err)
		}
	}
}

// Saves reports whether states are saved at all.
func (b *Base) Saves() bool { return b.SnapshotEvery > 0 }

// Write saves one state and returns the last event of the snapshot before it.
func (b *Base) Write(
	ctx context.Context, of, schema string, last snapshot.Event, pieces [][]byte,
) (before *snapshot.Event, err error) {
	w := snapshot.Writer{
		Store: b.Store, Codec: b.Codec, Stream: events.SnapshotStream(of), Meta: b.Metadata(""),
	}
	return w.Save(ctx, snapshot.Snapshot{Schema: schema, Last: last, Pieces: pieces}, b.Clock.Now())
}

// ReadSnapshot takes the newest usable snapshot, and logs why newer ones were not used.
func (b *Base) ReadSnapshot(ctx context.Context, r snapshot.Reader, take func([][]byte) error) (snapshot.Found, error) {
	r.Store, r.Codec = b.Store, b.Codec
	found, err := r.Load(ctx, take)
	for _, why := range found.Ignored {
		b.Log.Warnf("a snapshot is not used, the record is read instead: %v", why)
	}
	return found, err
}

// Keeper saves and loads the state of one machine. It belongs to the machine's actor.
type Keeper[S any] struct {
	*Base
	Stream string // of the machine; truncated before its snapshots if it may be
	Schema string
	Size   func(S) int // how many entries the state has
	Pieces func(S) [][]byte
	Parse  func([][]byte) (S, error)
	// Empty makes a state that shares no memory with any other.
	Empty func() S
	// Now returns the durable state; false while it is not loaded.
	Now func() (Fold[S], bool)

	// begun is how many events are in the newest snapshot that was loaded or begun; written, in
	// the newest that was loaded or written.
	begun, written atomic.Uint64
	saving         atomic.Bool
}

// Load implements Machine.Restore.
func (k *Keeper[S]) Load(ctx context.Context) (from Saved[S], err error) {
	found, err := k.ReadSnapshot(ctx, snapshot.Reader{
		Stream: events.SnapshotStream(k.Stream), Schema: k.Schema, Of: k.Stream,
	}, func(pieces [][]byte) (err error) {
		if from.State, err = k.Parse(pieces); err == nil {
			from.Ahead, err = k.Parse(pieces)
		}
		return err
	})
	if err != nil || !found.Usable {
		return Unsaved(k.Empty), err
	}
	from.Events, from.Last = found.Last.Revision+1, found.Last.ID
	k.begun.Store(from.Events)
	k.written.Store(from.Events)
	return from, nil
}

// Consider begins a snapshot when enough events came since the last one: as many as configured,
// and not fewer than the state has entries, so that per event a snapshot costs about as much as
// storing the event did.
func (k *Keeper[S]) Consider(a *Turn) {
	now, loaded := k.Now()
	if !k.Saves() || !loaded || k.saving.Load() || k.StoreWatch.Away() ||
		now.Events < k.begun.Load()+uint64(max(k.SnapshotEvery, k.Size(now.State))) {
		return
	}
	k.saving.Store(true)
	k.begun.Store(now.Events) // Also if it fails: then the next try comes just as late.
	pieces := k.Pieces(now.State)
	a.Do(func(ctx context.Context) {
		defer k.saving.Store(false)
		k.Yield(ctx, "snapshot "+k.Stream)
		err := k.RT.Guarded("snapshot", func() error { return k.Save(ctx, now.Events, now.Last, pieces) })
		if err != nil && ctx.Err() == nil {
			k.Log.Warnf("a snapshot of %s was not written, will try later: %v", k.Stream, err)
		}
	})
}

// Save saves a state that holds stored events, of which last is the newest.
func (k *Keeper[S]) Save(ctx context.Context, stored uint64, last events.EventID, pieces [][]byte) error {
	before, err := k.Write(ctx, k.Stream, k.Schema,
		snapshot.Event{Stream: k.Stream, Revision: stored - 1, ID: last}, pieces)
	if err != nil {
		return err
	}
	k.written.Store(stored)
	if before == nil || !k.Streams.MayTruncate(k.Stream) {
		return nil
	}
	// Only events before the older snapshot go, so that one bad snapshot loses nothing. The
	// older one's last event stays, because a reader looks for it.
	return snapshot.Truncate(ctx, k.Store, k.Streams, k.Stream, before.Revision)
}

// Finish implements Saver.
func (k *Keeper[S]) Finish(ctx context.Context) error {
	now, loaded := k.Now()
	if !k.Saves() || !loaded || now.Events == k.written.Load() {
		return nil
	}
	return k.Save(ctx, now.Events, now.Last, k.Pieces(now.State))
}
