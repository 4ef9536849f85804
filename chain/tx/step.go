package tx

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
)

// observation is what a step sees of the chain.
type observation struct {
	head  *rpc.Header
	count uint64 // of our mined transactions
	fresh bool   // the newest block differs from that of the last step
	// behind: this node lags behind what was already seen. That it does not know something means
	// nothing.
	behind bool
}

// step looks at the chain once and does what follows for every intent. However many there are, all
// questions go out in one request, and so do all transactions.
func (m *Manager) step(ctx context.Context) error {
	if err := m.Failure(); err != nil {
		m.failWaiters(err)
		return err
	}
	now, err := m.look(ctx)
	if m.answers = err == nil; err != nil {
		return err
	}
	m.watchFees(now.head)
	m.watchNonces(ctx, now)
	if err := m.Failure(); err != nil {
		m.failWaiters(err)
		return err
	}
	if err := m.follow(ctx, now); err != nil {
		return err
	}
	if err := m.watchPool(ctx, now); err != nil {
		return fmt.Errorf("look into the node's pool: %w", err)
	}
	if now.fresh && !now.behind {
		m.fillGaps(ctx, now)
	}
	m.letGo(now)
	if err := m.launch(ctx, now); err != nil {
		return err
	}
	m.seen = now.head.Hash
	err = m.publish(ctx)
	m.tidy()
	return err
}

// follow looks after what was sent.
func (m *Manager) follow(ctx context.Context, now observation) error {
	if err := m.recheck(ctx); err != nil {
		return fmt.Errorf("look for earlier receipts: %w", err)
	}
	if m.suspect && !now.behind {
		if err := m.reopen(ctx, now); err != nil {
			return fmt.Errorf("look for dropped transactions: %w", err)
		}
		m.suspect = false
	}
	var used, waiting []*intent
	for _, in := range m.book.open {
		if !in.sent() || !now.fresh && in.sentAt != 0 {
			continue
		}
		if in.sentAt == 0 {
			in.sentAt = uint64(now.head.Number)
		}
		if now.count > in.last().nonce {
			used = append(used, in)
		} else {
			waiting = append(waiting, in)
		}
	}
	if !now.behind {
		if err := m.followUsed(ctx, used, now); err != nil {
			return fmt.Errorf("look for receipts: %w", err)
		}
	}
	if err := m.followWaiting(ctx, waiting, now); err != nil {
		return fmt.Errorf("look after what is in flight: %w", err)
	}
	return nil
}

// failWaiters answers everybody who waits that nothing is sent any more.
func (m *Manager) failWaiters(why error) {
	for _, in := range m.book.open {
		m.answer(in, result{err: why})
	}
	for _, r := range m.rechecks {
		r.wait <- result{err: why}
	}
	m.rechecks = nil
}

// look reads the newest block, the number of our mined transactions, and whether the newest block
// of the last look is still on the chain.
func (m *Manager) look(ctx context.Context) (observation, error) {
	m.lookedAt = time.Now()
	head, mined, again, err := m.conn.LookAt(ctx, m.account, m.lastHead)
	if err != nil {
		return observation{}, err
	}
	now := observation{head: head, count: mined, fresh: head.Hash != m.seen}
	switch last := m.lastHead; {
	case last == nil:
		m.suspect = true // Much may have happened while nobody looked.
	case !head.Head().Displaces(last.Head()):
		now.behind, now.count = true, max(now.count, m.lastCount)
		return now, nil
	case again == nil || again.Hash != last.Hash:
		m.suspect = true
	}
	if now.fresh {
		if err := m.blocks.Measure(ctx, m.conn, head); err != nil {
			m.log.WithError(err).Debug("transactions: measure the block time")
		}
	}
	m.lastHead, m.lastCount = head, now.count
	return now, nil
}

// late says that the next block may be too late for an intent.
func (m *Manager) late(in *intent, head *rpc.Header) bool {
	if in.lastBlock != 0 && uint64(head.Number) >= in.lastBlock {
		return true
	}
	return !in.deadline.IsZero() && head.Head().Time.Add(m.blocks.Pace()).After(in.deadline)
}

// watching says that a receipt may still be undone. Until then the chain is looked at although
// nothing is to be sent.
func (m *Manager) watching() bool {
	return m.lastHead == nil || m.book.newestReceipt+watchedBlocks > uint64(m.lastHead.Number)
}

// watchPause is the time between two looks at the chain when nothing is under way: half a block
// time, or less where blocks come faster than their timestamps say.
func (m *Manager) watchPause() time.Duration {
	const polls = 50
	poll := m.blocks.Poll()
	return max(poll, min(m.blocks.Pace()/2, polls*poll))
}

// idlePause is the time between two looks at the chain when nothing of ours can change: short
// enough to find other users of the account in the newest blocks.
func (m *Manager) idlePause() time.Duration {
	const share, polls = 2, 100
	usual, known := m.blocks.Usual()
	if !known {
		usual = time.Second
	}
	return max(m.watchPause(), min(time.Minute, foreignBlocks/share*usual, polls*m.blocks.Poll()))
}

// tidy keeps memory and file small.
func (m *Manager) tidy() {
	if !m.copier.drained() { // Until then only the outbox has them.
		return
	}
	m.book.forget(maxDoneIntents)
	if m.outbox.size < compactBytes {
		return
	}
	if err := m.outbox.compact(m.book.needed()); err != nil {
		m.log.WithError(err).Error("transactions: compact the outbox")
	}
}
