package feed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
)

const (
	// maxSearchRanges is the most ranges of blocks that a search goes back.
	maxSearchRanges = 5000
	// searchChecked is in how many of the newest blocks a search does not believe that there is nothing, if the bloom
	// filter of a block says that there may be: a node that lags may answer with what it has, and each such block is
	// then asked for by its hash.
	searchChecked = 16
)

// Search looks for old logs of a contract with certain topics.
type Search struct {
	Contract common.Address
	Topics   [][]common.Hash
	First    uint64 // the first block that can have one
	Step     uint64 // the most blocks in one request
	// Since is the time of the earliest block that can have one; zero: any. Blocks before it may be searched all
	// the same.
	Since time.Time
}

// Back hands a contract's logs to match, newest first, until match returns true.
func (s Search) Back(ctx context.Context, c *rpc.Conn, match func(*types.Log) (bool, error)) error {
	head, err := c.Latest(ctx)
	if err != nil {
		return err
	}
	before, done, err := s.newest(ctx, c, head, match)
	if done || err != nil {
		return err
	}
	for range maxSearchRanges {
		if before == 0 || before <= s.First {
			return nil
		}
		to := before - 1
		if early, err := s.early(ctx, c, to); early || err != nil {
			return err
		}
		before = max(s.First, before-min(before, s.Step))
		logs, err := c.LogsBetween(ctx, s.Contract, s.Topics, before, to)
		if err != nil {
			return err
		}
		if done, err := backward(logs, match); done || err != nil {
			return err
		}
	}
	return nil
}

// early says that no block up to this one can have a log that is looked for.
func (s Search) early(ctx context.Context, c *rpc.Conn, number uint64) (bool, error) {
	if s.Since.IsZero() {
		return false, nil
	}
	block, err := seen(c.ByNumber(ctx, number))
	return err == nil && block.Head().Time.Before(s.Since), err
}

// newest searches the newest blocks, and returns the first of them.
func (s Search) newest(
	ctx context.Context, c *rpc.Conn, head *rpc.Header, match func(*types.Log) (bool, error),
) (first uint64, done bool, err error) {
	to := uint64(head.Number)
	first = max(s.First, to-min(to, searchChecked-1))
	if first > to {
		return first, false, nil
	}
	blocks, err := c.HeadersBetween(ctx, first, to)
	if err != nil {
		return first, false, err
	}
	found, err := c.LogsBetween(ctx, s.Contract, s.Topics, first, to)
	if err != nil {
		return first, false, err
	}
	next := head.Hash
	for i, block := range slices.Backward(blocks) {
		if block == nil || block.Hash != next {
			return first, false, fmt.Errorf("%w: block %d below block %d", ErrNotYet, first+uint64(i), to)
		}
		next = block.Parent
		logs := slices.DeleteFunc(slices.Clone(found), func(l types.Log) bool { return l.BlockHash != block.Hash })
		if len(logs) == 0 && block.MayHold(s.Contract, s.Topics) {
			if logs, err = logsOf(ctx, c, s.Contract, s.Topics, block); err != nil {
				return first, false, err
			}
		}
		if done, err := backward(logs, match); done || err != nil {
			return first, done, err
		}
	}
	return first, false, nil
}

func backward(logs []types.Log, match func(*types.Log) (bool, error)) (done bool, err error) {
	for _, l := range slices.Backward(logs) {
		if done, err := match(&l); done || err != nil {
			return done, err
		}
	}
	return false, nil
}
