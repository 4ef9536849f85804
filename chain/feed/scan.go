package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// begin sets a zero cursor to the block before the contract's deployment.
func (f *Follower[E]) begin(ctx context.Context, at *cursor, head *rpc.Header) error {
	first, err := f.deployment(ctx, uint64(head.Number))
	if err != nil {
		return err
	}
	before, err := seen(f.conn.ByNumber(ctx, first-min(first, 1)))
	if err != nil {
		return err
	}
	at.move(before)
	return nil
}

// deployment finds the block in which the contract got its code, by binary search. If the node no
// longer has old states it starts earlier, which only takes longer.
func (f *Follower[E]) deployment(ctx context.Context, head uint64) (uint64, error) {
	if f.cfg.DeployedAt != 0 {
		return f.cfg.DeployedAt, nil
	}
	low, high := uint64(0), head
	for low < high {
		middle := low + (high-low)/2
		there, known, err := f.conn.HasCode(ctx, f.cfg.Contract, middle)
		if err != nil || !known {
			return 0, err
		}
		if there {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

// leap delivers old blocks in ranges, up to and including block to.
func (f *Follower[E]) leap(
	ctx context.Context, at *cursor, to uint64, hand func(events.ChainUpdateOf[E]) error,
) error {
	for at.number < to {
		last, found, err := f.logsUpTo(ctx, at.number+1, to)
		if err != nil {
			return err
		}
		// An update ends with a complete block, so a long result is cut between two blocks.
		if len(found) > maxUpdateLogs {
			cut := found[maxUpdateLogs].BlockNumber - 1
			if cut <= at.number {
				cut = at.number + 1
			}
			last = min(last, cut)
			found = slices.DeleteFunc(found, func(l types.Log) bool { return l.BlockNumber > last })
		}
		end, err := seen(f.conn.ByNumber(ctx, last))
		if err != nil {
			return err
		}
		if last == at.number+1 && end.Parent != at.hash {
			return gap(end, at)
		}
		blocks, err := f.blocksOf(ctx, found)
		if err != nil {
			return err
		}
		logs, err := f.translate(ctx, found, func(h common.Hash) *rpc.Header { return blocks[h] })
		if err != nil {
			return err
		}
		if err := hand(events.ChainUpdateOf[E]{Head: end.Head(), Logs: logs}); err != nil {
			return err
		}
		for hash, block := range blocks {
			at.recent[uint64(block.Number)] = hash
		}
		at.move(end)
	}
	return nil
}

// logsUpTo reads the logs of a range of old blocks, or of its beginning up to block last.
func (f *Follower[E]) logsUpTo(ctx context.Context, first, to uint64) (last uint64, found []types.Log, err error) {
	if len(f.readers) == 0 {
		return to, nil, nil
	}
	last = min(to, first-1+f.cfg.LogRange)
	found, err = f.conn.LogsBetween(ctx, f.cfg.Contract, f.topics, first, last)
	return last, found, err
}

// blocksOf reads the blocks that hold the logs.
func (f *Follower[E]) blocksOf(ctx context.Context, logs []types.Log) (map[common.Hash]*rpc.Header, error) {
	var hashes []common.Hash
	for _, l := range logs {
		if !slices.Contains(hashes[max(0, len(hashes)-1):], l.BlockHash) { // They come in order.
			hashes = append(hashes, l.BlockHash)
		}
	}
	found, err := f.conn.BlocksByHash(ctx, hashes)
	if err != nil {
		return nil, err
	}
	blocks := map[common.Hash]*rpc.Header{}
	for i, hash := range hashes {
		if found[i] == nil {
			return nil, fmt.Errorf("%w: it gave a log of block %s and does not have that block", ErrNotYet, hash)
		}
		blocks[hash] = found[i]
	}
	return blocks, nil
}

// logsOf reads the logs of one block, by its hash.
func (f *Follower[E]) logsOf(ctx context.Context, block *rpc.Header) ([]types.Log, error) {
	if len(f.readers) == 0 {
		return nil, nil
	}
	return logsOf(ctx, f.conn, f.cfg.Contract, f.topics, block)
}

func logsOf(
	ctx context.Context, c *rpc.Conn, contract common.Address, topics [][]common.Hash, block *rpc.Header,
) ([]types.Log, error) {
	hash, number := block.Hash, uint64(block.Number)
	ofOthers := func(l types.Log) bool { return l.BlockHash != hash }
	logs, err := c.LogsOfBlock(ctx, contract, topics, hash, number)
	if err != nil && !rpc.IsAnswer(err) {
		return nil, fmt.Errorf("logs of a block: %w", err)
	}
	logs = slices.DeleteFunc(logs, ofOthers)
	if err == nil && (len(logs) > 0 || !block.MayHold(contract, topics)) {
		return logs, nil
	}
	refused := err != nil
	// The block may have logs after all, or the node cannot search by hash (EIP-234), so ask by
	// number: some nodes announce a block before they know its logs, and answer with none.
	again, err := c.LogsOnce(ctx, contract, topics, number, number)
	if err != nil {
		return nil, notThere(ctx, c, block, fmt.Errorf("logs of a block: %w", err))
	}
	if again = slices.DeleteFunc(again, ofOthers); len(again) > 0 || !refused {
		return again, nil
	}
	if same, err := holds(ctx, c, number, hash); err != nil || !same { // They may belong to another block.
		return nil, errors.Join(err, fmt.Errorf("%w: block %d changed", ErrNotYet, number))
	}
	return nil, nil
}

// notThere tells a node that does not have this block, any more or yet, from one that does not
// answer.
func notThere(ctx context.Context, c *rpc.Conn, block *rpc.Header, err error) error {
	switch {
	case !rpc.IsAnswer(err):
		return err
	case rpc.IsBehind(err):
		return fmt.Errorf("%w: it does not have block %d: %w", ErrNotYet, uint64(block.Number), err)
	}
	if same, look := holds(ctx, c, uint64(block.Number), block.Hash); look != nil || same {
		return err
	}
	return fmt.Errorf("%w: block %d changed: %w", ErrNotYet, uint64(block.Number), err)
}
