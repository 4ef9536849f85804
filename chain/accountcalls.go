package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// minedBy is how many transactions of an account are mined.
func (c *conn) minedBy(ctx context.Context, account common.Address) (uint64, error) {
	var answer countAnswer
	err := c.call(ctx, &answer, "eth_getTransactionCount", account, "latest")
	return uint64(answer.Uint64), err
}

// coinsOf is how many wei an account has at a block.
func (c *conn) coinsOf(ctx context.Context, at common.Hash, account common.Address) (*big.Int, error) {
	var wei hexutil.Big
	one := []rpc.BatchElem{{Method: "eth_getBalance", Args: []any{account, nil}, Result: &wei}}
	err := errors.Join(c.batchAt(ctx, at, one), one[0].Error)
	return wei.ToInt(), err
}

// deployed says whether there is code at an address at a block; known is false when the node
// does not say it, because it forgot old states.
func (c *conn) deployed(ctx context.Context, contract common.Address, number uint64) (yes, known bool, err error) {
	var code hexutil.Bytes
	err = c.call(ctx, &code, "eth_getCode", contract, hexutil.Uint64(number))
	if _, answered := errors.AsType[rpc.Error](err); answered {
		return false, false, nil
	}
	return len(code) > 0, err == nil, err
}

// accountView is what one look tells about an account.
type accountView struct {
	newest *header
	mined  uint64  // how many transactions of the account are, at the newest block
	again  *header // the block that has the number of an earlier one now; nil: none, or not asked
}

// lookAt reads the newest block, how many transactions of an account are mined, and which block has
// the number of an earlier one now, unless that is nil.
func (c *conn) lookAt(ctx context.Context, account common.Address, earlier *header) (accountView, error) {
	var newest, again blockAnswer
	var count countAnswer
	batch := []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &newest},
		{Method: "eth_getTransactionCount", Args: []any{account, "latest"}, Result: &count},
	}
	if earlier != nil {
		again.number = (*uint64)(&earlier.Number)
		batch = append(batch, rpc.BatchElem{
			Method: "eth_getBlockByNumber", Args: []any{earlier.Number, false}, Result: &again,
		})
	}
	if err := c.batch(ctx, batch); err != nil {
		return accountView{}, err
	}
	for _, e := range batch {
		if e.Error != nil {
			return accountView{}, fmt.Errorf("%s: %w", e.Method, e.Error)
		}
	}
	if newest.header == nil {
		return accountView{}, fmt.Errorf("%w: it names no newest block", ErrUnavailable)
	}
	found := accountView{newest: newest.header, mined: uint64(count.Uint64), again: again.header}
	return found, c.noteNewest(ctx, newest.header)
}

// send hands signed transactions to the node. It returns what it said to each, and an error of the
// connection.
func (c *conn) send(ctx context.Context, raw [][]byte) ([]error, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	batch := make([]rpc.BatchElem, len(raw))
	for i, tx := range raw {
		batch[i] = rpc.BatchElem{
			Method: "eth_sendRawTransaction", Args: []any{hexutil.Bytes(tx)}, Result: new(any),
		}
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, err
	}
	refusals := make([]error, len(batch))
	for i, e := range batch {
		refusals[i] = e.Error
	}
	return refusals, nil
}

// inputOf is what a transaction calls its contract with.
func (c *conn) inputOf(ctx context.Context, tx common.Hash) ([]byte, error) {
	var found struct {
		Input hexutil.Bytes `json:"input"`
	}
	err := c.call(ctx, &found, "eth_getTransactionByHash", tx)
	return found.Input, err
}

// tip is what the node suggests, zero when it does not know the question.
func (c *conn) tip(ctx context.Context) (*big.Int, error) {
	var tip hexutil.Big
	err := c.call(ctx, &tip, "eth_maxPriorityFeePerGas")
	if _, answered := errors.AsType[rpc.Error](err); answered {
		return new(big.Int), nil
	}
	return tip.ToInt(), err
}

// fullTx is a transaction in a block.
type fullTx struct {
	Hash  common.Hash     `json:"hash"`
	From  common.Address  `json:"from"`
	To    *common.Address `json:"to"`
	Nonce hexutil.Uint64  `json:"nonce"`
	Input hexutil.Bytes   `json:"input"`
	block uint64
}

// transactionsOf are the transactions of an account in some blocks up to one, the newest
// first.
func (c *conn) transactionsOf(ctx context.Context, who common.Address, upTo, some uint64) ([]fullTx, error) {
	blocks := make([]*struct {
		Transactions []fullTx `json:"transactions"`
	}, some)
	batch := make([]rpc.BatchElem, some)
	for i := range batch {
		batch[i] = rpc.BatchElem{
			Method: "eth_getBlockByNumber", Args: []any{hexutil.Uint64(upTo - uint64(i)), true}, Result: &blocks[i],
		}
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, err
	}
	var found []fullTx
	for i, b := range blocks {
		number := upTo - uint64(i)
		switch {
		case batch[i].Error != nil:
			return nil, fmt.Errorf("block %d: %w", number, batch[i].Error)
		case b == nil:
			return nil, fmt.Errorf("%w: it does not know block %d", ErrUnavailable, number)
		}
		for j := len(b.Transactions) - 1; j >= 0; j-- {
			if tx := b.Transactions[j]; tx.From == who {
				tx.block = number
				found = append(found, tx)
			}
		}
	}
	return found, nil
}
