package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Reader turns one kind of log into the consumer's type.
type Reader[E any] func(ctx context.Context, l *types.Log, at *messages.ChainLog) (E, error)

// Readers are the readers of a contract's logs, by topic.
type Readers[E any] map[common.Hash]Reader[E]

func (r Readers[E]) topics() []common.Hash {
	return slices.SortedFunc(maps.Keys(r), common.Hash.Cmp)
}

// errSkip marks a log that makes no sense. Only this log is left out.
var errSkip = errors.New("log is skipped")

// Skip is the error of a reader for a log that makes no sense: only this log is left out.
func Skip(err error) error { return fmt.Errorf("%w: %w", errSkip, err) }

// Read is a reader for logs that need nothing but their own content.
func Read[T, E any](
	unpack func(*types.Log) (*T, error),
	message func(*T, *messages.ChainLog) E,
) Reader[E] {
	return func(_ context.Context, l *types.Log, at *messages.ChainLog) (E, error) {
		e, err := unpack(l)
		if err != nil {
			var none E
			return none, Skip(err)
		}
		return message(e, at), nil
	}
}

// translate turns logs into messages, in order and each once. Logs that make no sense are left out
// with a warning; an error means that the node could not be asked.
func (f *Follower[E]) translate(
	ctx context.Context, logs []types.Log, blockOf func(common.Hash) *rpc.Header,
) ([]E, error) {
	type position struct {
		block common.Hash
		index uint
	}
	seen := map[position]bool{}
	var found []E
	for i := range logs {
		l := &logs[i]
		here := position{l.BlockHash, l.Index}
		if l.Removed || seen[here] || l.Address != f.cfg.Contract || len(l.Topics) == 0 {
			continue
		}
		seen[here] = true
		readLog := f.readers[l.Topics[0]]
		if readLog == nil {
			continue
		}
		block := blockOf(l.BlockHash)
		if block == nil {
			return nil, fmt.Errorf("log %d of unknown block %s", l.Index, l.BlockHash)
		}
		if uint64(block.Number) != l.BlockNumber {
			return nil, f.conn.Disbelieve(ctx, "for logs", fmt.Errorf("it names block %s as number %d, which is %d",
				l.BlockHash, l.BlockNumber, uint64(block.Number)))
		}
		e, err := readLog(ctx, l, &messages.ChainLog{
			Block:     uint64(block.Number),
			BlockHash: events.Hash(l.BlockHash).String(),
			Index:     uint32(l.Index),
			TxHash:    events.Hash(l.TxHash).String(),
			Time:      events.TimeToMessage(block.Head().Time),
		})
		if errors.Is(err, errSkip) {
			f.cfg.Log.WithError(err).WithField("tx", l.TxHash).Warn("follow the chain: a log makes no sense")
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}
