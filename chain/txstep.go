package chain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// step looks at the chain once and does what follows for every intent.
func (m *txManager) step(ctx context.Context) error {
	head, count, err := m.look(ctx)
	if err != nil {
		return err
	}
	m.recheck(ctx)
	fresh := head.Hash != m.seen
	for _, in := range slices.Clone(m.book.open) {
		if in.sent() && (fresh || in.sentAt == 0) {
			if err := m.follow(ctx, in, head, count); err != nil {
				return fmt.Errorf("follow %s: %w", in.key, err)
			}
		}
	}
	if err := m.failure(); err != nil {
		m.turnAway(err)
		return err
	}
	if fresh {
		m.fillGaps(ctx, head, count)
	}
	for _, in := range slices.Clone(m.book.open) {
		if !in.sent() {
			if err := m.launch(ctx, in, head, count); err != nil {
				return fmt.Errorf("send %s: %w", in.key, err)
			}
		}
	}
	m.seen = head.Hash
	m.tidy()
	return nil
}

// turnAway tells those whose transactions were not sent that none will be.
func (m *txManager) turnAway(why error) {
	for _, in := range m.book.open {
		if !in.sent() {
			m.answer(in, result{err: why})
		}
	}
}

// look reads the newest block and how many transactions of ours are mined.
func (m *txManager) look(ctx context.Context) (*header, uint64, error) {
	var head *header
	var count hexutil.Uint64
	batch := []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &head},
		{Method: "eth_getTransactionCount", Args: []any{m.account, "latest"}, Result: &count},
	}
	if err := m.conn.batch(ctx, batch); err != nil {
		return nil, 0, err
	}
	for _, e := range batch {
		if e.Error != nil {
			return nil, 0, fmt.Errorf("%s: %w", e.Method, e.Error)
		}
	}
	if head == nil {
		return nil, 0, fmt.Errorf("%w: it names no newest block", ErrUnavailable)
	}
	if p := m.lastHead; p != nil && head.Parent == p.Hash && head.Time > p.Time {
		m.blockTime.Store(int64(head.Time - p.Time))
	}
	m.lastHead = head
	return head, uint64(count), nil
}

// pace is the time from the newest block to the next, as far as we can know.
func (m *txManager) pace() time.Duration {
	return time.Duration(m.blockTime.Load()) * time.Second
}

// late says that the next block may come too late for the deadline.
func (m *txManager) late(deadline time.Time, head *header) bool {
	return !deadline.IsZero() && head.head().Time.Add(m.pace()).After(deadline)
}

// tidy keeps memory and file small.
func (m *txManager) tidy() {
	m.book.forget(maxDoneIntents)
	if m.outbox.size < compactBytes || !m.copier.drained() {
		return
	}
	if err := m.outbox.compact(m.book.needed()); err != nil {
		m.log.WithError(err).Error("transactions: compact the outbox")
	}
}
