package chainview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// hashesKept is how many block hashes the view keeps: more than the 256 that a challenge can
// reach back, so that a period that began earlier is covered.
const hashesKept = 1024

// View is the newest block and the hashes before it, shared by the actors and the calls that
// wait for chain time. Safe for concurrent use.
type View struct {
	market port.Market

	mu      sync.Mutex
	head    events.Head
	hashes  map[uint64]events.Hash
	blocks  map[uint64]events.Head // blocks that have been the newest
	moved   chan struct{}          // closed and replaced at each new head, and by Wake
	missing map[uint64]bool
	rewinds uint64 // counts reorganisations
	// least is the lowest number that the newest block can have: the chain was seen to reach
	// it, and no reorganisation since took that back.
	least uint64
}

// NewView returns a view that knows no block yet.
func NewView(market port.Market) *View {
	return &View{
		market: market, hashes: map[uint64]events.Hash{}, blocks: map[uint64]events.Head{},
		moved: make(chan struct{}), missing: map[uint64]bool{},
	}
}

// Advance takes a new head and wakes all who wait. A block that the view has passed already,
// because the chain is read again from where the record ends, only adds its hash; then Advance
// reports false.
func (v *View) Advance(head events.Head) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	newest := head.Number >= v.least
	if newest {
		v.head, v.least = head, head.Number
		close(v.moved)
		v.moved = make(chan struct{})
	}
	v.hashes[head.Number], v.blocks[head.Number] = head.Hash, head
	if head.Number > 0 {
		v.hashes[head.Number-1] = head.Parent
	}
	if len(v.hashes) > 2*hashesKept {
		maps.DeleteFunc(v.hashes, func(n uint64, _ events.Hash) bool { return n+hashesKept < v.head.Number })
		maps.DeleteFunc(v.blocks, func(n uint64, _ events.Head) bool { return n+hashesKept < v.head.Number })
	}
	return newest
}

// Cursor is the view's position, for following the chain without a record.
func (v *View) Cursor() events.Cursor {
	v.mu.Lock()
	defer v.mu.Unlock()
	return events.Cursor{Number: v.head.Number, Hash: v.head.Hash, Time: v.head.Time, Recent: maps.Clone(v.hashes)}
}

// Rewind forgets the blocks above the ancestor, which is the newest one until the next comes: who waits for
// blocks must not count those that are gone.
func (v *View) Rewind(ancestor events.Head) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rewinds++
	v.least = min(v.least, ancestor.Number)
	if v.head.Number > ancestor.Number {
		v.head = ancestor
	}
	maps.DeleteFunc(v.hashes, func(n uint64, _ events.Hash) bool { return n > ancestor.Number })
	maps.DeleteFunc(v.blocks, func(n uint64, _ events.Head) bool { return n > ancestor.Number })
}

// Forget takes back that a block is the newest one.
func (v *View) Forget(head events.Head) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.head == head {
		v.head, v.least = events.Head{}, 0
		delete(v.hashes, head.Number)
		delete(v.blocks, head.Number)
	}
}

// between returns the blocks from first to last, if all of them are kept.
func (v *View) between(first, last uint64) ([]events.Head, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	heads := make([]events.Head, 0, last-first+1)
	for n := first; n <= last; n++ {
		h, ok := v.blocks[n]
		if !ok {
			return nil, false
		}
		heads = append(heads, h)
	}
	return heads, true
}

// Keep keeps blocks that were read, unless the chain was reorganised since rewinds was read.
// Blocks that are too old are dropped with the next new block.
func (v *View) Keep(heads []events.Head, rewinds uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rewinds != rewinds {
		return
	}
	for _, h := range heads {
		v.hashes[h.Number], v.blocks[h.Number] = h.Hash, h
	}
}

// Rewound counts the reorganisations.
func (v *View) Rewound() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rewinds
}

// At returns a block's hash if it is known, and does not note a missing one.
func (v *View) At(number uint64) (events.Hash, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h, ok := v.hashes[number]
	return h, ok
}

// Now is the newest block; its number is zero before the first.
func (v *View) Now() events.Head {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.head
}

// Hash returns a block's hash if it is known; otherwise the hash is noted as missing, and read
// by the next call of Fetch.
func (v *View) Hash(number uint64) (events.Hash, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h, ok := v.hashes[number]
	if !ok && number <= v.head.Number {
		v.missing[number] = true
	}
	return h, ok
}

// Fetch reads the missing hashes from the chain, and reports whether there were any.
func (v *View) Fetch(ctx context.Context) (bool, error) {
	v.mu.Lock()
	wanted := v.missing
	v.missing = map[uint64]bool{}
	v.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(wanted)) {
		if _, err := v.LookUp(ctx, number); err != nil {
			return false, err
		}
	}
	return len(wanted) > 0, nil
}

// reached returns a check of the block at which the chain is asked from now on: ErrBehind if the chain was seen to be
// further than that already, and no reorganisation took that back meanwhile.
func (v *View) reached() func(at events.Head) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	least, before := v.least, v.rewinds
	return func(at events.Head) error {
		if at.Number < least && v.Rewound() == before {
			return fmt.Errorf("%w: it answers from block %d, and block %d was seen", ErrBehind, at.Number, least)
		}
		return nil
	}
}

// LookUp returns a block's hash, from the chain if it is not known. An answer that a
// reorganisation overtook is not kept: it may be of the branch that is gone.
func (v *View) LookUp(ctx context.Context, number uint64) (events.Hash, error) {
	v.mu.Lock()
	h, ok := v.hashes[number]
	before := v.rewinds
	v.mu.Unlock()
	if ok {
		return h, nil
	}
	head, err := v.market.HeadAt(ctx, number)
	if err != nil {
		return events.Hash{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rewinds != before {
		return events.Hash{}, ErrOvertaken
	}
	v.hashes[number] = head.Hash
	return head.Hash, nil
}

// ErrBehind: the node that answered has not reached a block that was seen before. Ask again: it says nothing about what
// is in that block.
var ErrBehind = errors.New("the node lags behind what was seen of the chain")

// ErrOvertaken: the chain was reorganised while it was asked. Ask again.
var ErrOvertaken = errors.New("the chain was reorganised while it was asked")

// Wake makes all who wait check again, because they may wait for more than a new head.
func (v *View) Wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.moved)
	v.moved = make(chan struct{})
}

// Before returns a context that ends, with a cause, as soon as a block has at least a time. Call the function when it
// is not needed any more. A wait by the machine's clock is too long where the chain's runs faster.
func (v *View) Before(ctx context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	return v.While(ctx, func(h events.Head) bool { return h.Time.Before(t) }, cause)
}

// While returns a context that ends, with a cause, at the first block of which ok is false. Call the function when it
// is not needed any more.
func (v *View) While(
	ctx context.Context, ok func(events.Head) bool, cause error,
) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		if _, err := v.Wait(ctx, func(h events.Head) bool { return !ok(h) }); err == nil {
			cancel(cause)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Wait returns the first head, from now on, that satisfies ok.
func (v *View) Wait(ctx context.Context, ok func(events.Head) bool) (events.Head, error) {
	for {
		v.mu.Lock()
		head, moved := v.head, v.moved
		v.mu.Unlock()
		if head.Number > 0 && ok(head) {
			return head, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return events.Head{}, ctx.Err()
		}
	}
}
