package rpc

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Trial is a call that is tried and not sent: on the state of one block, as if it were in another
// one.
type Trial struct {
	To           common.Address
	Data         []byte
	Value        *big.Int // wei; nil: none
	Gas          uint64
	On           common.Hash // zero: the newest block
	Number, Time uint64
}

func (t Trial) args(from common.Address) callArgs {
	gas := hexutil.Uint64(t.Gas)
	args := callArgs{From: from, To: t.To, Data: t.Data, Gas: &gas}
	if t.Value != nil && t.Value.Sign() > 0 {
		args.Value = (*hexutil.Big)(t.Value)
	}
	return args
}

// inBlock are the arguments that let a call believe that it is in a block.
func inBlock(number, time uint64) []any {
	return []any{struct{}{}, map[string]any{"number": hexutil.Uint64(number), "time": hexutil.Uint64(time)}}
}

// Outcome is the result of a trial.
type Outcome struct {
	// Refusal is the meaning of the contract's revert; nil when the call went through, or when
	// Known is false.
	Refusal error
	Known   bool
	// Behind: the node does not have the block yet.
	Behind bool
}

// Refusals says what a revert means; known is false when the contract has no such error.
type Refusals func(to common.Address, data []byte) (known bool, refusal error)

// Try makes trials, all on the block of the first one, in one request. The error is about the
// connection.
func (c *Conn) Try(
	ctx context.Context, from common.Address, trials []Trial, meaning Refusals,
) ([]Outcome, error) {
	batch := make([]rpc.BatchElem, len(trials))
	for i, t := range trials {
		args := append([]any{t.args(from), "latest"}, inBlock(t.Number, t.Time)...)
		batch[i] = rpc.BatchElem{Method: "eth_call", Result: new(any), Args: args}
	}
	send := c.batch
	if on := trials[0].On; on != (common.Hash{}) {
		send = func(ctx context.Context, batch []rpc.BatchElem) error { return c.batchAt(ctx, on, batch) }
	}
	if err := send(ctx, batch); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(trials))
	for i, e := range batch {
		outcomes[i] = outcomeFrom(trials[i].To, e.Error, meaning)
	}
	return outcomes, nil
}

// Preflight tries what is to be sent, and returns the contract's refusal. If the trial tells nothing, the node's
// pending block is asked; what that cannot tell either is left to the transaction. So is what a node cannot tell
// that lags: its pending block is an older one, in which a proof is wrong that is right in the next.
func (c *Conn) Preflight(ctx context.Context, from common.Address, t Trial, meaning Refusals) error {
	outcomes, err := c.Try(ctx, from, []Trial{t}, meaning)
	if err != nil {
		return nil //nolint:nilerr // Sending it needs the node, too, and will say so.
	}
	found := outcomes[0]
	if !found.Known && !found.Behind {
		found = outcomeFrom(t.To, c.CallOn(ctx, "pending", from, t), meaning)
	}
	return found.Refusal
}

const (
	// estimateAgain is how long a way of asking for estimates counts as refused: the node may be replaced.
	estimateAgain = 10 * time.Minute
	// estimateSlow is how long none is asked for after one that did not come in time.
	estimateSlow = time.Minute
)

// estimating is how an endpoint is asked for estimates of gas. It is safe for concurrent use.
type estimating struct {
	mu    sync.Mutex
	way   int       // the first of ways that was not refused
	until time.Time // when all are tried again
}

func (e *estimating) from(now time.Time) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.After(e.until) {
		e.way = 0
	}
	return e.way
}

// refused notes that all ways before this one are not to be tried for some time.
func (e *estimating) refused(before int, lasts time.Duration, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.way == 0 {
		e.until = now.Add(lasts)
	}
	e.way = max(e.way, before)
}

