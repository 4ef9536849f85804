package tx

import (
	"context"
	"errors"
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

// step looks at the chain once and does what follows for every intent. However many there are, questions of a
// kind go out in one request, different ones at the same time, and so do all transactions.
func (m *Manager) step(ctx context.Context) error {
	defer m.tellLooked()
	now, err := m.look(ctx)
	if m.answers = err == nil; err != nil {
		return err
	}
	m.fees.watchFees(now.head, m.rec.book.open)
	var watching, unclear error // They wait for the next block.
	err = m.together(
		func() error { watching = m.watchNonces(ctx, now); return nil },
		func() error { return m.recheck(ctx) },
		func() error { return m.reopen(ctx, now) },
		func() (err error) { unclear, err = m.followUsed(ctx, now); return err },
		func() error { return m.followWaiting(ctx, now) },
	)
	if failed := m.Failure(); failed != nil {
		m.failWaiters(failed)
		return failed
	}
	if now.fresh {
		m.fillGaps(ctx, now)
	}
	m.letGo(now)
	if err = errors.Join(err, m.send(ctx, now)); err == nil && !now.behind {
		m.seen = now.head.Hash
	}
	m.tidy()
	return errors.Join(err, watching, unclear)
}

// send sends what is new, and again what has to be.
func (m *Manager) send(ctx context.Context, now observation) error {
	err := m.watchPool(ctx, now)
	if err != nil {
		err = fmt.Errorf("look into the node's pool: %w", err)
	} else {
		err = m.launch(ctx, now)
	}
	return errors.Join(err, m.publish(ctx))
}

// toFollow says that it is time to look after an intent that was sent: once for each block, and at once after a
// restart.
func (in *intent) toFollow(now observation) bool {
	if !in.sent() || !now.fresh && in.sentAt != 0 {
		return false
	}
	if in.sentAt == 0 {
		in.sentAt = uint64(now.head.Number)
	}
	return true
}

// failWaiters answers everybody who waits that nothing is sent any more.
func (m *Manager) failWaiters(why error) {
	for _, in := range m.rec.book.open {
		m.rec.answer(in, result{err: why})
	}
	for _, r := range m.rechecks {
		r.wait <- result{err: why}
	}
	m.rechecks = nil
}

// look reads the newest block, the number of our mined transactions, and whether the newest block
// of the last look is still on the chain. That a node does not have that one yet says nothing.
func (m *Manager) look(ctx context.Context) (now observation, err error) {
	m.lookedAt = time.Now()
	var again *rpc.Header
	last, anchor := m.lastHead, m.anchor
	m.asking(func() { now.head, now.count, again, err = m.conn.LookAt(ctx, m.account, anchor) })
	switch {
	case err != nil:
		return observation{}, err
	case last == nil:
		m.suspect = true // Much may have happened while nobody looked.
	case !now.head.Head().Displaces(last.Head()):
		now.behind, now.count = true, max(now.count, m.lastCount)
		return now, nil
	case again != nil && again.Hash != anchor.Hash, now.head.Number == last.Number && now.head.Hash != last.Hash,
		now.head.Number == last.Number+1 && now.head.Parent != last.Hash:
		m.suspect = true
	}
	if !m.suspect { // Without a reorganisation it can only grow; of several nodes one may not know that yet.
		now.count = max(now.count, m.lastCount)
	}
	if anchor == nil || again != nil {
		m.anchor = now.head
	}
	if now.fresh = now.head.Hash != m.seen; now.fresh {
		m.asking(func() {
			if err := m.blocks.Measure(ctx, m.conn, now.head); err != nil {
				m.log.WithError(err).Debug("transactions: measure the block time")
			}
		})
	}
	m.lastHead, m.lastCount = now.head, now.count
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
	return m.lastHead == nil || m.rec.book.newestReceipt+watchedBlocks > uint64(m.lastHead.Number)
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
	if !m.rec.copier.drained() { // Until then only the outbox has them.
		return
	}
	m.rec.book.forget(maxDoneIntents)
	if m.rec.outbox.size < compactBytes {
		return
	}
	if err := m.rec.outbox.compact(m.rec.book.needed()); err != nil {
		m.log.WithError(err).Error("transactions: compact the outbox")
	}
}
