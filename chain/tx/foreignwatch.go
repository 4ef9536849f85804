package tx

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file notices, while the host runs, when somebody else uses the account: a nonce is used, and
// not by us. The transactions in the newest blocks show by whom.

const (
	// foreignBlocks is the number of newest blocks in which the transaction is searched for.
	foreignBlocks = 64
	// foreignBatch is the number of blocks in one request; they come with all their transactions.
	foreignBatch = 8
	// reportPause is the least time between two reports of the same sort of use to the operator.
	reportPause = time.Hour
	// lastLookTime is how long a stop may wait for the chain.
	lastLookTime = 2 * time.Second
)

// foreignWatch is what is known about other users of the account.
type foreignWatch struct {
	alone   bool   // there is only the outbox, and any other user ends this process
	atStart uint64 // mined transactions at the start

	untold   []recordedUse      // with RecordFirst, until they are in the record
	empty    int                // blocks in which the foreign transaction was not found
	reported map[bool]time.Time // when the operator was last told of another host (true), or of anything else (false)
}

// watchNonces checks whether more of the account's transactions were mined than we know of, and
// records the number, so that what was reported once does not stop the next start. If it was
// another host and this one has just started, this one ends and records nothing. Without a store this
// one ends in any case, and records only what was certainly no host's.
func (m *Manager) watchNonces(ctx context.Context, now observation) {
	known := max(m.book.known, m.others.atStart)
	if now.behind || !now.fresh || now.count <= known || m.cfg.DutiesOnly {
		return
	}
	found, err := m.foreign(ctx, known)
	if err != nil { // It is asked again with the next block.
		m.log.WithError(err).Debug("transactions: look who else used the account")
		return
	}
	if m.others.empty++; len(found) == 0 && m.others.empty < usedElsewhereBlocks {
		return
	}
	m.others.empty = 0
	use := m.foreignUse(found, known, now.count)
	if m.recordUse(use) {
		return
	}
	if m.report(use) && (use.Host || use.Transaction.Zero()) {
		return
	}
	m.writeUse(use)
}

func (m *Manager) writeUse(use ForeignUse) {
	if err := m.write(observed(use.Mined, "while the host ran: "+use.String()), ""); err != nil {
		m.log.WithError(err).Error("transactions: record that somebody else used the account")
	}
}

// recordUse records a use with RecordFirst, and leaves it to tellRecorded to report it: if the
// account has another owner by now, it was his, and the append fails.
func (m *Manager) recordUse(use ForeignUse) bool {
	if !m.cfg.RecordFirst || m.others.alone {
		return false
	}
	revision := m.outbox.next
	m.writeUse(use)
	m.others.untold = append(m.others.untold, recordedUse{use, revision})
	return true
}

// tellRecorded reports the uses that are in the record by now.
func (m *Manager) tellRecorded() {
	for len(m.others.untold) > 0 && m.copier.has(m.others.untold[0].revision) && m.Failure() == nil {
		m.report(m.others.untold[0].ForeignUse)
		m.others.untold = m.others.untold[1:]
	}
}

// recordedUse is a use whose event has a revision.
type recordedUse struct {
	ForeignUse
	revision uint64
}

// lostNonces finds out who used nonces that were ours.
func (m *Manager) lostNonces(ctx context.Context, used []uint64, now observation) {
	if len(used) == 0 || m.cfg.DutiesOnly {
		return
	}
	lowest := slices.Min(used)
	found, err := m.foreign(ctx, lowest)
	if err != nil || len(found) == 0 {
		m.log.WithError(err).Debug("transactions: find out who used the nonce")
		return
	}
	if use := m.foreignUse(found, lowest, now.count); !m.recordUse(use) {
		m.report(use)
	}
}

// foreign are the account's transactions in the newest blocks that are not ours, from a nonce on,
// newest first.
func (m *Manager) foreign(ctx context.Context, nonce uint64) (found []rpc.Transaction, err error) {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[common.Hash]bool{}
	for _, in := range m.book.intents {
		for _, a := range in.attempts {
			ours[a.hash] = true
		}
	}
	top := uint64(head.Number)
	for upTo := top; upTo+foreignBlocks > top; upTo -= foreignBatch {
		all, err := m.conn.TransactionsOf(ctx, m.account, upTo, min(foreignBatch, upTo))
		if err != nil {
			return nil, err
		}
		for _, tx := range all {
			if uint64(tx.Nonce) >= nonce && !ours[tx.Hash] {
				found = append(found, tx)
			}
		}
		if len(all) > 0 && uint64(all[len(all)-1].Nonce) <= nonce || upTo <= foreignBatch {
			break
		}
	}
	return found, nil
}

// foreignUse says what somebody else's transactions mean.
func (m *Manager) foreignUse(found []rpc.Transaction, nonce, mined uint64) ForeignUse {
	u := ForeignUse{Nonce: nonce, Mined: mined}
	for _, tx := range found {
		host := tx.To != nil && m.cfg.contract.IsHostCall(*tx.To, tx.Input)
		if u.Host && !host {
			continue
		}
		u.Nonce, u.Transaction, u.Block, u.Host = uint64(tx.Nonce), events.Hash(tx.Hash), tx.Block, host
	}
	newer := !m.cfg.TakeOver && !m.cfg.RecordFirst && time.Since(m.cfg.Began) < newcomerFor
	u.Ends = m.others.alone || u.Host && newer
	u.FormerOwner = m.cfg.RecordFirst && (u.Host || u.Transaction.Zero())
	return u
}

// foreignSuspected says that somebody else may have used the account: more was mined than is known, or
// something else than what we sent. Without a store, nothing is sent for the first time until that
// is clear.
func (m *Manager) foreignSuspected(now observation) bool {
	if !m.others.alone {
		return false
	}
	lost := func(in *intent) bool { return in.usedElsewhere > 0 }
	return now.count > max(m.book.known, m.others.atStart) || slices.ContainsFunc(m.book.open, lost)
}

// report reports a use by somebody else. It returns true when this host must end: it has just begun,
// and the other one is a host.
func (m *Manager) report(u ForeignUse) (ends bool) {
	m.log.Warnf("transactions: %s; the account's key must be used by this host alone", u)
	o := &m.others
	if last, before := o.reported[u.Host]; !u.Ends && before && time.Since(last) < reportPause {
		return false
	}
	o.reported[u.Host] = time.Now()
	if m.cfg.UsedElsewhere != nil {
		m.cfg.UsedElsewhere(u)
	}
	if u.Ends {
		why := "and this one has just started"
		if o.alone {
			why = "and without the event store nobody knows more"
		}
		m.copier.fail(fmt.Errorf("%w: %s, %s", ErrUsedElsewhere, u, why))
	}
	return u.Ends
}

// lastLook looks at the chain once more before a stop, so that a wallet's transaction of the last
// minute does not stop the next start.
func (m *Manager) lastLook() {
	if m.Failure() != nil || !m.answers {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastLookTime)
	defer cancel()
	if now, err := m.look(ctx); err == nil {
		now.fresh = true
		m.watchNonces(ctx, now)
	}
}
