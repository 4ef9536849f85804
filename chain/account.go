package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// This file opens the account: its outbox, what its stream has, and who else used it.

// errNoStore: the start of the host waits for its event store.
var errNoStore = fmt.Errorf("%w: the start waits for it", events.ErrAway)

// catchUpTimeout is how long the start waits for the event store.
const catchUpTimeout = 5 * time.Second

func (m *Market) openAccount(ctx context.Context, store events.Store, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of the outbox: %w", err)
	}
	stream := events.TxStream(m.Account())
	box, records, err := openOutbox(filepath.Join(dir, stream+".outbox"), outboxOwner{
		Stream: stream, ChainID: m.identity.ChainID, Genesis: m.identity.Genesis.String(),
	})
	if errors.Is(err, ErrForeignOutbox) {
		return fmt.Errorf("%w; %s is on chain %d with genesis %s", err, m.Standing().Endpoint,
			m.identity.ChainID, m.identity.Genesis)
	}
	if err != nil {
		return err
	}
	records, copied, away, err := m.join(ctx, store, box, records)
	if err != nil {
		return errors.Join(err, box.close())
	}
	mined, observed, err := m.notElsewhere(ctx, records, away)
	if err != nil {
		return errors.Join(err, box.close())
	}
	if observed != nil {
		r, err := box.add(observed, "")
		if err != nil {
			return errors.Join(err, box.close())
		}
		records = append(records, r)
	}
	var pending []record
	for _, r := range records {
		if r.Revision >= copied {
			pending = append(pending, r)
		}
	}
	m.outbox = box
	m.copier = startCopier(m.cfg, store, stream, pending)
	m.tx = startTxManager(txConfig{
		confirmations: m.cfg.Confirmations, stuckBlocks: m.cfg.StuckBlocks,
		maxFeeCapWei: m.cfg.MaxFeeCapWei, minTipWei: m.cfg.MinTipWei, maxTipWei: m.cfg.MaxTipWei,
		maxInFlight: int(m.cfg.MaxInFlight), fillHold: m.cfg.FillHold, feeLimited: m.cfg.FeeLimited,
	}, vigil{
		contract: m.contract, calls: hostCalls(m.abis), began: m.cfg.Began, stays: m.cfg.TakeOver, atStart: mined,
		alone: store == nil, tell: m.cfg.UsedElsewhere, told: map[bool]time.Time{},
	}, m.conn, m.blocks, m.cfg.Key, m.account, m.identity.ChainID, box, records, m.copier, m.cfg.Log)
	return nil
}

// join adds to the outbox what the account's stream has and it has not. It returns all
// records and how many of them are in the stream; away is why the stream cannot be read,
// and then it follows later.
func (m *Market) join(
	ctx context.Context, store events.Store, box *outbox, records []record,
) (all []record, copied uint64, away, err error) {
	if store == nil {
		if box.next == 0 {
			return nil, 0, nil, fmt.Errorf("%w, and the outbox %s was never used", errNoStore, box.path)
		}
		return records, box.copied, errNoStore, nil
	}
	timed, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	missing, copied, err := catchUp(timed, store, box.owner.Stream, records, box.next)
	switch {
	case errors.Is(err, ErrTakenOver), err != nil && box.next == 0:
		return nil, 0, nil, fmt.Errorf("read the account's record: %w", err)
	case err == nil && copied < box.copied:
		records, err = m.renumber(timed, store, box, records, copied)
		return records, copied, nil, err
	case err != nil:
		copied, away = box.copied, err
		m.cfg.Log.WithError(err).Warn("transactions: the event store is away, going on without")
	}
	if len(missing) == 0 {
		return records, copied, away, nil
	}
	m.cfg.Log.Warnf("transactions: the outbox %s lacked %d of the %d events in the account's record (was it lost, "+
		"emptied or cut?); it was completed from the event store", box.path, len(missing), copied)
	for some := range slices.Chunk(missing, copyBatch) {
		if err := box.put(some...); err != nil {
			return nil, 0, nil, err
		}
	}
	return append(records, missing...), copied, away, nil
}
