package chain

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// requesterGas is enough for each of a client's calls; a request with a long content id costs most.
const requesterGas = 2_000_000

// Requester is the client's side of the market, for trials and tests: one transaction at a time, no
// memory, no second attempt. Its account must not be the host's. Its methods are safe for
// concurrent use.
type Requester struct {
	market  *Market // without a transaction manager
	key     *ecdsa.PrivateKey
	signer  types.Signer
	sending chan struct{}
}

// DialRequester connects a client's account to the market. It uses the settings about endpoints,
// contract, key, time and confirmations.
func DialRequester(ctx context.Context, cfg Config) (*Requester, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		return nil, fmt.Errorf("%w: no key", ErrConfig)
	}
	m, err := dial(ctx, cfg, common.Address(cfg.Account))
	if err != nil {
		return nil, err
	}
	return &Requester{
		market: m, key: cfg.Key, sending: make(chan struct{}, 1),
		signer: types.LatestSignerForChainID(new(big.Int).SetUint64(m.identity.ChainID)),
	}, nil
}

// Close closes the connection.
func (r *Requester) Close() { r.market.conn.Close() }

// Account is the client's address.
func (r *Requester) Account() events.Address { return r.market.Account() }

// Balance is what the client holds.
func (r *Requester) Balance(ctx context.Context) (events.Balance, error) {
	return r.BalanceOf(ctx, r.Account())
}

// BalanceOf is what any account holds.
func (r *Requester) BalanceOf(ctx context.Context, account events.Address) (events.Balance, error) {
	_, b, err := balanceOf(ctx, r.market.conn, r.market.abis, r.market.tokenAddress(), common.Address(account))
	if err != nil {
		return events.Balance{}, fmt.Errorf("read balance: %w", err)
	}
	return b, nil
}

// Config is the contract's configuration; it is read once.
func (r *Requester) Config(ctx context.Context) (events.MarketConfig, error) {
	return r.market.Config(ctx)
}

// TokenSays is that of Market.
func (r *Requester) TokenSays(ctx context.Context) (symbol, decimals []byte, err error) {
	return r.market.TokenSays(ctx)
}

// Mint creates test tokens for an account. Only the token of a development chain can do that.
func (r *Requester) Mint(ctx context.Context, to events.Address, amount events.Amount) error {
	data := r.market.abis.token.PackMint(common.Address(to), amount.Big())
	return r.send(ctx, fmt.Sprintf("mint %s base units for %s", amount, to), r.market.tokenAddress(), data)
}

// Approve lets the marketplace take tokens from the client.
func (r *Requester) Approve(ctx context.Context, amount events.Amount) error {
	data := r.market.abis.token.PackApprove(r.market.contract, amount.Big())
	return r.send(ctx, fmt.Sprintf("approve %s base units", amount), r.market.tokenAddress(), data)
}

// RequestStorage puts a request on the market and returns its id. The request's client is set to
// this account, and its id is computed.
func (r *Requester) RequestStorage(ctx context.Context, request events.Request) (events.RequestID, error) {
	request.Client = r.Account()
	raw, m := requestTo(request), r.market
	if err := r.send(ctx, "request storage", m.contract, m.abis.market.PackRequestStorage(raw)); err != nil {
		return events.RequestID{}, err
	}
	return requestID(m.abis, raw), nil
}

// IDOf is the id that a request of this account has.
func (r *Requester) IDOf(request events.Request) events.RequestID {
	request.Client = r.Account()
	return requestID(r.market.abis, requestTo(request))
}

// Request is a request by its id, or ErrUnknownRequest.
func (r *Requester) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	return r.market.Request(ctx, id)
}

// Slot is what the contract says of a slot, at the newest block.
func (r *Requester) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	return r.market.Slot(ctx, id, index)
}

// Marketplace is the contract's address.
func (r *Requester) Marketplace() events.Address { return events.Address(r.market.contract) }

// ChainID is that of the chain.
func (r *Requester) ChainID() uint64 { return r.market.identity.ChainID }

// RequestState is the state of a request at the newest block, or ErrUnknownRequest.
func (r *Requester) RequestState(ctx context.Context, id events.RequestID) (events.RequestState, error) {
	m := r.market
	var state uint8
	v := viewOf(m.contract, m.abis.market.PackRequestState(id), m.abis.market.UnpackRequestState, &state)
	if _, err := m.conn.ReadNewest(ctx, m.account, rpc.Reads(v)); err != nil {
		return 0, fmt.Errorf("state of request %s: %w", id.Short(), err)
	}
	return events.RequestState(state), nil
}

// WithdrawFunds collects what is left of the client's payment for a request that is over, or is
// ErrNothingLeft.
func (r *Requester) WithdrawFunds(ctx context.Context, id events.RequestID) error {
	data := r.market.abis.market.PackWithdrawFunds(id)
	return r.send(ctx, "withdraw funds of request "+id.Short(), r.market.contract, data)
}

// send signs, sends and waits for the confirmations. Its errors say what was being done.
func (r *Requester) send(ctx context.Context, doing string, to common.Address, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", doing, err)
		}
	}()
	select {
	case r.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.sending }()
	head, err := r.market.conn.Latest(ctx)
	if err != nil {
		return err
	}
	tried := r.market.conn.CallOn(ctx, "latest", r.market.account, rpc.Trial{To: to, Data: data, Gas: requesterGas})
	if refusal, reverted := rpc.RevertData(tried); reverted {
		return outcomes.Of(refusal)
	}
	nonce, err := r.market.conn.MinedBy(ctx, r.market.account)
	if err != nil {
		return err
	}
	tip := big.NewInt(1_000_000_000)
	tx, err := types.SignNewTx(r.key, r.signer, &types.DynamicFeeTx{
		ChainID: r.signer.ChainID(), Nonce: nonce, GasTipCap: tip,
		GasFeeCap: new(big.Int).Add(new(big.Int).Lsh(head.LeastPrice(), 1), tip),
		Gas:       requesterGas, To: &to, Data: data,
	})
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	refusals, err := r.market.conn.Send(ctx, []*types.Transaction{tx})
	if err != nil {
		return err
	}
	if refusals[0] != nil {
		return refusals[0]
	}
	return r.wait(ctx, tx.Hash())
}

func (r *Requester) wait(ctx context.Context, tx common.Hash) error {
	for {
		receipt, err := r.market.conn.Receipt(ctx, tx)
		if err != nil && !errors.Is(err, rpc.ErrUnavailable) {
			return err
		}
		if receipt != nil {
			if receipt.Status != types.ReceiptStatusSuccessful {
				return fmt.Errorf("%w: transaction %s", events.ErrReverted, tx)
			}
			head, err := r.market.conn.Latest(ctx)
			deep := receipt.BlockNumber.Uint64() + r.market.cfg.Confirmations - 1
			if err == nil && uint64(head.Number) >= deep {
				return nil
			}
		}
		pause := min(cmp.Or(r.market.cfg.PollInterval, time.Second), time.Second)
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
