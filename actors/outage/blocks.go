package outage

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

const (
	// blocksKept is how many blocks a challenge can reach back from the next one.
	blocksKept = 256
	// paceSpan is how many blocks their pace is measured over.
	paceSpan = 64
)

// blocks are the newest blocks of the chain, without a gap and in order.
type blocks []events.Head

// learn takes a new newest block and reads the missing ones before it. Blocks that a
// reorganisation replaced are read again.
func (b *blocks) learn(ctx context.Context, m Market, head events.Head) error {
	if n := len(*b); n > 0 {
		switch last := (*b)[n-1]; {
		case last.Hash == head.Hash:
			return nil
		case last.Number < head.Number:
			more, err := read(ctx, m, max(last.Number+1, head.Number-min(head.Number, blocksKept-1)), head)
			if err != nil {
				return err
			}
			if more[0].Parent == last.Hash {
				*b = append(*b, more...)
				*b = (*b)[max(0, len(*b)-blocksKept):]
				return nil
			}
		}
	}
	all, err := read(ctx, m, head.Number-min(head.Number, blocksKept-1), head)
	if err != nil {
		return err
	}
	*b = all
	return nil
}

// read reads the blocks from first up to head.
func read(ctx context.Context, m Market, first uint64, head events.Head) (blocks, error) {
	if first == head.Number {
		return blocks{head}, nil
	}
	heads, err := m.HeadsBetween(ctx, first, head.Number)
	if err != nil {
		return nil, fmt.Errorf("read the newest blocks: %w", err)
	}
	for i, h := range heads {
		if h.Number != first+uint64(i) || i > 0 && h.Parent != heads[i-1].Hash {
			return nil, fmt.Errorf("block %d does not follow the one before it", first+uint64(i))
		}
	}
	if len(heads) == 0 || heads[len(heads)-1].Hash != head.Hash {
		return nil, fmt.Errorf("block %d is another one now", head.Number)
	}
	return heads, nil
}

// hash returns a block's hash, if it is known.
func (b blocks) hash(number uint64) (events.Hash, bool) {
	if len(b) == 0 || number < b[0].Number || number > b[len(b)-1].Number {
		return events.Hash{}, false
	}
	return b[number-b[0].Number].Hash, true
}

// shortest is the least time to expect between two blocks.
func (b blocks) shortest(usual time.Duration) time.Duration {
	return duty.Shortest(b[max(0, len(b)-paceSpan):], usual)
}
