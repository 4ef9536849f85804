package tx

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file notices, while the host runs, when another process uses the account: a nonce is used, and
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
	*node
	rec     *record
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
func (o *foreignWatch) watchNonces(ctx context.Context, now observation) error {
	known := max(o.rec.book.known, o.atStart)
	if now.behind || !now.fresh || now.count <= known || o.rec.cfg.DutiesOnly {
		return nil
	}
	mined, err := o.minedSince(ctx, now.head, known)
	if err != nil { // It is asked again with the next block.
		return fmt.Errorf("look who else used the account: %w", err)
	}
	found := o.foreign(mined)
	if o.empty++; len(found) == 0 && o.empty < usedElsewhereBlocks {
		return nil
	}
	o.empty = 0
	use := o.foreignUse(found, known, now.count)
	if o.recordUse(use) {
		return nil
	}
	if o.report(use) && (use.Host || use.Transaction.Zero()) {
		return nil
	}
	o.writeUse(use)
	return nil
}

func (o *foreignWatch) writeUse(use ForeignUse) {
	if err := o.rec.write(observed(use.Mined, "while the host ran: "+use.String()), ""); err != nil {
		o.rec.log.WithError(err).Error("transactions: record that somebody else used the account")
	}
}

// recordUse records a use with RecordFirst, and leaves it to tellRecorded to report it: if the
// account has another owner by now, it was his, and the append fails.
func (o *foreignWatch) recordUse(use ForeignUse) bool {
	if !o.rec.cfg.RecordFirst || o.alone {
		return false
	}
	revision := o.rec.outbox.next
	o.writeUse(use)
	o.untold = append(o.untold, recordedUse{use, revision})
	return true
}

// tellRecorded reports the uses that are in the record by now.
func (o *foreignWatch) tellRecorded() {
	for len(o.untold) > 0 && o.rec.copier.has(o.untold[0].revision) && o.rec.copier.failure() == nil {
		o.report(o.untold[0].ForeignUse)
		o.untold = o.untold[1:]
	}
}

// recordedUse is a use whose event has a revision.
type recordedUse struct {
	ForeignUse
	revision uint64
}

// reportLost tells who used nonces that were ours.
func (o *foreignWatch) reportLost(mined []rpc.Transaction, nonces []uint64, now observation) {
	if len(nonces) == 0 {
		return
	}
	o.rec.log.Warnf("transactions: nonces %v were used by transactions that are not ours; the account's key must be "+
		"used by this host alone", nonces)
	if found := o.foreign(mined); len(found) > 0 && !o.rec.cfg.DutiesOnly {
		if use := o.foreignUse(found, slices.Min(nonces), now.count); !o.recordUse(use) {
			o.report(use)
		}
	}
}

// minedSince are the account's transactions in the newest blocks, from a nonce on, newest first.
func (o *foreignWatch) minedSince(
	ctx context.Context, head *rpc.Header, nonce uint64,
) (found []rpc.Transaction, err error) {
	o.asking(func() {
		top := rpc.BlockID{Number: uint64(head.Number), Hash: head.Hash}
		for read := uint64(0); read < foreignBlocks && top.Number > 0; read += foreignBatch {
			var some []rpc.Transaction
			if some, top, err = o.conn.TransactionsOf(ctx, o.account, top, min(foreignBatch, top.Number)); err != nil {
				return
			}
			found = append(found, some...)
			if len(some) > 0 && uint64(some[len(some)-1].Nonce) <= nonce {
				break
			}
		}
	})
	older := func(t rpc.Transaction) bool { return uint64(t.Nonce) < nonce }
	return slices.DeleteFunc(found, older), err
}

// foreign are those transactions that are not ours.
func (o *foreignWatch) foreign(mined []rpc.Transaction) []rpc.Transaction {
	return slices.DeleteFunc(slices.Clone(mined), func(t rpc.Transaction) bool { return o.rec.book.has(t.Hash) })
}

// foreignUse says what another process's transactions mean.
func (o *foreignWatch) foreignUse(found []rpc.Transaction, nonce, mined uint64) ForeignUse {
	u := ForeignUse{Nonce: nonce, Mined: mined}
	for _, tx := range found {
		host := tx.To != nil && o.rec.cfg.contract.IsHostCall(*tx.To, tx.Input)
		if u.Host && !host {
			continue
		}
		u.Nonce, u.Transaction, u.Block, u.Host = uint64(tx.Nonce), events.Hash(tx.Hash), tx.Block, host
	}
	newer := !o.rec.cfg.TakeOver && !o.rec.cfg.RecordFirst && time.Since(o.rec.cfg.Began) < newcomerFor
	u.Ends = o.alone || u.Host && newer
	u.FormerOwner = o.rec.cfg.RecordFirst && (u.Host || u.Transaction.Zero())
	return u
}

// foreignSuspected says that another process may have used the account: more was mined than is known, or
// something else than what we sent. Without a store, nothing is sent for the first time until that
// is clear.
func (o *foreignWatch) foreignSuspected(now observation) bool {
	if !o.alone {
		return false
	}
	lost := func(in *intent) bool { return in.usedElsewhere > 0 || in.lost }
	return now.count > max(o.rec.book.known, o.atStart) || slices.ContainsFunc(o.rec.book.open, lost)
}

// report reports a use by another process. It returns true when this host must end: it has just begun,
// and the other one is a host.
func (o *foreignWatch) report(u ForeignUse) (ends bool) {
	o.rec.log.Warnf("transactions: %s; the account's key must be used by this host alone", u)
	if last, before := o.reported[u.Host]; !u.Ends && before && time.Since(last) < reportPause {
		return false
	}
	o.reported[u.Host] = time.Now()
	if o.rec.cfg.UsedElsewhere != nil {
		o.rec.cfg.UsedElsewhere(u)
	}
	if u.Ends {
		why := "and this one has just started"
		if o.alone {
			why = "and without the event store nobody knows more"
		}
		o.rec.copier.fail(fmt.Errorf("%w: %s, %s", ErrUsedElsewhere, u, why))
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
	now, err := m.heads.look(ctx)
	if err == nil {
		now.fresh = true
		err = m.others.watchNonces(ctx, now)
	}
	if err != nil {
		m.log.WithError(err).Debug("transactions: look at the chain before the end")
	}
}
