package tx

import (
	"errors"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
)

// node is the node that is asked about the account. While it answers, the manager's state is let go of.
type node struct {
	mu      *sync.Mutex // of the manager's state
	conn    *rpc.Conn
	blocks  *rpc.BlockTime
	account common.Address
}

// asking lets go of the state while f asks the node. What others add meanwhile is new calls and waiters.
func (n *node) asking(f func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	f()
}

// together does tasks at the same time. Each has the state to itself but while it asks the node, and none
// depends on another: what a node refuses to tell holds up nothing else.
func (n *node) together(tasks ...func() error) error {
	errs := make([]error, len(tasks))
	n.asking(func() {
		var all sync.WaitGroup
		for i, task := range tasks {
			all.Go(func() {
				n.mu.Lock()
				defer n.mu.Unlock()
				errs[i] = task()
			})
		}
		all.Wait()
	})
	return errors.Join(errs...)
}

// late says that the next block may be too late for an intent.
func (n *node) late(in *intent, head *rpc.Header) bool {
	if in.lastBlock != 0 && uint64(head.Number) >= in.lastBlock {
		return true
	}
	return !in.deadline.IsZero() && head.Head().Time.Add(n.blocks.Pace()).After(in.deadline)
}