// ways are the arguments that follow the call, best first. The node's pending block has what our own unmined
// transactions change, and is the next one, or is told to be. The newest one is only the last resort: at a
// wrap of the pointer a proof for the next block fails there (spec/ethereum.md §3).
func ways(head *Header, pace time.Duration) [][]any {
	next := inBlock(uint64(head.Number)+1, uint64(head.Time)+uint64(pace/time.Second))
	return [][]any{append([]any{"pending"}, next...), {"pending"}, nil}
}

// EstimateGas asks how much gas calls would use in the block after head, in one request. Zero: the node does not
// say, or the call does not succeed there now, which is no verdict on it.
func (c *Conn) EstimateGas(
	ctx context.Context, from common.Address, head *Header, pace time.Duration, calls []Trial,
) ([]uint64, error) {
	l, err := c.Current(ctx)
	if err != nil {
		return nil, err
	}
	gas := make([]hexutil.Uint64, len(calls))
	found := make([]uint64, len(calls))
	all := ways(head, pace)
	for way := l.at.estimates.from(time.Now()); way < len(all); way++ {
		batch := make([]rpc.BatchElem, len(calls))
		for i, t := range calls {
			args := t.args(from)
			args.Gas = nil // The node's own limit.
			batch[i] = rpc.BatchElem{Method: "eth_estimateGas", Args: append([]any{args}, all[way]...), Result: &gas[i]}
		}
		if err := c.batch(ctx, batch); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				l.at.estimates.refused(len(all), estimateSlow, time.Now()) // It must not cost a duty's time again.
			}
			return nil, err
		}
		estimates := false
		for i, b := range batch {
			if b.Error == nil {
				found[i] = uint64(gas[i])
			}
			// Some nodes say that a call reverts, and not with what.
			estimates = estimates || answers(b) || containsAny(strings.ToLower(b.Error.Error()), "revert")
		}
		if estimates {
			break
		}
		l.at.estimates.refused(way+1, estimateAgain, time.Now())
	}
	return found, nil
}

// CallOn tries a call on the state of a block with a tag, and returns the node's error.
func (c *Conn) CallOn(ctx context.Context, tag string, from common.Address, t Trial) error {
	return c.call(ctx, nil, "eth_call", t.args(from), tag)
}

// CallAt tries a call on the state of a block, and returns the node's error.
func (c *Conn) CallAt(ctx context.Context, at common.Hash, from common.Address, t Trial) error {
	return c.callAt(ctx, at, new(any), "eth_call", t.args(from))
}

func outcomeFrom(to common.Address, err error, meaning Refusals) Outcome {
	if err == nil {
		return Outcome{Known: true}
	}
	data, reverted := RevertData(err)
	if !reverted {
		return Outcome{Behind: IsBehind(err)}
	}
	known, refusal := meaning(to, data)
	return Outcome{Refusal: refusal, Known: known}
}

// NextBlock is a trial on the state of head, in the block that follows it. The node's own pending block is only second
// best: nodes differ in what it contains, and in its timestamp (spec/ethereum.md §9).
func (b *BlockTime) NextBlock(head *Header, t Trial) Trial {
	t.On, t.Number, t.Time = head.Hash, uint64(head.Number)+1, uint64(head.Time)+uint64(b.Pace()/time.Second)
	return t
}

// RevertData extracts the data of a revert from a node's error; false when the error is something
// else.
func RevertData(err error) ([]byte, bool) {
	withData, ok := errors.AsType[rpc.DataError](err)
	if !ok {
		return nil, false
	}
	return hexData(withData.ErrorData())
}

// hexData reads the forms in which nodes give the data of a revert: plain, after a word ("Reverted
// 0x…", as Nethermind and Parity did), or in the field "data" of an object, as proxies and
// development nodes do.
func hexData(given any) ([]byte, bool) {
	switch v := given.(type) {
	case string:
		text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(v), "Reverted"), " ")
		data, err := hexutil.Decode(text)
		return data, err == nil
	case map[string]any:
		if inner, nested := v["data"].(string); nested {
			return hexData(inner)
		}
	}
	return nil, false
}
