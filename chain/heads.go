package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum"

	"github.com/hostnode/hostnode/events"
)

// maxHeadsPerBatch is how many blocks one batch of calls asks for: providers refuse
// larger ones.
const maxHeadsPerBatch = 100

// HeadsBetween are the blocks from first to last on the current chain, in their order,
// in few calls. A reorganisation in between shows: then a block's parent is not the
// one before it.
func (m *Market) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	heads := make([]events.Head, 0, last-first+1)
	for from := first; from <= last; from += maxHeadsPerBatch {
		to := min(last, from+maxHeadsPerBatch-1)
		numbers := make([]uint64, 0, maxHeadsPerBatch)
		for n := from; n <= to; n++ {
			numbers = append(numbers, n)
		}
		found, err := m.conn.headers(ctx, numbers)
		if err != nil {
			return nil, fmt.Errorf("read blocks %d to %d: %w", from, to, err)
		}
		for _, n := range numbers {
			if found[n] == nil {
				return nil, fmt.Errorf("read blocks %d to %d: block %d: %w", from, to, n, ethereum.NotFound)
			}
			heads = append(heads, found[n].head())
		}
	}
	return heads, nil
}
