package chain

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// newBlocks wakes one goroutine when there may be a new block. What it says is only a hint:
// subscriptions die silently, so it also wakes when nothing was heard for a while.
type newBlocks struct {
	conn   *conn
	blocks *blockTime
	heads  chan struct {
		Number string `json:"number"`
	}
	link *link
	sub  *rpc.ClientSubscription
	// misses is how often in a row nothing was heard; top the newest block when the last
	// wait began.
	misses int
	top    uint64
}

func newNewBlocks(c *conn, blocks *blockTime) *newBlocks { return &newBlocks{conn: c, blocks: blocks} }

// wait returns when there may be news after the block top, or when ctx ends. look is how long to
// wait for word of it after so many waits without any.
func (a *newBlocks) wait(ctx context.Context, top uint64, look func(misses int) time.Duration) {
	if a.misses > 0 && top > a.top {
		// There was a new block, and the subscription did not say so: it is dead.
		a.close()
	}
	a.top = top
	if !a.listen(ctx) {
		sleep(ctx, a.blocks.poll())
		return
	}
	timer := time.NewTimer(look(a.misses))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-a.heads:
		a.misses = 0
		a.drain()
	case <-a.sub.Err():
		a.close()
	case <-timer.C:
		a.misses++
	}
}

// drain forgets further hints; one look at the chain answers them all.
func (a *newBlocks) drain() {
	for {
		select {
		case <-a.heads:
		default:
			return
		}
	}
}

// listen makes sure that there is a subscription. When it is new, blocks may have come
// before it, so it says no once, and the follower looks again.
func (a *newBlocks) listen(ctx context.Context) bool {
	l, err := a.conn.get(ctx)
	if err != nil {
		return false
	}
	if a.sub != nil && a.link == l {
		return true
	}
	a.close()
	if !l.client.SupportsSubscriptions() || l.at.noSubscription.Load() {
		return false // It is asked every now and then.
	}
	heads := make(chan struct {
		Number string `json:"number"`
	}, 64)
	timed, cancel := context.WithTimeout(ctx, a.conn.cfg.timeout)
	defer cancel()
	l.count.message(rpc.BatchElem{Method: "eth_subscribe"})
	sub, err := l.client.EthSubscribe(timed, heads, "newHeads")
	if isAnswer(err) || errors.Is(err, rpc.ErrNotificationsUnsupported) {
		l.at.noSubscription.Store(true)
	}
	if err != nil {
		return false
	}
	a.link, a.sub, a.heads = l, sub, heads
	return false
}

func (a *newBlocks) close() {
	if a.sub != nil {
		a.sub.Unsubscribe()
		a.sub, a.link = nil, nil
	}
	a.misses = 0
}
