package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/internal/retry"
)

// Waker wakes one goroutine when there may be a new block. It only gives hints: subscriptions die
// silently, so it also wakes when nothing was heard for a while.
type Waker struct {
	conn    *Conn
	blocks  *BlockTime
	heads   chan announced
	session *Session
	sub     *rpc.ClientSubscription
	// misses counts the waits in a row that ended without a hint; top is the newest block when the
	// last wait began.
	misses int
	top    uint64
}

// announced is a new block. Nothing of it is used.
type announced struct {
	Number string `json:"number"`
}

// NewWaker is a waker for one goroutine. It subscribes at the first wait.
func NewWaker(c *Conn, blocks *BlockTime) *Waker { return &Waker{conn: c, blocks: blocks} }

// Wait returns when there may be a block after top, or when ctx ends. look is how long to wait for
// a hint, after so many waits without one.
func (w *Waker) Wait(ctx context.Context, top uint64, look func(misses int) time.Duration) {
	if w.misses > 0 && top > w.top {
		// There was a new block, and the subscription did not announce it: it is dead.
		w.Close()
	}
	w.top = top
	if !w.listen(ctx) {
		_ = retry.Sleep(ctx, w.blocks.Poll())
		return
	}
	timer := time.NewTimer(look(w.misses))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.heads:
		w.misses = 0
		for len(w.heads) > 0 { // One look at the chain answers them all.
			<-w.heads
		}
	case <-w.sub.Err():
		w.Close()
	case <-timer.C:
		w.misses++
	}
}

// listen makes sure that there is a subscription. It returns false once when that is new, because
// blocks may have come before it; the follower then looks again.
func (w *Waker) listen(ctx context.Context) bool {
	l, err := w.conn.Current(ctx)
	if err != nil {
		return false
	}
	if w.sub != nil && w.session == l {
		return true
	}
	w.Close()
	if !l.client.SupportsSubscriptions() || l.at.noSubscription.Load() {
		return false // It is tried again every now and then.
	}
	heads := make(chan announced, 64)
	timed, cancel := context.WithTimeout(ctx, l.at.patience.limit())
	defer cancel()
	l.count.message(rpc.BatchElem{Method: "eth_subscribe"})
	sub, err := l.client.EthSubscribe(timed, heads, "newHeads")
	if IsAnswer(err) || errors.Is(err, rpc.ErrNotificationsUnsupported) {
		l.at.noSubscription.Store(true)
	}
	if err != nil {
		return false
	}
	w.session, w.sub, w.heads = l, sub, heads
	return false
}

// Close ends the subscription. The next wait makes a new one.
func (w *Waker) Close() {
	if w.sub != nil {
		w.sub.Unsubscribe()
		w.sub, w.session = nil, nil
	}
	w.misses = 0
}
