package tx

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
)

// heads follows the chain's newest block, and how many of the account's transactions are mined.
type heads struct {
	*node
	rec *record

	lookedAt  time.Time   // when the last look at the chain began, by the machine's clock
	seen      common.Hash // the newest block at the last step
	lastHead  *rpc.Header // the newest block of all steps
	anchor    *rpc.Header // the newest of them that the next look compares with the chain
	lastCount uint64      // mined transactions, at the newest block
	suspect   bool        // blocks may have been dropped since receipts were returned
}

// observation is what a step sees of the chain.
type observation struct {
	head  *rpc.Header
	count uint64 // of our mined transactions
	fresh bool   // the newest block differs from that of the last step
	// behind: this node lags behind what was already seen. That it does not know something means
	// nothing.
	behind bool
}

// look reads the newest block, the number of our mined transactions, and whether the newest block
// of the last look is still on the chain. That a node does not have that one yet says nothing.
func (h *heads) look(ctx context.Context) (now observation, err error) {
	h.lookedAt = time.Now()
	var again *rpc.Header
	last, anchor := h.lastHead, h.anchor
	h.asking(func() { now.head, now.count, again, err = h.conn.LookAt(ctx, h.account, anchor) })
	switch {
	case err != nil:
		return observation{}, err
	case last == nil:
		h.suspect = true // Much may have happened while nobody looked.
	case !now.head.Head().Displaces(last.Head()):
		now.behind, now.count = true, max(now.count, h.lastCount)
		return now, nil
	case again != nil && again.Hash != anchor.Hash, now.head.Number == last.Number && now.head.Hash != last.Hash,
		now.head.Number == last.Number+1 && now.head.Parent != last.Hash:
		h.suspect = true
	}
	if !h.suspect { // Without a reorganisation it can only grow; of several nodes one may not know that yet.
		now.count = max(now.count, h.lastCount)
	}
	if anchor == nil || again != nil {
		h.anchor = now.head
	}
	if now.fresh = now.head.Hash != h.seen; now.fresh {
		h.asking(func() {
			if err := h.blocks.Measure(ctx, h.conn, now.head); err != nil {
				h.rec.log.WithError(err).Debug("transactions: measure the block time")
			}
		})
	}
	h.lastHead, h.lastCount = now.head, now.count
	return now, nil
}

// watching says that a receipt may still be undone. Until then the chain is looked at although
// nothing is to be sent.
func (h *heads) watching() bool {
	return h.lastHead == nil || h.rec.book.newestReceipt+watchedBlocks > uint64(h.lastHead.Number)
}

// watchPause is the time between two looks at the chain when nothing is under way: half a block
// time, or less where blocks come faster than their timestamps say.
func (h *heads) watchPause() time.Duration {
	const polls = 50
	poll := h.blocks.Poll()
	return max(poll, min(h.blocks.Pace()/2, polls*poll))
}

// idlePause is the time between two looks at the chain when nothing of ours can change: short
// enough to find other users of the account in the newest blocks.
func (h *heads) idlePause() time.Duration {
	const share, polls = 2, 100
	usual, known := h.blocks.Usual()
	if !known {
		usual = time.Second
	}
	return max(h.watchPause(), min(time.Minute, foreignBlocks/share*usual, polls*h.blocks.Poll()))
}
