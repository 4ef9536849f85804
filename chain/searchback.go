package chain

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/chain/rpc"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// maxSearchRanges is how many ranges of blocks a search for an old log goes back.
const maxSearchRanges = 5000

// search is for logs of a contract with certain topics.
type search struct {
	contract common.Address
	topics   [][]common.Hash
	first    uint64 // the block before which there is none
	step     uint64 // the most blocks in one question
}

// back gives a contract's logs to match, newest first, until it says that it has
// found what it looks for.
func (s search) back(ctx context.Context, c *rpc.Conn, match func(*types.Log) (bool, error)) error {
	head, err := c.Latest(ctx)
	if err != nil {
		return err
	}
	to := uint64(head.Number)
	for range maxSearchRanges {
		from := max(s.first, to-min(to, s.step-1))
		logs, err := c.LogsBetween(ctx, s.contract, s.topics, from, to)
		if err != nil {
			return err
		}
		for _, l := range slices.Backward(logs) {
			if done, err := match(&l); done || err != nil {
				return err
			}
		}
		if from == 0 || from <= s.first {
			return nil
		}
		to = from - 1
	}
	return nil
}
