package localchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// rewardPool is what the contract for sectors has at a start for those that prove: a hundred tokens of 10^18 base
// units, of which a sector of 64 MiB earns 7 * 10^12 a period by the development default.
var rewardPool = ether(100)

// fillPool adds tokens to the pool from which the contract for sectors pays what proofs of
// possession earn, if less than
// half of it is left. It seals the blocks that it needs.
func (c *Chain) fillPool(ctx context.Context) error {
	client := ethclient.NewClient(c.Attach())
	defer client.Close()
	err := c.WhileSealing(ctx, func(ctx context.Context) error { return c.fundSectors(ctx, client) })
	if err != nil {
		return fmt.Errorf("fill the pool of rewards for sectors: %w", err)
	}
	return nil
}

func (c *Chain) fundSectors(ctx context.Context, client *ethclient.Client) error {
	id, err := client.ChainID(ctx)
	if err != nil {
		return err
	}
	token, sectors := bindings.NewTestToken(), bindings.NewSectorProvider()
	provider, bank := common.Address(c.SectorProvider), bind.NewKeyedTransactor(bankKey(), id)
	pool, err := bind.Call(sectors.Instance(client, provider), &bind.CallOpts{Context: ctx}, sectors.PackPool(),
		sectors.UnpackPool)
	if err != nil || pool.Cmp(new(big.Int).Rsh(rewardPool, 1)) >= 0 {
		return err
	}
	tokens := new(big.Int).Sub(rewardPool, pool)
	mint, err1 := token.TryPackMint(bank.From, tokens)
	approve, err2 := token.TryPackApprove(provider, tokens)
	fund, err3 := sectors.TryPackFund(tokens)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for _, call := range []struct {
		to   *bind.BoundContract
		data []byte
	}{
		{token.Instance(client, common.Address(c.Token)), mint},
		{token.Instance(client, common.Address(c.Token)), approve},
		{sectors.Instance(client, provider), fund},
	} {
		if err := send(ctx, client, call.to, bank, call.data); err != nil {
			return err
		}
	}
	return nil
}

// send sends a call and waits until it is mined, and the next call is tried on its block: geth has the receipts of
// a block for a moment before that is the newest one.
func send(
	ctx context.Context, client *ethclient.Client, to *bind.BoundContract, from *bind.TransactOpts, data []byte,
) error {
	opts := *from
	opts.Context = ctx
	sent, err := bind.Transact(to, &opts, data)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(pollPending)
	defer ticker.Stop()
	for {
		receipt, err := client.TransactionReceipt(ctx, sent.Hash())
		switch {
		case errors.Is(err, ethereum.NotFound):
		case err != nil:
			return err
		case receipt.Status != types.ReceiptStatusSuccessful:
			return fmt.Errorf("transaction %s was refused", sent.Hash())
		default:
			head, err := client.BlockNumber(ctx)
			if err != nil || head >= receipt.BlockNumber.Uint64() {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
