package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/internal/retry"
)

// readConstants checks which chain this is, and reads what never changes in the contract.
func (m *Market) readConstants(ctx context.Context) error {
	found, err := m.conn.Identity(ctx)
	if err != nil {
		return err
	}
	m.identity = found
	return m.meetToken(ctx)
}

func (m *Market) meetToken(ctx context.Context) error {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return err
	}
	var address common.Address
	token := viewOf(m.contract, m.abis.market.PackToken(), m.abis.market.UnpackToken, &address)
	token.Must(token.IsAddress)
	if err := m.conn.Views(ctx, m.account, head.Hash, token); err != nil {
		return err
	}
	if token.Err != nil {
		return &rpc.IdentityError{
			Reason: rpc.ErrNoContract,
			Want:   "a marketplace at " + m.contract.Hex(),
			Got:    fmt.Sprintf("a contract that does not name its token (%v)", token.Err),
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.token; known != address && known != (common.Address{}) {
		m.cfg.Log.Warnf("the market pays in the token %s; a node that is no longer believed had named %s",
			address, known)
	}
	m.token = address
	return nil
}

// TokenSays is what the token's contract answers to symbol() and decimals(), as bytes of the ABI, which are not
// checked; empty: it has no such method.
func (m *Market) TokenSays(ctx context.Context) (symbol, decimals []byte, err error) {
	token := m.tokenAddress()
	as := func(raw []byte) ([]byte, error) { return raw, nil }
	_, _, err = m.conn.ViewsNewest(ctx, m.account, rpc.Reads(
		viewOf(token, m.abis.token.PackSymbol(), as, &symbol),
		viewOf(token, m.abis.token.PackDecimals(), as, &decimals),
	))
	if err != nil {
		return nil, nil, fmt.Errorf("ask the token what it is called: %w", err)
	}
	return symbol, decimals, nil
}

// rereadPause is the pause between two tries of rereadConstants.
const rereadPause = 250 * time.Millisecond

// rereadConstants reads what never changes in the contract once more, because the node that it came from
// gave an impossible answer.
func (m *Market) rereadConstants(ctx context.Context) {
	m.mu.Lock()
	m.config = nil
	m.mu.Unlock()
	for ctx.Err() == nil && m.meetToken(ctx) != nil {
		_ = retry.Sleep(ctx, rereadPause)
	}
}

func (m *Market) tokenAddress() common.Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.token
}
