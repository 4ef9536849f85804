package feed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ethereum/go-ethereum"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
)

// Finality says which blocks count as permanent. It is safe for concurrent use.
type Finality struct {
	conn          *rpc.Conn
	confirmations uint64 // blocks, including the block itself
	tagged        bool   // the tag finalized must have reached the block, too
	log           logrus.FieldLogger

	named atomic.Bool // the node has named a final block before
	told  atomic.Bool // it was logged that the node has no final block
}

// NewFinality demands so many confirmations, and the tag finalized too if tagged is set.
func NewFinality(c *rpc.Conn, confirmations uint64, tagged bool, log logrus.FieldLogger) *Finality {
	return &Finality{conn: c, confirmations: confirmations, tagged: tagged, log: log}
}

// Final says whether a block counts as permanent: it has the configured confirmations and, if that
// is demanded, the tag finalized has reached it. On a chain without that tag, confirmations are
// enough. The caller makes sure that the block is on the chain.
func (f *Finality) Final(ctx context.Context, number uint64) (bool, error) {
	head, err := f.conn.Latest(ctx)
	if err != nil {
		return false, fmt.Errorf("whether block %d is final: %w", number, err)
	}
	if uint64(head.Number)+1 < number+f.confirmations {
		return false, nil
	}
	// What follows from finality cannot be undone, so the block of that depth must really be there;
	// the number of the newest block is not enough.
	if _, err := f.conn.ByNumber(ctx, number+f.confirmations-1); err != nil {
		return false, fmt.Errorf("whether block %d is final: %w", number, err)
	}
	if !f.tagged {
		return true, nil
	}
	tagged, err := f.conn.Tagged(ctx, "finalized")
	switch {
	case err == nil:
		f.named.Store(true)
		return uint64(tagged.Number) >= number, nil
	case !rpc.IsAnswer(err) && !errors.Is(err, ethereum.NotFound):
		return false, fmt.Errorf("whether block %d is final: %w", number, err)
	}
	byConfirmations := !f.named.Load()
	if byConfirmations && !f.told.Swap(true) {
		f.log.WithField("confirmations", f.confirmations).Warnf("the chain names no final block, "+
			"so confirmations alone decide what is permanent: %v", err)
	}
	if !byConfirmations {
		// It had one before: a node that has just started does not know it yet.
		return false, fmt.Errorf("whether block %d is final: %w: the node does not say which block is final now: %w",
			number, rpc.ErrUnavailable, err)
	}
	return true, nil
}

// Newest is the newest block that counts as permanent when head is the newest; nil: none does.
func (f *Finality) Newest(ctx context.Context, head *rpc.Header) (*rpc.Header, error) {
	deep := head
	if back := f.confirmations - 1; back > 0 {
		var err error
		if deep, err = f.conn.ByNumber(ctx, uint64(head.Number)-min(back, uint64(head.Number))); err != nil {
			return nil, err
		}
	}
	if !f.tagged {
		return deep, nil
	}
	tagged, err := f.conn.Tagged(ctx, "finalized")
	if err == nil && tagged.Number < deep.Number {
		return tagged, nil
	}
	if final, err := f.Final(ctx, uint64(deep.Number)); err != nil || !final {
		return nil, err
	}
	return deep, nil
}
