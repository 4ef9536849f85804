package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// header is what we need of a block. The hash is the node's: chains with header fields
// of their own would have another one if we computed it.
type header struct {
	Number  hexutil.Uint64 `json:"number"`
	Hash    common.Hash    `json:"hash"`
	Parent  common.Hash    `json:"parentHash"`
	Time    hexutil.Uint64 `json:"timestamp"`
	BaseFee *hexutil.Big   `json:"baseFeePerGas"`
	Bloom   types.Bloom    `json:"logsBloom"`
}

func (h *header) head() events.Head {
	return events.Head{
		Number: uint64(h.Number),
		Hash:   events.Hash(h.Hash),
		Parent: events.Hash(h.Parent),
		Time:   events.Unix(uint64(h.Time)),
	}
}

// latest is the newest block.
func (c *conn) latest(ctx context.Context) (*header, error) {
	h, err := c.header(ctx, "eth_getBlockByNumber", "latest")
	if err != nil {
		return nil, err
	}
	for {
		top := c.top.Load()
		if uint64(h.Number) <= top || c.top.CompareAndSwap(top, uint64(h.Number)) {
			return h, nil
		}
	}
}

// byNumber is the block of that number now, or ethereum.NotFound.
func (c *conn) byNumber(ctx context.Context, number uint64) (*header, error) {
	return c.header(ctx, "eth_getBlockByNumber", hexutil.Uint64(number))
}

// byHash is the block with that hash, also on a branch that lost, or ethereum.NotFound.
func (c *conn) byHash(ctx context.Context, hash common.Hash) (*header, error) {
	return c.header(ctx, "eth_getBlockByHash", hash)
}

func (c *conn) header(ctx context.Context, method string, which any) (*header, error) {
	var h *header
	if err := c.call(ctx, &h, method, which, false); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("block %v: %w", which, ethereum.NotFound)
	}
	return h, nil
}

// receipt returns nil when the node knows no receipt on its current chain.
func (c *conn) receipt(ctx context.Context, tx common.Hash) (*types.Receipt, error) {
	var r *types.Receipt
	if err := c.call(ctx, &r, "eth_getTransactionReceipt", tx); err != nil {
		return nil, err
	}
	return r, nil
}

// receipts looks for several transactions at once; missing ones are nil.
func (c *conn) receipts(ctx context.Context, txs []common.Hash) ([]*types.Receipt, error) {
	found := make([]*types.Receipt, len(txs))
	batch := make([]rpc.BatchElem, len(txs))
	for i, tx := range txs {
		batch[i] = rpc.BatchElem{
			Method: "eth_getTransactionReceipt", Args: []any{tx}, Result: &found[i],
		}
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, err
	}
	for _, e := range batch {
		if e.Error != nil {
			return nil, fmt.Errorf("receipt: %w", e.Error)
		}
	}
	return found, nil
}

// ourReceipt adds the block to a receipt.
func (c *conn) ourReceipt(ctx context.Context, r *types.Receipt) (events.Receipt, error) {
	block, err := c.byHash(ctx, r.BlockHash)
	if err != nil {
		return events.Receipt{}, fmt.Errorf("block of transaction %s: %w", r.TxHash, err)
	}
	price := r.EffectiveGasPrice
	if price == nil {
		price = new(big.Int)
	}
	fee, err := events.AmountFromBig(new(big.Int).Mul(price, new(big.Int).SetUint64(r.GasUsed)))
	if err != nil {
		return events.Receipt{}, fmt.Errorf("fee of transaction %s: %w", r.TxHash, err)
	}
	return events.Receipt{
		TxHash:  events.Hash(r.TxHash),
		Block:   block.head(),
		Fee:     fee,
		GasUsed: r.GasUsed,
	}, nil
}
