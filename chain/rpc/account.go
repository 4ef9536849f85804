package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// MinedBy is the number of mined transactions of an account: its next nonce on the newest block.
func (c *Conn) MinedBy(ctx context.Context, account common.Address) (uint64, error) {
	var answer countAnswer
	err := c.call(ctx, &answer, "eth_getTransactionCount", account, "latest")
	return uint64(answer.Uint64), err
}

// PendingBy is the number of an account's transactions that are mined or, without a gap after them,
// in the node's pool. known is false when the node cannot say.
func (c *Conn) PendingBy(ctx context.Context, account common.Address) (count uint64, known bool, err error) {
	var answer countAnswer
	known, err = ifOffered(c.call(ctx, &answer, "eth_getTransactionCount", account, "pending"))
	return uint64(answer.Uint64), known, err
}

// ifOffered takes the error of a question that a node may refuse to answer: that is none.
func ifOffered(err error) (known bool, _ error) {
	if _, refused := errors.AsType[rpc.Error](err); refused {
		return false, nil
	}
	return err == nil, err
}

// CoinsOf is how many wei an account has at a block.
func (c *Conn) CoinsOf(ctx context.Context, at common.Hash, account common.Address) (*big.Int, error) {
	var wei hexutil.Big
	err := c.callAt(ctx, at, &wei, "eth_getBalance", account)
	return wei.ToInt(), err
}

// HasCode says whether there was code at an address at a block. known is false when the node cannot
// say, because it no longer keeps the state of that block.
func (c *Conn) HasCode(ctx context.Context, contract common.Address, number uint64) (yes, known bool, err error) {
	var code hexutil.Bytes
	known, err = ifOffered(c.call(ctx, &code, "eth_getCode", contract, hexutil.Uint64(number)))
	return len(code) > 0, known, err
}

// LookAt reads in one message the newest block, the number of the account's transactions that are mined
// there and, unless earlier is nil, the block that now has earlier's number; nil: none has it.
func (c *Conn) LookAt(
	ctx context.Context, account common.Address, earlier *Header,
) (newest *Header, mined uint64, again *Header, err error) {
	var latest, same blockAnswer
	var count countAnswer
	batch := []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &latest},
		{Method: "eth_getTransactionCount", Args: []any{account, "latest"}, Result: &count},
	}
	if earlier != nil {
		same.number = (*uint64)(&earlier.Number)
		batch = append(batch, rpc.BatchElem{
			Method: "eth_getBlockByNumber", Args: []any{earlier.Number, false}, Result: &same,
		})
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, 0, nil, err
	}
	for _, e := range batch {
		if e.Error != nil {
			return nil, 0, nil, fmt.Errorf("%s: %w", e.Method, e.Error)
		}
	}
	if latest.Header == nil {
		return nil, 0, nil, fmt.Errorf("%w: it names no newest block", ErrUnavailable)
	}
	return latest.Header, uint64(count.Uint64), same.Header, c.noteNewest(ctx, latest.Header)
}

// Send hands signed transactions to the node. It returns the node's refusals, nil where it took one, and an
// error of the connection. What a refusal says of the node's floor is kept for those that follow.
func (c *Conn) Send(ctx context.Context, txs []*types.Transaction) ([]*Refusal, error) {
	if len(txs) == 0 {
		return nil, nil
	}
	batch := make([]rpc.BatchElem, len(txs))
	for i, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("encode transaction %s: %w", tx.Hash(), err)
		}
		batch[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Bytes(raw)}, Result: new(any)}
	}
	l, err := c.Current(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, err
	}
	refusals := make([]*Refusal, len(batch))
	for i, e := range batch {
		if e.Error == nil {
			continue
		}
		refusals[i] = refusalOf(e.Error, txs[i], func() string { return l.clientVersion(ctx) })
		if floor := refusals[i].Floor; floor != nil {
			l.at.floor.raise(floor, time.Now())
		}
	}
	return refusals, nil
}

// Floor is the least tip in wei that the node in use takes, as far as its refusals told; zero: none is known.
func (c *Conn) Floor(ctx context.Context) *big.Int {
	l, err := c.Current(ctx)
	if err != nil {
		return new(big.Int)
	}
	return l.at.floor.at(time.Now())
}

// TransactionBy is the transaction with a hash, without the number of its block; nil: the node does not know it.
func (c *Conn) TransactionBy(ctx context.Context, hash common.Hash) (found *Transaction, err error) {
	err = untilThere(ctx, func() (lags bool, err error) {
		err = c.call(ctx, &found, "eth_getTransactionByHash", hash)
		return err == nil && found == nil, err
	})
	if err == nil && found != nil && found.Hash != hash {
		err = c.Disbelieve(ctx, "for transaction "+hash.Hex(), fmt.Errorf("it gives %s", found.Hash))
	}
	return found, err
}

// Tip is the tip that the node suggests, in wei. If it does not offer that, or blocks have no base fee, it is
// its price of gas without the base fee; zero when it says neither.
func (c *Conn) Tip(ctx context.Context, head *Header) (*big.Int, error) {
	var tip, price hexutil.Big
	if head.BaseFee != nil {
		if offered, err := ifOffered(c.call(ctx, &tip, "eth_maxPriorityFeePerGas")); offered || err != nil {
			return tip.ToInt(), err
		}
	}
	offered, err := ifOffered(c.call(ctx, &price, "eth_gasPrice"))
	if left := new(big.Int).Sub(price.ToInt(), head.LeastPrice()); offered && left.Sign() > 0 {
		return left, nil
	}
	return new(big.Int), err
}

// Transaction is a transaction in a block.
type Transaction struct {
	Hash      common.Hash     `json:"hash"`
	From      common.Address  `json:"from"`
	To        *common.Address `json:"to"`
	Nonce     hexutil.Uint64  `json:"nonce"`
	Input     hexutil.Bytes   `json:"input"`
	Block     uint64
	BlockHash common.Hash
}

// BlockID is a block by number and hash.
type BlockID struct {
	Number uint64
	Hash   common.Hash
}

// TransactionsOf are an account's transactions in a block and some before it, newest first, and the block that
// comes before those. The blocks are one branch: each is the parent of the one after it. A node that does
// not have them all, because it lags or the chain changes, is ErrUnavailable.
func (c *Conn) TransactionsOf(ctx context.Context, who common.Address, top BlockID, some uint64) (
	found []Transaction, below BlockID, err error,
) {
	bodies := make([]*struct {
		Hash         common.Hash   `json:"hash"`
		Parent       common.Hash   `json:"parentHash"`
		Transactions []Transaction `json:"transactions"`
	}, some)
	batch := make([]rpc.BatchElem, some)
	for i := range batch {
		batch[i] = rpc.BatchElem{
			Method: "eth_getBlockByNumber", Result: &bodies[i],
			Args: []any{hexutil.Uint64(top.Number - uint64(i)), true},
		}
	}
	if err := c.batch(ctx, batch); err != nil {
		return nil, below, err
	}
	below = top
	for i, b := range bodies {
		switch {
		case batch[i].Error != nil:
			return nil, below, fmt.Errorf("block %d: %w", below.Number, batch[i].Error)
		case b == nil || b.Hash != below.Hash:
			return nil, below, fmt.Errorf("%w: it does not have block %d as %s",
				ErrUnavailable, below.Number, below.Hash)
		}
		for _, tx := range slices.Backward(b.Transactions) {
			if tx.From == who {
				tx.Block, tx.BlockHash = below.Number, below.Hash
				found = append(found, tx)
			}
		}
		below = BlockID{below.Number - 1, b.Parent}
	}
	return found, below, nil
}
