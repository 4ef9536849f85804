package localchain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// FundSectors adds tokens to the pool from which the contract for sectors pays what proofs of
// possession earn. Like Provide, it seals the blocks that it needs.
func (c *Chain) FundSectors(ctx context.Context, tokens events.Amount) error {
	err := c.WhileSealing(ctx, func(ctx context.Context) error { return c.fundSectors(ctx, tokens) })
	if err != nil {
		return fmt.Errorf("add to the pool of rewards for sectors: %w", err)
	}
	return nil
}

func (c *Chain) fundSectors(ctx context.Context, tokens events.Amount) error {
	client := ethclient.NewClient(c.Attach())
	defer client.Close()
	id, err := client.ChainID(ctx)
	if err != nil {
		return err
	}
	token, sectors := bindings.NewTestToken(), bindings.NewSectorProvider()
	provider, bank := common.Address(c.SectorProvider), bind.NewKeyedTransactor(bankKey(), id)
	mint, err1 := token.TryPackMint(bank.From, tokens.Big())
	approve, err2 := token.TryPackApprove(provider, tokens.Big())
	fund, err3 := sectors.TryPackFund(tokens.Big())
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

// send sends a call and waits until it is mined.
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
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
