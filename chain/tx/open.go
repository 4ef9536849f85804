package tx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file opens the account: it reads the outbox and the stream, and checks whether another process
// used the account.

// errNoStore: there is no event store yet; the start of the host waits for it.
var errNoStore = fmt.Errorf("%w: the start waits for it", events.ErrAway)

// catchUpTimeout is how long the start waits for the event store. A new owner of an account needs all
// of its stream, however long it is.
const (
	catchUpTimeout    = 5 * time.Second
	catchUpAsNewOwner = time.Minute
)

// Open opens the account's outbox in a directory, adds what only its stream has, checks whether
// another process used the account, and takes up the transactions of the last run.
func Open(
	ctx context.Context, cfg Config, c *rpc.Conn, blocks *rpc.BlockTime, store events.Store, dir string,
) (*Manager, error) {
	var err error
	if cfg.contract, err = joined(cfg.Contracts); err != nil {
		return nil, err
	}
	cfg.UnknownNonceBlocks = cmp.Or(cfg.UnknownNonceBlocks, defaultUnknownBlocks)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of the outbox: %w", err)
	}
	stream := events.TxStream(events.Address(cfg.Account))
	box, entries, err := openOutbox(filepath.Join(dir, stream+".outbox"), outboxOwner{
		Stream: stream, ChainID: cfg.Chain.ChainID, Genesis: cfg.Chain.Genesis.String(),
	})
	if errors.Is(err, ErrForeignOutbox) {
		return nil, fmt.Errorf("%w; %s is on chain %d with genesis %s", err, c.Reachability().Endpoint,
			cfg.Chain.ChainID, cfg.Chain.Genesis)
	}
	if err != nil {
		return nil, err
	}
	m, err := cfg.openWith(ctx, c, blocks, store, box, entries)
	if err != nil {
		return nil, errors.Join(err, box.close())
	}
	return m, nil
}

func (cfg *Config) openWith(
	ctx context.Context, c *rpc.Conn, blocks *rpc.BlockTime, store events.Store, box *outbox, entries []entry,
) (*Manager, error) {
	entries, copied, away, err := cfg.join(ctx, store, box, entries)
	if err != nil {
		return nil, err
	}
	mined, told, err := cfg.notElsewhere(ctx, c, entries, away)
	if err != nil {
		return nil, err
	}
	cfg.tellTip(ctx, c)
	if told == nil && cfg.RecordFirst && store != nil {
		// An earlier owner that still sends learns from the revision that it lost the account.
		told = observed(mined, "a new owner of the account began")
	}
	if told != nil {
		r, err := box.add(told, "")
		if err != nil {
			return nil, err
		}
		entries = append(entries, r)
	}
	var pending []entry
	for _, r := range entries {
		if r.Revision >= copied {
			pending = append(pending, r)
		}
	}
	others := &foreignWatch{
		atStart: mined, alone: store == nil && !cfg.DutiesOnly, reported: map[bool]time.Time{},
	}
	return start(*cfg, c, blocks, others, box, entries, startCopier(*cfg, store, box.owner.Stream, pending)), nil
}

// join adds to the outbox what only the account's stream has. It returns all entries, and the
// number of those that are in the stream. away says why the stream cannot be read; then that is
// left for later.
func (cfg *Config) join(
	ctx context.Context, store events.Store, box *outbox, entries []entry,
) (all []entry, copied uint64, away, err error) {
	if store == nil {
		if box.next == 0 && !cfg.DutiesOnly {
			return nil, 0, nil, fmt.Errorf("%w, and the outbox %s was never used", errNoStore, box.path)
		}
		return entries, box.copied, errNoStore, nil
	}
	patience := catchUpTimeout
	if cfg.RecordFirst {
		patience = catchUpAsNewOwner
	}
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	missing, copied, err := catchUp(timed, store, box.owner.Stream, entries, box.next)
	switch {
	case cfg.RecordFirst && errors.Is(err, ErrTakenOver):
		if all, copied, err = cfg.merge(timed, store, box, entries); err != nil {
			err = fmt.Errorf("merge the outbox with the account's record: %w", err)
		}
		return all, copied, nil, err
	case errors.Is(err, ErrTakenOver), err != nil && box.next == 0:
		return nil, 0, nil, fmt.Errorf("read the account's record: %w", err)
	case err == nil && copied < box.copied:
		entries, err = cfg.renumber(timed, store, box, entries, copied)
		return entries, copied, nil, err
	case err != nil:
		copied, away = box.copied, err
		cfg.Log.WithError(err).Warn("transactions: the event store is away, going on without")
	}
	if len(missing) == 0 {
		return entries, copied, away, nil
	}
	if cfg.RecordFirst {
		cfg.Log.Infof("transactions: the account's record has %d more events than the outbox: others owned it, or the "+
			"outbox is new", len(missing))
	} else {
		cfg.Log.Warnf("transactions: the outbox %s lacked %d of the %d events in the account's record (was it lost, "+
			"emptied or cut?); it was completed from the event store", box.path, len(missing), copied)
	}
	for some := range slices.Chunk(missing, copyBatch) {
		if err := box.put(some...); err != nil {
			return nil, 0, nil, err
		}
	}
	return append(entries, missing...), copied, away, nil
}
