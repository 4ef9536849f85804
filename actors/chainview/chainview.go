package chainview

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// hashesKept is how many block hashes the view keeps: more than the 256 that a
// challenge can reach back, so that a period that began earlier is covered.
const hashesKept = 1024

// View is the newest block and the hashes behind it, shared by the
// actors and the calls that wait for chain time. Safe for concurrent use.
type View struct {
	market port.Market

	mu      sync.Mutex
	head    events.Head
	hashes  map[uint64]events.Hash
	blocks  map[uint64]events.Head // those that were the newest once
	moved   chan struct{}          // closed and replaced at each new head, and by wake
	missing map[uint64]bool
	rewinds uint64 // counts reorganisations
	// least is the lowest block that can be the newest: the chain was seen to go
	// so far, and nothing said since that it was taken back.
	least uint64
}

// NewView is a view of a chain of which no block is known yet.
func NewView(market port.Market) *View {
	return &View{
		market: market, hashes: map[uint64]events.Hash{}, blocks: map[uint64]events.Head{},
		moved: make(chan struct{}), missing: map[uint64]bool{},
	}
}

// Advance takes a new head and wakes all that wait. One that was passed before,
// because the chain is read again from where the record ends, brings its hash
// only; then it reports false.
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

// Cursor is where the view stands, for who follows the chain without a record.
func (v *View) Cursor() events.Cursor {
	v.mu.Lock()
	defer v.mu.Unlock()
	return events.Cursor{Number: v.head.Number, Hash: v.head.Hash, Time: v.head.Time, Recent: maps.Clone(v.hashes)}
}

// Rewind forgets what is above the ancestor.
func (v *View) Rewind(ancestor uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rewinds++
	v.least = min(v.least, ancestor)
	maps.DeleteFunc(v.hashes, func(n uint64, _ events.Hash) bool { return n > ancestor })
	maps.DeleteFunc(v.blocks, func(n uint64, _ events.Head) bool { return n > ancestor })
}

// Forget takes it back that a block is the newest one.
func (v *View) Forget(head events.Head) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.head == head {
		v.head, v.least = events.Head{}, 0
		delete(v.hashes, head.Number)
		delete(v.blocks, head.Number)
	}
}

// between are blocks without a gap, if all of them were the newest once.
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

// Keep takes blocks that were read, unless the chain was reorganised since the count
// of rewinds was taken. Those far behind are dropped with the next new block.
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

// At is a block's hash if it is at hand; nothing is noted.
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

// Hash is a block's hash if it is at hand; otherwise it is noted as missing
// and fetched by the next call of fetch.
func (v *View) Hash(number uint64) (events.Hash, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h, ok := v.hashes[number]
	if !ok && number <= v.head.Number {
		v.missing[number] = true
	}
	return h, ok
}

// Fetch reads the missing hashes from the chain and reports whether there
// were any.
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

// LookUp is a block's hash, from the chain if it is not at hand. An answer
// that a reorganisation overtook is not kept: it may be of the branch that is
// gone.
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

// ErrOvertaken: the chain was reorganised while it was asked. Ask again.
var ErrOvertaken = errors.New("the chain was reorganised while it was asked")

// Wake has all who wait look again: what they wait for is not of the head alone.
func (v *View) Wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.moved)
	v.moved = make(chan struct{})
}

// Wait returns the first head, from now on, that satisfies the condition.
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
