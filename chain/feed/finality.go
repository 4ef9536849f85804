package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
)

// Finality says which blocks can be taken for permanent. It is safe for concurrent use.
type Finality struct {
	conn          *rpc.Conn
	confirmations uint64 // blocks, the first one included
	tagged        bool   // the chain's tag finalized is demanded, too
	log           logrus.FieldLogger

	mu    sync.Mutex
	named bool // it named a final block
	told  bool // that it has none was said
}

// NewFinality goes by so many confirmations, and by the tag finalized if that is demanded, too.
func NewFinality(c *rpc.Conn, confirmations uint64, tagged bool, log logrus.FieldLogger) *Finality {
	return &Finality{conn: c, confirmations: confirmations, tagged: tagged, log: log}
}

// Final says whether a block, and what it holds, can be taken for permanent: it has the
// configured confirmations and, if that is demanded, the tag finalized has reached it. A
// chain that has no such tag goes by confirmations. Whoever asks makes sure that the
// block is on the chain.
func (f *Finality) Final(ctx context.Context, number uint64) (bool, error) {
	head, err := f.conn.Latest(ctx)
	if err != nil {
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	if uint64(head.Number)+1 < number+f.confirmations {
		return false, nil
	}
	// What is done next cannot be taken back, so the depth is not taken from one number.
	if _, err := f.conn.ByNumber(ctx, number+f.confirmations-1); err != nil {
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	if !f.tagged {
		return true, nil
	}
	tagged, err := f.conn.Tagged(ctx, "finalized")
	switch {
	case err == nil:
		f.found()
		return uint64(tagged.Number) >= number, nil
	case !rpc.IsAnswer(err) && !errors.Is(err, ethereum.NotFound):
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	byConfirmations, first := f.missing()
	if first {
		f.log.WithField("confirmations", f.confirmations).Warnf("the chain names no final block, "+
			"so confirmations alone decide what is permanent: %v", err)
	}
	if !byConfirmations {
		// It had one before: a node that was just started does not know it yet.
		return false, fmt.Errorf("is block %d final: %w: the node does not say which block is final now: %w",
			number, rpc.ErrUnavailable, err)
	}
	return true, nil
}

// Newest is the newest block that counts as permanent, at a head; nil: none does now.
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

func (f *Finality) found() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.named = true
}

// missing says whether confirmations decide, and whether that has not been said yet.
func (f *Finality) missing() (byConfirmations, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.named {
		return false, false
	}
	first = !f.told
	f.told = true
	return true, first
}
