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

	"github.com/hostnode/hostnode/events"
)

// faucetKey is no secret: the account is worth nothing outside this chain.
func faucetKey() *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("hostnode development chain faucet")))
	if err != nil {
		panic("devchain: the faucet's key is fixed and valid: " + err.Error())
	}
	return key
}

// Fund gives an account wei for gas, and seals the block of the payment.
func (c *Chain) Fund(ctx context.Context, to events.Address, wei events.Amount) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	// The mempool knows the faucet's next nonce only when it has caught up with the newest block.
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
	if err := c.sealOne(1); err != nil {
		return err
	}
	return c.settle()
}
