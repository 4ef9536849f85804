package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum"
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

// LogsBetween reads a contract's logs in a range of blocks, both ends included, in their order. If
// the range is too much for the node it is read in pieces, and the result is complete or an error.
// A node may have blocks that it cannot search yet, as go-ethereum has for a moment; these are read
// one by one.
func (c *Conn) LogsBetween(
	ctx context.Context, contract common.Address, topics [][]common.Hash, from, to uint64,
) ([]types.Log, error) {
	var logs []types.Log
	searched := to // the last block that may be searched, as far as we know
	for from <= to {
		last := c.span.last(from, max(from, min(to, searched)))
		some, err := c.LogsOnce(ctx, contract, topics, from, last)
		if IsBehind(err) && from == last {
			some, err = c.logsOfUnsearched(ctx, contract, topics, from)
		}
		switch {
		case IsBehind(err) && from < last:
			searched = from + (last-from)/2
			continue
		case err == nil && (from == last || !looksCut(len(some))):
			c.span.worked(last - from + 1)
			logs = append(logs, some...)
			from, searched = last+1, to
		case err == nil || from < last && tooMuch(err):
			c.span.failed(last - from + 1)
		default:
			if errors.Is(err, context.DeadlineExceeded) { // A smaller range may be answered in time.
				c.span.failed(last - from + 1)
			}
			return nil, fmt.Errorf("logs of blocks %d to %d: %w", from, last, err)
		}
	}
	slices.SortStableFunc(logs, func(a, b types.Log) int {
		return cmp.Or(cmp.Compare(a.BlockNumber, b.BlockNumber), cmp.Compare(a.Index, b.Index))
	})
	return logs, nil
}

// LogsOfBlock reads a contract's logs in one block, by its hash.
func (c *Conn) LogsOfBlock(
	ctx context.Context, contract common.Address, topics [][]common.Hash, hash common.Hash, number uint64,
) ([]types.Log, error) {
	return c.logsOfBlock(ctx, logsAnswer{
		filter: logFilter{Address: contract, Topics: topics, BlockHash: &hash}, number: number,
	})
}

func (c *Conn) logsOfBlock(ctx context.Context, answer logsAnswer) (logs []types.Log, err error) {
	err = untilThere(ctx, func() (lags bool, err error) {
		logs, err = c.logsFor(ctx, answer)
		return IsBehind(err), err
	})
	return logs, err
}

// logsOfUnsearched reads the logs of one of the newest blocks by its hash, which needs no index. It
// asks for all logs with the first topic, so that the block's bloom filter shows when the node does
// not give them yet.
func (c *Conn) logsOfUnsearched(
	ctx context.Context, contract common.Address, topics [][]common.Hash, number uint64,
) ([]types.Log, error) {
	block, err := c.ByNumber(ctx, number)
	if err != nil {
		return nil, err
	}
	kind := topics[:min(len(topics), 1)]
	logs, err := c.logsOfBlock(ctx, logsAnswer{
		filter: logFilter{Address: contract, Topics: kind, BlockHash: &block.Hash}, number: number,
	})
	if err == nil && len(logs) == 0 && block.MayHold(contract, kind) {
		err = fmt.Errorf("%w of block %d", errLogsNotThere, number)
	}
	wanted := logFilter{Topics: topics}
	return slices.DeleteFunc(logs, func(l types.Log) bool { return !wanted.matches(l.Topics) }), err
}

// errLogsNotThere: a node has a block and not yet its logs, or the bloom filter matched by chance.
var errLogsNotThere = errors.New("the node does not have the logs yet")

// IsBehind recognises how nodes say that they do not have a block yet, or cannot search that far: Besu, Erigon and
// Reth say "block not found", Nethermind "could not be found".
func IsBehind(err error) bool {
	if err == nil {
		return false
	}
	said := strings.ToLower(err.Error())
	return errors.Is(err, errLogsNotThere) || errors.Is(err, ethereum.NotFound) ||
		containsAny(said, "beyond current head", "beyond head", "unknown block", "header not found",
			"block not found", "could not be found")
}

// LogsOnce is LogsBetween in one request: a range that is too much for the node is an error.
func (c *Conn) LogsOnce(
	ctx context.Context, contract common.Address, topics [][]common.Hash, from, to uint64,
) ([]types.Log, error) {
	first, last := hexutil.Uint64(from), hexutil.Uint64(to)
	return c.logsFor(ctx, logsAnswer{
		filter: logFilter{Address: contract, Topics: topics, FromBlock: &first, ToBlock: &last},
	})
}

func (c *Conn) logsFor(ctx context.Context, answer logsAnswer) ([]types.Log, error) {
	if err := c.call(ctx, &answer, "eth_getLogs", answer.filter); err != nil {
		return nil, err
	}
	return answer.logs, nil
}

// Some nodes cut long results without saying so, always at a round number.
const (
	leastCut = 500
	roundCut = 100
)

// looksCut says whether a result may be incomplete.
func looksCut(logs int) bool { return logs >= leastCut && logs%roundCut == 0 }

// span is the number of blocks that the node takes in one search for logs, as far as is known. It
// is safe for concurrent use.
type span struct {
	mu    sync.Mutex
	most  uint64 // 0: no limit is known
	works int    // successful searches in a row
}

// growAfter is the number of successful searches in a row after which a larger range is tried.
const growAfter = 16

func (s *span) last(from, to uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most == 0 || to-from < s.most {
		return to
	}
	return from + s.most - 1
}

func (s *span) worked(blocks uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most == 0 || blocks < s.most {
		return
	}
	if s.works++; s.works >= growAfter {
		s.most, s.works = 2*s.most, 0
	}
}

func (s *span) failed(blocks uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.works = max(1, blocks/2), 0
}

// tooMuch recognises how nodes say that a range of blocks, or its result, is too large. It leaves
// out rate limits: with those, asking in pieces would make it worse.
func tooMuch(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		return false
	}
	said := strings.ToLower(err.Error())
	return containsAny(said, "more than", "too large", "too many", "exceed", "limit", "range",
		"timed out", "timeout", "response size")
}
