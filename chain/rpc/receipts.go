package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// Receipt is the receipt of a transaction on the node's current chain, or nil.
func (c *Conn) Receipt(ctx context.Context, tx common.Hash) (*types.Receipt, error) {
	r := receiptAnswer{tx: tx}
	if err := c.call(ctx, &r, "eth_getTransactionReceipt", tx); err != nil {
		return nil, err
	}
	return r.Receipt, nil
}

// ErrReceiptNotThere: a node does not give the receipt of a transaction that was mined. It is temporary: the node
// lags, or it was given up, and then the block with that number is another one. A missing receipt does not say so.
var ErrReceiptNotThere = fmt.Errorf("%w: it does not have the receipt of a transaction that was mined", ErrUnavailable)

// MinedReceipt is the receipt of a transaction that was seen mined, or ErrReceiptNotThere.
func (c *Conn) MinedReceipt(ctx context.Context, tx common.Hash) (r *types.Receipt, err error) {
	err = untilThere(ctx, func() (lags bool, err error) {
		if r, err = c.Receipt(ctx, tx); err == nil && r == nil {
			err = fmt.Errorf("%w: %s", ErrReceiptNotThere, tx)
		}
		return errors.Is(err, ErrReceiptNotThere), err
	})
	return r, err
}

// MinedReceipts are the receipts of transactions that were seen mined: other nodes are asked for those that are not
// there. The error is also that of one which the node refuses to tell.
func (c *Conn) MinedReceipts(ctx context.Context, txs []common.Hash) ([]*types.Receipt, error) {
	found, refused, err := receiptsBy(txs, func(batch []rpc.BatchElem) error {
		return c.batchThere(ctx, batch, func(e *rpc.BatchElem) bool {
			a, _ := e.Result.(*receiptAnswer)
			return e.Error == nil && a.Receipt == nil
		})
	})
	if err = cmp.Or(err, errors.Join(refused...)); err != nil {
		return nil, err
	}
	return found, nil
}

// ReceiptsEach reads several receipts at once; nil where there is none. Each has a refusal of its own: a node that
// builds its index of transactions anew refuses what it has not come to yet. The last error is about the connection.
func (c *Conn) ReceiptsEach(ctx context.Context, txs []common.Hash) ([]*types.Receipt, []error, error) {
	return receiptsBy(txs, func(batch []rpc.BatchElem) error { return c.batch(ctx, batch) })
}

func receiptsBy(txs []common.Hash, send func([]rpc.BatchElem) error) (
	found []*types.Receipt, refused []error, err error,
) {
	if len(txs) == 0 {
		return nil, nil, nil
	}
	answers := make([]receiptAnswer, len(txs))
	batch := make([]rpc.BatchElem, len(txs))
	for i, tx := range txs {
		answers[i].tx = tx
		batch[i] = rpc.BatchElem{
			Method: "eth_getTransactionReceipt", Args: []any{tx}, Result: &answers[i],
		}
	}
	if err := send(batch); err != nil {
		return nil, nil, err
	}
	found, refused = make([]*types.Receipt, len(txs)), make([]error, len(txs))
	for i, e := range batch {
		if found[i] = answers[i].Receipt; e.Error != nil {
			found[i], refused[i] = nil, fmt.Errorf("receipt: %w", e.Error)
		}
	}
	return found, refused, nil
}

// ReceiptInBlock is the receipt of a transaction that is in a block. It needs no index of transactions, but
// not every node offers it; then it is nil.
func (c *Conn) ReceiptInBlock(ctx context.Context, block, tx common.Hash) (*types.Receipt, error) {
	var all []*types.Receipt
	known, err := ifOffered(c.call(ctx, &all, "eth_getBlockReceipts", block))
	if !known {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r *types.Receipt) bool { return r != nil && r.TxHash == tx })
	if i < 0 {
		return nil, nil
	}
	wrong := (&receiptAnswer{all[i], tx}).impossible()
	if wrong == nil && all[i].BlockHash != block {
		wrong = fmt.Errorf("it names block %s", all[i].BlockHash)
	}
	if wrong != nil {
		return nil, c.Disbelieve(ctx, "for the receipts of block "+block.Hex(), wrong)
	}
	return all[i], nil
}

// InBlock reads the block of a receipt and adds it.
func (c *Conn) InBlock(ctx context.Context, r *types.Receipt) (events.Receipt, error) {
	block, err := c.ByHash(ctx, r.BlockHash)
	if err != nil {
		return events.Receipt{}, fmt.Errorf("block of transaction %s: %w", r.TxHash, err)
	}
	if uint64(block.Number) != r.BlockNumber.Uint64() {
		return events.Receipt{}, c.Disbelieve(ctx, "for the receipt of "+r.TxHash.Hex(),
			fmt.Errorf("it names block %s as number %d, which is %d", r.BlockHash, r.BlockNumber, uint64(block.Number)))
	}
	return ReceiptIn(r, block)
}

// ReceiptIn adds the block to a receipt.
func ReceiptIn(r *types.Receipt, block *Header) (events.Receipt, error) {
	price := r.EffectiveGasPrice
	if price == nil {
		price = new(big.Int)
	}
	fee, err := events.AmountFromBig(new(big.Int).Mul(new(big.Int).SetUint64(r.GasUsed), price))
	if err != nil {
		return events.Receipt{}, fmt.Errorf("fee of transaction %s: %w", r.TxHash, err)
	}
	return events.Receipt{
		TxHash: events.Hash(r.TxHash), Block: block.Head(), Fee: fee, GasUsed: r.GasUsed,
	}, nil
}

// Succeeded says that a transaction was mined and did not revert. After a reorganisation it may be
// mined in another block, and revert there.
func Succeeded(r *types.Receipt) bool { return r != nil && r.Status == types.ReceiptStatusSuccessful }
