package feed

import (
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
)

// maxSearchRanges is the most ranges of blocks that a search goes back.
const maxSearchRanges = 5000

// Search looks for old logs of a contract with certain topics.
type Search struct {
	Contract common.Address
	Topics   [][]common.Hash
	First    uint64 // the first block that can have one
	Step     uint64 // the most blocks in one request
}

// Back hands a contract's logs to match, newest first, until match returns true.
func (s Search) Back(ctx context.Context, c *rpc.Conn, match func(*types.Log) (bool, error)) error {
	head, err := c.Latest(ctx)
	if err != nil {
		return err
	}
	to := uint64(head.Number)
	for range maxSearchRanges {
		from := max(s.First, to-min(to, s.Step-1))
		logs, err := c.LogsBetween(ctx, s.Contract, s.Topics, from, to)
		if err != nil {
			return err
		}
		for _, l := range slices.Backward(logs) {
			if done, err := match(&l); done || err != nil {
				return err
			}
		}
		if from == 0 || from <= s.First {
			return nil
		}
		to = from - 1
	}
	return nil
}
