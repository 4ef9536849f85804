package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/events"
)

// controls make the chain misbehave on purpose. They end with the process. The chain's lock guards
// what is below.
type controls struct {
	paused  bool     // Run seals nothing
	held    bool     // blocks take no transactions
	baseFee *big.Int // blocks are filled until gas costs this much; nil: they are not
}

// Limits of the controls.
const (
	maxReorg = 256
	// maxBaseFeeGwei limits the price of gas to what the faucet, which pays for full blocks, can
	// afford.
	maxBaseFeeGwei = 100_000
)

// Pause stops Run from sealing blocks, so that time stands still. Seal and the other methods still
// seal.
func (c *Chain) Pause(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = on
}

// Hold keeps blocks empty: transactions wait in the mempool.
func (c *Chain) Hold(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = on
}

// Reorganize replaces the newest blocks by one more than there were, at once. With drop their
// transactions are forgotten; otherwise they return to the mempool and go into the first new block.
// It returns the newest block.
func (c *Chain) Reorganize(ctx context.Context, depth uint64, drop bool) (events.Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := c.eth.BlockChain().CurrentBlock().Number.Uint64()
	if depth == 0 || depth > maxReorg || depth > head {
		return events.Head{}, fmt.Errorf("%w: a reorganisation of %d blocks, 1 to %d are possible",
			ErrConfig, depth, min(maxReorg, head))
	}
	ancestor := c.eth.BlockChain().GetBlockByNumber(head - depth)
	if ancestor == nil {
		return events.Head{}, fmt.Errorf("reorganize: block %d is missing", head-depth)
	}
	if err := c.fork(ancestor, drop); err != nil {
		return events.Head{}, err
	}
	for range depth + 1 {
		if err := errors.Join(ctx.Err(), c.sealOne(1)); err != nil {
			return events.Head{}, fmt.Errorf("reorganize: %w", err)
		}
	}
	return c.Head(), c.settle()
}

// Warp seals one block so many seconds after its parent.
func (c *Chain) Warp(ctx context.Context, seconds uint64) (events.Head, error) {
	const aYear = 366 * 24 * 3600
	if seconds == 0 || seconds > aYear {
		return events.Head{}, fmt.Errorf("%w: %d seconds at once, 1 to %d are possible", ErrConfig, seconds, aYear)
	}
	return c.SealApart(ctx, 1, time.Duration(seconds)*time.Second)
}

// RaiseBaseFee fills the coming blocks with useless work until the base fee is that many gwei, and
// then half, which keeps it there. 0 ends it, and the base fee sinks. A block can raise it by an
// eighth.
func (c *Chain) RaiseBaseFee(gwei uint64) error {
	if gwei > maxBaseFeeGwei {
		return fmt.Errorf("%w: a base fee of %d gwei, the limit is %d", ErrConfig, gwei, maxBaseFeeGwei)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.baseFee = nil
	if gwei > 0 {
		c.baseFee = new(big.Int).Mul(new(big.Int).SetUint64(gwei), big.NewInt(params.GWei))
	}
	return nil
}

// Work that fills blocks: the creation of a contract that fails with an invalid instruction and
// uses up all its gas. A transaction may use 2^24 gas at most (EIP-7825); some gas of each block is
// left for others.
const (
	burnGas   = 14_000_000
	fullBurns = 4 // of a block's 60 million
	halfBurns = 2
)

func burnCode() []byte { return []byte{0xfe} } // INVALID

// burn adds the work for the next block to the mempool. It needs the lock.
func (c *Chain) burn(ctx context.Context, parent *types.Header) error {
	if c.baseFee == nil || c.held {
		return nil
	}
	count := halfBurns
	if parent.BaseFee.Cmp(c.baseFee) < 0 {
		count = fullBurns
	}
	key := faucetKey()
	nonce, err := c.eth.APIBackend.GetPoolNonce(ctx, crypto.PubkeyToAddress(key.PublicKey))
	if err != nil {
		return fmt.Errorf("fill a block: %w", err)
	}
	tip := big.NewInt(params.GWei)
	for range count {
		most := slices.MaxFunc([]*big.Int{parent.BaseFee, c.baseFee}, (*big.Int).Cmp)
		tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(ChainID)), &types.DynamicFeeTx{
			ChainID: big.NewInt(ChainID), Nonce: nonce, GasTipCap: tip,
			GasFeeCap: new(big.Int).Add(tip, new(big.Int).Lsh(most, 1)),
			Gas:       burnGas, Data: burnCode(),
		})
		if err != nil {
			return fmt.Errorf("fill a block: %w", err)
		}
		// The mempool may still have work with this nonce, with this fee or another one: it did not come into the
		// last block, or was not yet promoted.
		err = c.eth.APIBackend.SendTx(ctx, tx)
		if err != nil && !errors.Is(err, txpool.ErrAlreadyKnown) && !errors.Is(err, txpool.ErrReplaceUnderpriced) {
			return fmt.Errorf("fill a block: %w", err)
		}
		nonce++
	}
	return c.settle()
}
