package tx

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/events"
)

// This file answers questions about the account's transactions.

// ask is f with the state. It never waits for the node.
func ask[T any](m *Manager, f func() T) (answer T, err error) {
	err = m.with(func() { answer = f() })
	return answer, err
}

// Idle waits until no transaction whose key begins with a prefix is under way.
func (m *Manager) Idle(ctx context.Context, prefix string) error {
	return m.quiet(ctx, func(base string) bool { return strings.HasPrefix(base, prefix) })
}

// quiet waits until no transaction with one of these keys is under way. Those that a reorganisation undid are
// under way again: if one of these may be among them, it waits for a look at the chain, which all who
// wait have in common.
func (m *Manager) quiet(ctx context.Context, meant func(base string) bool) error {
	undone := func(in *intent) bool { return meant(in.base) }
	looked, err := ask(m, func() chan struct{} {
		if m.heads.lastHead != nil && (time.Since(m.heads.lookedAt) < m.blocks.Poll() ||
			!slices.ContainsFunc(m.rec.book.watched(uint64(m.heads.lastHead.Number)), undone)) {
			return nil
		}
		m.wanted = true
		return m.looked
	})
	if err != nil {
		return err
	}
	if looked != nil {
		hint(m.wake)
		select {
		case <-looked:
		case <-m.stopped:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	waits, err := ask(m, func() (waits []chan result) {
		for _, in := range m.rec.book.open {
			if meant(in.base) {
				wait := make(chan result, 1)
				in.waiters = append(in.waiters, wait)
				waits = append(waits, wait)
			}
		}
		return waits
	})
	if err != nil {
		return err
	}
	for _, wait := range waits {
		_, err := m.await(ctx, wait)
		if errors.Is(err, ErrStopped) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Intent is a call that was wanted, whatever became of it.
type Intent struct {
	Key         string // without the try
	Correlation string
}

// Intents are the calls whose keys begin with a prefix, as far back as the outbox goes, each key
// once: finished ones first, then by age.
func (m *Manager) Intents(prefix string) ([]Intent, error) {
	return ask(m, func() (all []Intent) {
		seen := map[string]bool{}
		for _, in := range slices.Concat(m.rec.book.doneLog, m.rec.book.open) {
			if strings.HasPrefix(in.base, prefix) && !seen[in.base] {
				seen[in.base] = true
				all = append(all, Intent{in.base, in.correlation})
			}
		}
		return all
	})
}

// Succeeded waits until no transaction with one of these keys is under way, and returns the hashes
// of those that succeeded, oldest first.
func (m *Manager) Succeeded(ctx context.Context, meant func(base string) bool) ([]common.Hash, error) {
	if err := m.quiet(ctx, meant); err != nil {
		return nil, err
	}
	return ask(m, func() (hashes []common.Hash) {
		for _, in := range m.rec.book.doneLog {
			if in.succeeded && meant(in.base) {
				hashes = append(hashes, common.HexToHash(in.receipt.GetTxHash()))
			}
		}
		return hashes
	})
}

// Earlier is the newest of Succeeded; false: there is none.
func (m *Manager) Earlier(ctx context.Context, meant func(base string) bool) (hash common.Hash, ok bool, err error) {
	hashes, err := m.Succeeded(ctx, meant)
	if err != nil || len(hashes) == 0 {
		return hash, false, err
	}
	return hashes[len(hashes)-1], true, nil
}

// Revision is the next revision of the account's record.
func (m *Manager) Revision() (uint64, error) {
	return ask(m, func() uint64 { return m.rec.outbox.next })
}

// SpentOn is the gas that the newest successful call of a kind used; zero: there was none.
func (m *Manager) SpentOn(kind string) uint64 {
	gas, _ := m.outcomes.spent.Load(kind)
	spent, _ := gas.(uint64)
	return spent
}

// Processed says whether everything was done that follows from a block for the transactions under way;
// also true when there are none, or the manager is stopped.
func (m *Manager) Processed(block events.Hash) bool {
	looked, err := ask(m, func() bool { return !m.busy() || m.heads.seen == common.Hash(block) })
	return err != nil || looked
}

// Compact rewrites the outbox without old entries, as happens by itself when it has grown large.
func (m *Manager) Compact() error {
	failed, err := ask(m, func() error { return m.rec.outbox.compact(m.rec.book.needed()) })
	return errors.Join(failed, err)
}
