package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum"
)

// finality remembers what the chain says about its tag finalized.
type finality struct {
	mu    sync.Mutex
	named bool // it named a final block
	told  bool // that it has none was said
}

// Final says whether a block, and what it holds, can be taken for permanent: it has the
// configured confirmations and, if that is demanded, the tag finalized has reached it. A
// chain that has no such tag goes by confirmations. Whoever asks makes sure that the
// block is on the chain.
func (m *Market) Final(ctx context.Context, number uint64) (bool, error) {
	head, err := m.conn.latest(ctx)
	if err != nil {
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	if uint64(head.Number)+1 < number+m.cfg.Confirmations {
		return false, nil
	}
	// What is done next cannot be taken back, so the depth is not taken from one number.
	if _, err := m.conn.byNumber(ctx, number+m.cfg.Confirmations-1); err != nil {
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	if !m.cfg.Finalized {
		return true, nil
	}
	tagged, err := m.conn.tagged(ctx, "finalized")
	switch {
	case err == nil:
		m.finality.found()
		return uint64(tagged.Number) >= number, nil
	case !isAnswer(err) && !errors.Is(err, ethereum.NotFound):
		return false, fmt.Errorf("is block %d final: %w", number, err)
	}
	byConfirmations, first := m.finality.missing()
	if first {
		m.cfg.Log.WithField("confirmations", m.cfg.Confirmations).Warnf("the chain names no final block, "+
			"so confirmations alone decide what is permanent: %v", err)
	}
	if !byConfirmations {
		// It had one before: a node that was just started does not know it yet.
		return false, fmt.Errorf("is block %d final: %w: the node does not say which block is final now: %w",
			number, ErrUnavailable, err)
	}
	return true, nil
}

func (f *finality) found() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.named = true
}

// missing says whether confirmations decide, and whether that has not been said yet.
func (f *finality) missing() (byConfirmations, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.named {
		return false, false
	}
	first = !f.told
	f.told = true
	return true, first
}
