package tx

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/chain/rpc"
)

// This file finds transactions of the account in the node's pool that the record does not know
// (Config.RecordFirst). A former owner may have sent a proof while the event store was away. Its
// nonce is respected, and nobody outbids it, until it has stayed unmined for
// Config.UnknownNonceBlocks. No method of txpool is needed, which many nodes do not offer.

const (
	// defaultUnknownBlocks is the default of Config.UnknownNonceBlocks.
	defaultUnknownBlocks = 30
	// mostPending is more transactions of one account than any pool holds.
	mostPending = 4096
)

// nonces are those that are in use, also by transactions that only the node's pool knows.
type nonces struct {
	*node
	rec     *record
	pending uint64            // the node's number of the account's transactions, mined or in its pool
	since   map[uint64]uint64 // by unknown nonce, the newest block when it was first seen
}

// next is the nonce after the highest one in use: mined, of an open intent's last attempt, or of
// a transaction in the node's pool that the record does not know.
func (n *nonces) next(count uint64) uint64 {
	next := max(count, n.pending)
	for nonce := range n.since {
		next = max(next, nonce+1)
	}
	for _, o := range n.rec.book.open {
		if o.sent() {
			next = max(next, o.last().nonce+1)
		}
	}
	return next
}

// leftAlone says that a nonce is that of an unknown transaction, and has been for less than some blocks.
func (n *nonces) leftAlone(nonce, head, blocks uint64) bool {
	since, unknown := n.since[nonce]
	return unknown && head < since+blocks
}

// watchPool asks the node for the account's pending transactions. A nonce that was seen once counts even if
// the node, or the next one, no longer has it: others may.
func (n *nonces) watchPool(ctx context.Context, now observation) error {
	if !n.rec.cfg.RecordFirst || !now.fresh && !n.rec.book.hasUnsent() {
		return nil
	}
	var pending uint64
	var known bool
	var err error
	n.asking(func() {
		if pending, known, err = n.conn.PendingBy(ctx, n.account); known && pending > now.count+mostPending {
			err = n.conn.Disbelieve(ctx, "for the account's pending transactions",
				fmt.Errorf("it has %d, and %d are mined", pending, now.count))
		}
	})
	if err != nil {
		return err
	}
	ours := map[uint64]bool{}
	for _, in := range n.rec.book.open {
		for _, a := range in.attempts {
			ours[a.nonce] = true
		}
	}
	for nonce := range n.since {
		if nonce < now.count || ours[nonce] {
			delete(n.since, nonce)
		}
	}
	if !known || now.behind {
		return nil
	}
	n.pending = pending
	for nonce := now.count; nonce < pending; nonce++ {
		if _, seen := n.since[nonce]; seen || ours[nonce] {
			continue
		}
		if n.since == nil {
			n.since = map[uint64]uint64{}
		}
		n.since[nonce] = uint64(now.head.Number)
		n.rec.log.Warnf("transactions: the node has a transaction with nonce %d that is not in the record; another "+
			"member may have sent it while the event store, or the owner, was away. It is left alone for %d blocks",
			nonce, n.rec.cfg.UnknownNonceBlocks)
	}
	return nil
}

func (b *book) hasUnsent() bool {
	return slices.ContainsFunc(b.open, func(in *intent) bool { return !in.sent() })
}

// noteRival notes that a node refuses an attempt because it has another transaction with that nonce. If no
// attempt of ours was ever taken, that is one which the record does not know.
func (n *nonces) noteRival(in *intent, head *rpc.Header) {
	if !n.rec.cfg.RecordFirst || in.taken || in.gap || in.contested != 0 {
		return
	}
	for _, o := range n.rec.book.intents {
		if o != in && o.hasNonce(in.last().nonce) { // It is known.
			return
		}
	}
	in.contested = uint64(head.Number)
	n.rec.log.WithField("tx", in.key).Warnf("transactions: the node has another transaction with nonce %d that is not "+
		"in the record; another member may have sent it while the event store, or the owner, was away. It is not "+
		"outbid for %d blocks", in.last().nonce, n.rec.cfg.UnknownNonceBlocks)
}
