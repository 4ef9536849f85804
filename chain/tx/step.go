package tx

import (
	"context"
	"errors"
	"fmt"
)

// step looks at the chain once and does what follows for every intent. However many there are, questions of a
// kind go out in one request, different ones at the same time, and so do all transactions.
func (m *Manager) step(ctx context.Context) error {
	defer m.tellLooked()
	now, err := m.heads.look(ctx)
	if m.answers = err == nil; err != nil {
		return err
	}
	m.fees.watchFees(now.head, m.rec.book.open)
	var watching, unclear error // They wait for the next block.
	err = m.together(
		func() error { watching = m.others.watchNonces(ctx, now); return nil },
		func() error { return m.outcomes.recheck(ctx) },
		func() error { return m.outcomes.reopen(ctx, now) },
		func() (err error) { unclear, err = m.outcomes.followUsed(ctx, now); return err },
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
		m.heads.seen = now.head.Hash
	}
	m.tidy()
	return errors.Join(err, watching, unclear)
}

// send sends what is new, and again what has to be.
func (m *Manager) send(ctx context.Context, now observation) error {
	err := m.nonces.watchPool(ctx, now)
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
	for _, r := range m.outcomes.rechecks {
		r.wait <- result{err: why}
	}
	m.outcomes.rechecks = nil
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
