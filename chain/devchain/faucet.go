package devchain

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// faucetKey is no secret: the account is worth nothing but on this chain.
func faucetKey() *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("hostnode development chain faucet")))
	if err != nil {
		panic("devchain: the faucet's key is fixed and valid: " + err.Error())
	}
	return key
}

// Fund gives an account wei for gas and seals the block that holds the gift.
func (c *Chain) Fund(ctx context.Context, to events.Address, wei events.Amount) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	// The pool knows the faucet's next nonce only when it has seen the newest block.
	if err := c.settle(); err != nil {
		return err
	}
	key := faucetKey()
	nonce, err := c.eth.APIBackend.GetPoolNonce(ctx, crypto.PubkeyToAddress(key.PublicKey))
	if err != nil {
		return fmt.Errorf("fund %s: %w", to, err)
	}
	address := common.Address(to)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(ChainID)),
		&types.DynamicFeeTx{
			ChainID:   big.NewInt(ChainID),
			Nonce:     nonce,
			GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(1000 * params.GWei),
			Gas:       params.TxGas,
			To:        &address,
			Value:     wei.Big(),
		})
	if err != nil {
		return fmt.Errorf("fund %s: %w", to, err)
	}
	if err := c.eth.APIBackend.SendTx(ctx, tx); err != nil {
		return fmt.Errorf("fund %s: %w", to, err)
	}
	if err := c.sealOne(); err != nil {
		return err
	}
	return c.settle()
}

// api is the namespace devchain.
type api struct{ chain *Chain }

// Seal is devchain_seal: n blocks, each one second after its parent.
func (a *api) Seal(ctx context.Context, n uint64) (common.Hash, error) {
	head, err := a.chain.Seal(ctx, n)
	return common.Hash(head.Hash), err
}

// Fork is devchain_fork: see Chain.Fork.
func (a *api) Fork(ctx context.Context, to common.Hash, drop *bool) (common.Hash, error) {
	head, err := a.chain.Fork(ctx, events.Hash(to), drop != nil && *drop)
	return common.Hash(head.Hash), err
}

// Fund is devchain_fund; wei is a decimal number.
func (a *api) Fund(ctx context.Context, to common.Address, wei string) error {
	amount, err := events.ParseAmount(wei)
	if err != nil {
		return err
	}
	return a.chain.Fund(ctx, events.Address(to), amount)
}

// RemoteSeal seals blocks of a chain in another process. The client speaks over IPC or
// comes from Attach.
func RemoteSeal(ctx context.Context, client *rpc.Client, n uint64) error {
	var hash common.Hash
	if err := client.CallContext(ctx, &hash, "devchain_seal", n); err != nil {
		return fmt.Errorf("seal %d blocks: %w", n, err)
	}
	return nil
}

// RemoteFork forks a chain in another process; see Chain.Fork.
func RemoteFork(ctx context.Context, client *rpc.Client, to events.Hash, drop bool) error {
	var hash common.Hash
	if err := client.CallContext(ctx, &hash, "devchain_fork", common.Hash(to), drop); err != nil {
		return fmt.Errorf("fork to %s: %w", to, err)
	}
	return nil
}

// RemoteFund gives wei to an account on a chain in another process.
func RemoteFund(ctx context.Context, client *rpc.Client, to events.Address, wei events.Amount) error {
	err := client.CallContext(ctx, nil, "devchain_fund", common.Address(to), wei.String())
	if err != nil {
		return fmt.Errorf("fund %s: %w", to, err)
	}
	return nil
}
