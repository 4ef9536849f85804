package feed

import (
	"fmt"
	"maps"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// cursor is the position of Follow.
type cursor struct {
	number uint64
	hash   common.Hash // zero before the first block
	time   time.Time   // zero: not known
	recent map[uint64]common.Hash
	told   bool // the consumer was told of some block
}

func cursorFrom(c events.Cursor) *cursor {
	at := &cursor{
		number: c.Number, hash: common.Hash(c.Hash), time: c.Time, recent: map[uint64]common.Hash{},
	}
	for number, hash := range c.Recent {
		at.recent[number] = common.Hash(hash)
	}
	if at.hash != (common.Hash{}) {
		at.recent[at.number] = at.hash
	}
	return at
}

// move sets the cursor after a delivery.
func (c *cursor) move(to *rpc.Header) {
	number := uint64(to.Number)
	c.number, c.hash, c.time = number, to.Hash, to.Head().Time
	c.recent[number] = to.Hash
	if len(c.recent) > 2*recentBlocks {
		maps.DeleteFunc(c.recent, func(n uint64, _ common.Hash) bool { return n+recentBlocks < number })
	}
}

// impossibleBeside says that no chain with this newest block, which is below the cursor's, can
// contain the cursor's block, now or later: the node that named the cursor's block was wrong.
func (c *cursor) impossibleBeside(head *rpc.Header) bool {
	return c.number > events.MaxBlock || !c.time.IsZero() && head.Head().Time.After(c.time)
}

func notAt(head *rpc.Header, at *cursor) error {
	return fmt.Errorf("%w: it is at block %d, and block %d was seen before", ErrNotYet, uint64(head.Number), at.number)
}
