// Package repair repairs the event store and the outbox of a data directory when there is
// no better way: it says what is damaged and what would be lost and, if that is accepted,
// replaces the damaged files by what is left of them. It keeps the damaged files.
//
// Of an event store it keeps everything before the first unreadable event, as if a backup
// from that time were restored, because later events rest on the lost one. The rest the
// host learns again from the chain (docs/restart.md).
package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/transfer"
)

// Plan says what is damaged, and what a repair would do.
type Plan struct {
	// Events is what is left of the embedded event store; nil: it is undamaged, or the
	// events are elsewhere.
	Events *embedded.Salvaged
	// Outboxes are the damaged ones.
	Outboxes []*tx.OutboxDamage

	dir   datadir.Layout
	store *embedded.Store // what is left; nil: nothing, or elsewhere
	now   time.Time
}

// Empty reports whether there is nothing to repair.
func (p *Plan) Empty() bool { return p.Events == nil && len(p.Outboxes) == 0 }

// Lost is how many events would be lost.
func (p *Plan) Lost() uint64 {
	if p.Events == nil {
		return 0
	}
	return uint64(p.Events.Last - min(p.Events.Kept, p.Events.Last))
}

// Examine checks a data directory, whose lock the caller has. elsewhere is the store of
// the events if that is not in the directory. It changes nothing, except that it finishes
// an earlier run that was interrupted. The caller closes the plan.
func Examine(ctx context.Context, dir datadir.Layout, elsewhere events.Store, now time.Time) (*Plan, error) {
	p := &Plan{dir: dir, now: now}
	record := elsewhere
	if elsewhere == nil {
		if err := p.finish(); err != nil {
			return nil, err
		}
		if err := dir.RecordIsHere(); err != nil {
			return nil, err
		}
		store, found, err := embedded.Salvage(ctx, dir.Events(), embedded.Config{})
		if err != nil {
			return nil, fmt.Errorf("look at the event store: %w", err)
		}
		p.store = store
		if found.Problem != nil {
			p.Events = &found
		}
		record = &beginning{p.store, found.Kept} // As it will be.
	}
	var err error
	if p.Outboxes, err = tx.ExamineOutboxes(ctx, dir.Outbox(), record); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// fresh is the directory in which the new store is made.
func (p *Plan) fresh() string { return p.dir.Events() + ".repaired" }

// finish gives a new store its name: it is complete if the damaged one was renamed.
func (p *Plan) finish() error {
	if _, err := os.Lstat(p.dir.Events()); !errors.Is(err, fs.ErrNotExist) {
		return nil // Also when it cannot be told; opening it says why.
	}
	if err := os.Rename(p.fresh(), p.dir.Events()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end an interrupted repair: %w", err)
	}
	return nil
}

// Close gives the store back.
func (p *Plan) Close() error {
	if p.store == nil {
		return nil
	}
	err := p.store.Close()
	p.store = nil
	return err
}

// Mend does the repair, and returns the new names of the damaged files. After an
// interruption it may be called again.
func (p *Plan) Mend(ctx context.Context) (kept []string, err error) {
	if p.Events != nil {
		aside, err := p.mendEvents(ctx)
		if err != nil {
			return nil, fmt.Errorf("repair the event store: %w", err)
		}
		kept = append(kept, aside)
	}
	for _, d := range p.Outboxes {
		aside, err := d.Mend(p.now)
		if err != nil {
			return kept, err
		}
		kept = append(kept, aside)
	}
	return kept, nil
}

func (p *Plan) mendEvents(ctx context.Context) (aside string, err error) {
	aside = p.dir.Events() + ".damaged-" + p.now.UTC().Format("20060102T150405Z")
	if err := os.RemoveAll(p.fresh()); err != nil { // From a run that was interrupted.
		return "", err
	}
	to, _, err := embedded.Open(p.fresh(), embedded.Config{})
	if err != nil {
		return "", err
	}
	if err := errors.Join(p.fill(ctx, to, aside), to.Close(), p.Close()); err != nil {
		return "", err
	}
	if err := os.RemoveAll(p.dir.Views()); err != nil { // Views are built again.
		return "", err
	}
	if err := os.Rename(p.dir.Events(), aside); err != nil {
		return "", err
	}
	return aside, os.Rename(p.fresh(), p.dir.Events())
}

// fill copies what is kept, and records the loss.
func (p *Plan) fill(ctx context.Context, to events.Store, aside string) error {
	from := &beginning{p.store, p.Events.Kept}
	report, err := transfer.Copy(ctx, from, to, transfer.Options{})
	if err != nil {
		return err
	}
	if err := transfer.Check(ctx, report.Digest, from, to); err != nil {
		return err
	}
	if p.Lost() == 0 {
		return nil
	}
	e, err := events.RecordLost{
		At: p.now.UTC(), Kept: p.Events.Kept, Last: p.Events.Last, Readable: p.Events.Readable,
		Problem: p.Events.Problem.Error(), Aside: aside,
	}.Event()
	if err != nil {
		return err
	}
	_, err = to.Append(ctx, events.LossStream, events.Any(), []events.NewEvent{e})
	return err
}

// beginning is a store up to a position.
type beginning struct {
	*embedded.Store
	last events.Position
}

// Head is that position.
func (b *beginning) Head(context.Context) (events.Position, error) { return b.last, nil }

// ReadAll reads the log. Where nothing is left, there may be no store at all.
func (b *beginning) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	if b.last == 0 {
		return func(func(events.Recorded, error) bool) {}
	}
	return b.Store.ReadAll(ctx, after, limit)
}

// ReadStream reads a stream from a revision on, or backwards from its end. It reads the
// log, because the indexes may be damaged.
func (b *beginning) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		var all []events.Recorded
		for r, err := range b.ReadAll(ctx, 0, int(b.last)) {
			if err != nil {
				yield(events.Recorded{}, err)
				return
			}
			if r.Stream == stream {
				all = append(all, r)
			}
		}
		if len(all) == 0 {
			yield(events.Recorded{}, events.ErrStreamNotFound)
			return
		}
		if q.Backward {
			slices.Reverse(all)
		} else {
			all = all[min(q.From, uint64(len(all))):]
		}
		if q.Limit > 0 {
			all = all[:min(q.Limit, len(all))]
		}
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}
