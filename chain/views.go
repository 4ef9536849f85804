package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// view is one read of a contract.
type view struct {
	to     common.Address
	data   []byte
	decode func([]byte) error
	// err is the contract's refusal or what decode said.
	err error

	raw hexutil.Bytes
}

// viewOf decodes the answer into target.
func viewOf[T any](to common.Address, data []byte, unpack func([]byte) (T, error), target *T) *view {
	return &view{to: to, data: data, decode: func(raw []byte) error {
		v, err := unpack(raw)
		if err != nil {
			return fmt.Errorf("unexpected answer of %d bytes: %w", len(raw), err)
		}
		*target = v
		return nil
	}}
}

// callArgs is a call's object in JSON-RPC. From is always us, because some views
// depend on who asks.
type callArgs struct {
	From common.Address  `json:"from"`
	To   common.Address  `json:"to"`
	Data hexutil.Bytes   `json:"data"`
	Gas  *hexutil.Uint64 `json:"gas,omitempty"`
}

// atBlock names a block by its hash (EIP-1898), so that reads of one batch can never
// mix two branches.
type atBlock struct {
	Hash common.Hash `json:"blockHash"`
}

// views reads all of them at one block, on behalf of from. The error is about the
// connection; what the contract says is in each view.
func (c *conn) views(ctx context.Context, from common.Address, at common.Hash, views ...*view) error {
	batch := make([]rpc.BatchElem, len(views))
	for i, v := range views {
		batch[i] = rpc.BatchElem{
			Method: "eth_call",
			Args:   []any{callArgs{From: from, To: v.to, Data: v.data}, atBlock{at}},
			Result: &v.raw,
		}
	}
	if err := c.batch(ctx, batch); err != nil {
		return err
	}
	for i, v := range views {
		err := batch[i].Error
		if data, reverted := revertData(err); reverted {
			v.err = revertError(data)
			continue
		}
		if err != nil {
			return fmt.Errorf("read contract %s: %w", v.to, err)
		}
		v.err = v.decode(v.raw)
	}
	return nil
}

// firstError is the first refusal among views.
func firstError(views ...*view) error {
	for _, v := range views {
		if v.err != nil {
			return v.err
		}
	}
	return nil
}
