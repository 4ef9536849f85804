package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// This file brings transactions into blocks. On a chain with one host each transaction gets a
// block of its own at once, because the simulator decides when a call is answered. With many
// hosts time would pass with every transaction, before some hosts know the last block. There
// transactions wait together for the next block, which is sealed when nobody has anything left
// to do.

// sent is a transaction that waits for a block, or is in one.
type sent struct {
	tx    *transaction
	mined chan struct{} // closed when a block includes it
	block events.Head   // that block
}

// pooled makes transactions wait for sealPool.
func (b *blockchain) pooled() { b.pool = map[string]*sent{} }

// send brings a transaction into a block, and returns that block. If there is a pool, a
// transaction that the contract would refuse now is not sent. The lock must be held; it is
// released while send waits.
func (b *blockchain) send(ctx context.Context, key string, tx *transaction) (events.Head, error) {
	if b.pool == nil {
		err := b.seal(tx)
		return b.tip().head, err
	}
	if _, err := tx.apply(b.tip().state.clone(), b.next()); err != nil {
		return events.Head{}, err
	}
	s := &sent{tx: tx, mined: make(chan struct{})}
	b.pool[key] = s
	if err := b.await(ctx, s); err != nil {
		return events.Head{}, err
	}
	return s.block, s.tx.err
}

// settled returns when no transaction whose key has this prefix waits for a block, not even one
// of a host that crashed. The lock must be held; it is released while settled waits.
func (b *blockchain) settled(ctx context.Context, key string) error {
	for {
		var found *sent
		for k, s := range b.pool {
			if strings.HasPrefix(k, key) {
				found = s
			}
		}
		if found == nil {
			return nil
		}
		if err := b.await(ctx, found); err != nil {
			return err
		}
	}
}

func (b *blockchain) await(ctx context.Context, s *sent) error {
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-s.mined:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sealPool adds a block with everything that waits, in an order that favours nobody. The lock
// must be held.
func (b *blockchain) sealPool(pause time.Duration) {
	place := func(key string) []byte {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", len(b.blocks), key))
		return sum[:]
	}
	keys := slices.SortedFunc(maps.Keys(b.pool), func(x, y string) int { return bytes.Compare(place(x), place(y)) })
	waiting := b.pool
	b.pooled()
	txs := make([]*transaction, len(keys))
	for i, key := range keys {
		txs[i] = waiting[key].tx
	}
	_ = b.sealAfter(pause, txs...) // Each transaction has its own error.
	for _, s := range waiting {
		s.block = b.tip().head
		close(s.mined)
	}
}

// sentBefore is the mined fill of an attempt, by which a repeated call is recognised.
func (w *world) sentBefore(key fillKey) (events.Fill, bool) {
	mined, ok := w.fills[key]
	ok = ok && w.canonical(mined.Receipt.Block)
	if ok && w.owning.repeats {
		w.offend(SentOnce, "attempt %d at slot %s was filled, and is sent again", key.attempt, key.slot.Short())
	}
	return mined, ok && !w.owning.repeats
}
