package chain

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// trial is a call that is tried without sending it: on the state of one block, as if it
// were in another one.
type trial struct {
	to           common.Address
	data         []byte
	gas          uint64
	on           common.Hash // zero: the newest block
	number, time uint64
}

// outcome is what came of a trial.
type outcome struct {
	// refusal is what the contract's revert means; nil when it took the call, or
	// when nothing is known.
	refusal error
	known   bool
}

// refusals says what a contract's revert means, if it is one that the contract itself says.
type refusals func(to common.Address, data []byte) (refusal error, known bool)

// try makes trials on one and the same block in one request. The error is about the
// connection.
func (c *conn) try(
	ctx context.Context, from common.Address, trials []trial, meaning refusals,
) ([]outcome, error) {
	batch := make([]rpc.BatchElem, len(trials))
	for i, t := range trials {
		gas := hexutil.Uint64(t.gas)
		batch[i] = rpc.BatchElem{Method: "eth_call", Result: new(any), Args: []any{
			callArgs{From: from, To: t.to, Data: t.data, Gas: &gas},
			"latest",
			struct{}{},
			map[string]any{"number": hexutil.Uint64(t.number), "time": hexutil.Uint64(t.time)},
		}}
	}
	send := c.batch
	if on := trials[0].on; on != (common.Hash{}) {
		send = func(ctx context.Context, batch []rpc.BatchElem) error { return c.batchAt(ctx, on, batch) }
	}
	if err := send(ctx, batch); err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(trials))
	for i, e := range batch {
		outcomes[i] = outcomeFrom(trials[i].to, e.Error, meaning)
	}
	return outcomes, nil
}

// tryPending is try in what the node calls pending. An error of the node is no outcome.
func (c *conn) tryPending(ctx context.Context, from common.Address, t trial, meaning refusals) outcome {
	return outcomeFrom(t.to, c.callOn(ctx, "pending", from, t), meaning)
}

// callOn tries a call on the state of a block that has a name, and returns what the node says.
func (c *conn) callOn(ctx context.Context, tag string, from common.Address, t trial) error {
	gas := hexutil.Uint64(t.gas)
	return c.call(ctx, nil, "eth_call", callArgs{From: from, To: t.to, Data: t.data, Gas: &gas}, tag)
}

// callAt tries a call on the state of a block, and returns what the node says.
func (c *conn) callAt(ctx context.Context, at common.Hash, from common.Address, t trial) error {
	gas := hexutil.Uint64(t.gas)
	one := []rpc.BatchElem{{Method: "eth_call", Result: new(any), Args: []any{
		callArgs{From: from, To: t.to, Data: t.data, Gas: &gas}, nil,
	}}}
	if err := c.batchAt(ctx, at, one); err != nil {
		return err
	}
	return one[0].Error
}

func outcomeFrom(to common.Address, err error, meaning refusals) outcome {
	if err == nil {
		return outcome{known: true}
	}
	data, reverted := revertData(err)
	if !reverted {
		return outcome{}
	}
	refusal, known := meaning(to, data)
	return outcome{refusal, known}
}

// nextBlock is a call as it would be in the block that comes next. A node's own pending
// block is only second best: nodes differ in what it is, and in its time (spec/ethereum.md §9).
func (b *blockTime) nextBlock(head *header, to common.Address, data []byte, gas uint64) trial {
	return trial{
		to: to, data: data, gas: gas,
		number: uint64(head.Number) + 1, time: uint64(head.Time) + uint64(b.pace()/time.Second),
	}
}

// revertData is the data of a revert in a node's answer; false when the answer is
// something else.
func revertData(err error) ([]byte, bool) {
	withData, ok := errors.AsType[rpc.DataError](err)
	if !ok {
		return nil, false
	}
	return hexData(withData.ErrorData())
}

// hexData reads the forms in which nodes give the data of a revert: as it is, behind a
// word ("Reverted 0x…", as Nethermind and Parity did), or in an object's field of this
// name, which proxies and development nodes add.
func hexData(given any) ([]byte, bool) {
	switch v := given.(type) {
	case string:
		text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(v), "Reverted"), " ")
		data, err := hexutil.Decode(text)
		return data, err == nil
	case map[string]any:
		inner, found := v["data"]
		if _, nested := inner.(string); !found || !nested {
			return nil, false
		}
		return hexData(inner)
	default:
		return nil, false
	}
}
