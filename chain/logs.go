package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// logFilter is the argument of eth_getLogs.
type logFilter struct {
	Address   common.Address  `json:"address"`
	Topics    [][]common.Hash `json:"topics,omitempty"`
	FromBlock *hexutil.Uint64 `json:"fromBlock,omitempty"`
	ToBlock   *hexutil.Uint64 `json:"toBlock,omitempty"`
	BlockHash *common.Hash    `json:"blockHash,omitempty"`
}

// logsBetween reads a contract's logs of a range of blocks, both ends included. A range
// that is too much for the node is halved until it is not.
func (c *conn) logsBetween(
	ctx context.Context, contract common.Address, topics [][]common.Hash, from, to uint64,
) ([]types.Log, error) {
	first, last := hexutil.Uint64(from), hexutil.Uint64(to)
	var logs []types.Log
	err := c.call(ctx, &logs, "eth_getLogs",
		logFilter{Address: contract, Topics: topics, FromBlock: &first, ToBlock: &last})
	if err == nil {
		return logs, nil
	}
	if from == to || !tooMuch(err) {
		return nil, fmt.Errorf("logs of blocks %d to %d: %w", from, to, err)
	}
	middle := from + (to-from)/2
	logs, err = c.logsBetween(ctx, contract, topics, from, middle)
	if err != nil {
		return nil, err
	}
	rest, err := c.logsBetween(ctx, contract, topics, middle+1, to)
	if err != nil {
		return nil, err
	}
	return append(logs, rest...), nil
}

// tooMuch recognises how nodes say that a range of blocks, or its result, is too large.
// A complaint about too many requests is not that: asking twice would make it worse.
func tooMuch(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		return false
	}
	said := strings.ToLower(err.Error())
	if containsAny(said, "rate limit", "too many requests", "429", "quota") {
		return false
	}
	return containsAny(said, "more than", "too large", "too many", "exceed", "limit", "range",
		"timed out", "timeout", "response size")
}
