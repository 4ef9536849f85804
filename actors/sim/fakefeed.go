package sim

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// fakeFeed is the ChainFeed port over the world.
type fakeFeed struct{ *world }

func (f fakeFeed) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	at := events.Head{Number: from.Number, Hash: from.Hash}
	delivered := map[uint64]events.Hash{}
	for n, h := range from.Recent {
		delivered[n] = h
	}
	delivered[at.Number] = at.Hash
	told := false
	passed := events.Head{} // the newest block that is known to hold nothing to deliver
	for {
		if err := f.wait(ctx, passed); err != nil {
			return err
		}
		update, err := do(ctx, f.bus, "feed", locked(f.world, func() (events.ChainUpdate, error) {
			passed = f.tip().head
			return f.after(at, delivered), nil
		}))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if update.Reorganized == nil && update.Head.Number <= at.Number && (told || update.Head.Hash != at.Hash) {
			continue // The node lags behind what was delivered.
		}
		told = true
		times := 1
		if f.repeats() {
			times = 2
		}
		for range times {
			if err := deliver(ctx, update); err != nil {
				return err
			}
		}
		f.took(update.Head)
		if r := update.Reorganized; r != nil {
			at = events.Head{Number: r.GetAncestor(), Hash: events.Must(events.ParseHash(r.GetAncestorHash()))}
			passed = at
			continue
		}
		at = update.Head
		delivered[at.Number] = at.Hash
		delete(delivered, at.Number-min(at.Number, 4*keptStates))
	}
}

func (f fakeFeed) FollowHeads(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.Follow(ctx, from, func(ctx context.Context, u events.ChainUpdate) error {
		u.Logs = nil
		return deliver(ctx, u)
	})
}

// repeats reports whether the feed delivers the next update twice.
func (w *world) repeats() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.again
	w.again = false
	return again
}

func (w *world) took(head events.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.fresh = head, true
	if w.bus.open { // Without a simulator nobody asks what the host knows.
		return
	}
	w.hashes[head.Number] = true
	if head.Number > 0 {
		w.hashes[head.Number-1] = true
	}
}

// after returns the next update after a block: the reorganisation that removed it, or the
// blocks up to the newest that the node knows.
func (f fakeFeed) after(at events.Head, delivered map[uint64]events.Hash) events.ChainUpdate {
	tip, sight := f.tip().head, f.sight().head
	if at.Number > tip.Number || f.blocks[at.Number].head.Hash != at.Hash && !at.Hash.Zero() {
		ancestor := uint64(0)
		var dropped []string
		for n, h := range delivered {
			if n <= tip.Number && f.blocks[n].head.Hash == h {
				ancestor = max(ancestor, n)
			} else {
				dropped = append(dropped, h.String())
			}
		}
		slices.Sort(dropped)
		for n := range delivered {
			if n > ancestor {
				delete(delivered, n)
			}
		}
		return events.ChainUpdate{Head: f.blocks[ancestor].head, Reorganized: &messages.ChainReorganized{
			Ancestor: ancestor, AncestorHash: f.blocks[ancestor].head.Hash.String(), Dropped: dropped,
		}}
	}
	u := events.ChainUpdate{Head: sight, Live: true}
	for n := at.Number + 1; n <= sight.Number; n++ {
		u.Logs = append(u.Logs, f.blocks[n].logs...)
	}
	return u
}
