package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// View is one read of a contract.
type View struct {
	to     common.Address
	data   []byte
	decode func([]byte) error
	// refused says what a revert means.
	refused func(data []byte) error
	// believable, if set, says why the decoded answer cannot be true.
	believable func() error
	// Err is the contract's refusal, or an error of decoding.
	Err error

	raw hexutil.Bytes
}

// UnmarshalJSON reads the answer.
func (v *View) UnmarshalJSON(raw []byte) error {
	v.Err = nil
	if err := json.Unmarshal(raw, &v.raw); err != nil {
		return fmt.Errorf("answer of a contract: %w", err)
	}
	v.Err = v.decode(v.raw)
	return nil
}

func (v *View) impossible() error {
	switch {
	case v.Err != nil && len(v.raw) > 0: // Where there is no such method, the answer is empty.
		return v.Err
	case v.Err != nil || v.believable == nil:
		return nil
	}
	return v.believable()
}

// IsAddress returns an error if the answer is longer than an address.
func (v *View) IsAddress() error {
	if len(v.raw) < 12 || slices.ContainsFunc(v.raw[:12], func(b byte) bool { return b != 0 }) {
		return fmt.Errorf("it gives %s for an address", v.raw)
	}
	return nil
}

// Must adds a condition: without it the answer is not believed.
func (v *View) Must(be func() error) *View {
	v.believable = be
	return v
}

// NewView is a read whose answer is decoded into target; refused says what a revert means.
func NewView[T any](
	to common.Address, data []byte, refused func(data []byte) error, unpack func([]byte) (T, error), target *T,
) *View {
	return &View{to: to, data: data, refused: refused, decode: func(raw []byte) error {
		v, err := unpack(raw)
		if err != nil {
			return fmt.Errorf("unexpected answer of %d bytes: %w", len(raw), err)
		}
		*target = v
		return nil
	}}
}

// NewCheck is a read whose only answer is whether the contract refuses it.
func NewCheck(to common.Address, data []byte, refused func(data []byte) error) *View {
	return &View{to: to, data: data, refused: refused, decode: func([]byte) error { return nil }}
}

// callArgs is the call object of JSON-RPC. From is always our account, because some views depend on
// the caller.
type callArgs struct {
	From common.Address  `json:"from"`
	To   common.Address  `json:"to"`
	Data hexutil.Bytes   `json:"data"`
	Gas  *hexutil.Uint64 `json:"gas,omitempty"`
	// Value is in wei; nil: none.
	Value *hexutil.Big `json:"value,omitempty"`
}

// Views makes all reads at one block, on behalf of from. The error is about the connection; each
// view has the contract's own answer.
func (c *Conn) Views(ctx context.Context, from common.Address, at common.Hash, views ...*View) error {
	return readViews(from, views, nil, func(batch []rpc.BatchElem) error { return c.batchAt(ctx, at, batch) })
}

// Read is like Views, but any view's error fails all of it.
func (c *Conn) Read(ctx context.Context, from common.Address, at common.Hash, views ...*View) error {
	if err := c.Views(ctx, from, at, views...); err != nil {
		return err
	}
	return FirstError(views...)
}

// Reads are reads that are the same at each block, for ReadNewest.
func Reads(views ...*View) func(*Header) []*View { return func(*Header) []*View { return views } }

// ReadNewest makes the reads that reads returns for a block, at the newest block, which it returns.
// They are asked for at the newest block that is known, in one message with the question which one is
// the newest, and again only if it is another one. Any view's error fails all of it.
func (c *Conn) ReadNewest(ctx context.Context, from common.Address, reads func(at *Header) []*View) (*Header, error) {
	head, views, err := c.ViewsNewest(ctx, from, reads)
	if err == nil {
		err = FirstError(views...)
	}
	return head, err
}

// ViewsNewest is ReadNewest, but as in Views each view has the contract's own answer.
func (c *Conn) ViewsNewest(
	ctx context.Context, from common.Address, reads func(at *Header) []*View,
) (head *Header, views []*View, err error) {
	l, err := c.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := c.top.Load()
	if _, taken := l.at.takesHash.Load("eth_call"); known != nil && taken && !l.at.byNumber.Load() {
		views = reads(known)
		head, err = c.viewsBeside(ctx, from, known, views)
		_, refused := errors.AsType[*nodeError](err)
		lags := head != nil && !head.Head().Displaces(known.Head())
		switch {
		case err != nil && !refused:
			return nil, nil, err
		case lags: // Latest finds out whether it is only this node.
			head = nil
		case err == nil && head != nil && head.Hash == known.Hash:
			return known, views, nil
		}
	}
	if head == nil {
		if head, err = c.Latest(ctx); err != nil {
			return nil, nil, err
		}
	}
	views = reads(head)
	return head, views, c.Views(ctx, from, head.Hash, views...)
}

// viewsBeside makes reads at a block in one message with the question for the newest one, which it returns; nil: the
// node named none. It is a nodeError when the node does not have the block, as one that lags behind another.
func (c *Conn) viewsBeside(ctx context.Context, from common.Address, at *Header, views []*View) (*Header, error) {
	var newest blockAnswer
	err := readViews(from, views, nil, func(calls []rpc.BatchElem) error {
		batch := make([]rpc.BatchElem, 1, 1+len(calls))
		batch[0] = rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &newest}
		for _, call := range calls {
			call.Args[1] = map[string]common.Hash{"blockHash": at.Hash}
			batch = append(batch, call)
		}
		err := c.batch(ctx, batch)
		if err == nil {
			err = batch[0].Error
		}
		copy(calls, batch[1:])
		return err
	})
	if newest.Header != nil {
		err = cmp.Or(c.noteNewest(ctx, newest.Header), err)
	}
	return newest.Header, err
}

// ViewsOfNext reads as if in the block after head, later than head by the given time; if the node
// cannot do that, in its pending block.
func (c *Conn) ViewsOfNext(
	ctx context.Context, from common.Address, head *Header, later time.Duration, views ...*View,
) error {
	next := inBlock(uint64(head.Number)+1, uint64(head.Time)+uint64(later/time.Second))
	err := readViews(from, views, next, func(batch []rpc.BatchElem) error {
		return c.batchAt(ctx, head.Hash, batch)
	})
	if _, refused := errors.AsType[*nodeError](err); refused {
		err = readViews(from, views, nil, func(batch []rpc.BatchElem) error {
			return c.batchWith(ctx, batch, "pending")
		})
	}
	return err
}

// nodeError is an error of the node itself, not of the contract.
type nodeError struct{ error }

func (e *nodeError) Unwrap() error { return e.error }

// readViews makes the calls, with overrides of the block if there are any; send adds the block.
func readViews(from common.Address, views []*View, overrides []any, send func([]rpc.BatchElem) error) error {
	batch := make([]rpc.BatchElem, len(views))
	for i, v := range views {
		args := append([]any{callArgs{From: from, To: v.to, Data: v.data}, nil}, overrides...)
		batch[i] = rpc.BatchElem{Method: "eth_call", Args: args, Result: v}
	}
	if err := send(batch); err != nil {
		return err
	}
	for i, v := range views {
		err := batch[i].Error
		if data, reverted := RevertData(err); reverted {
			v.Err = v.refused(data)
			continue
		}
		switch {
		case IsBehind(err): // Of several nodes behind one address, some lag: this says nothing about the contract.
			return &nodeError{fmt.Errorf("%w: read contract %s: %w", ErrUnavailable, v.to, err)}
		case err != nil:
			return &nodeError{fmt.Errorf("read contract %s: %w", v.to, err)}
		}
	}
	return nil
}

// batchAt sends calls and sets their second argument, the block. A node that does not take blocks
// by hash gets the number. Nodes refuse a hash with many different codes and texts. So until a
// method has been seen to take a hash, a refused call is asked by number as well; if that is
// answered, the node is asked by number from then on.
func (c *Conn) batchAt(ctx context.Context, at common.Hash, batch []rpc.BatchElem) error {
	l, err := c.Current(ctx)
	if err != nil {
		return err
	}
	if l.at.byNumber.Load() {
		return c.batchByNumber(ctx, at, batch)
	}
	// By its hash (EIP-1898), so that the reads of one batch cannot mix two branches.
	if err := c.batchWith(ctx, batch, map[string]common.Hash{"blockHash": at}); err != nil {
		return err
	}
	doubted := l.at.doubtHash(batch)
	if len(doubted) == 0 {
		return nil
	}
	if err := c.batchByNumber(ctx, at, batch); err != nil {
		return err
	}
	for _, i := range doubted {
		if answers(batch[i]) && !l.at.byNumber.Swap(true) {
			c.cfg.Log.WithField("endpoint", l.at.name).Warn("the Ethereum node does not take blocks by hash in " +
				"calls; they name it by number, and check that it is the same")
		}
	}
	return nil
}

// callAt is batchAt for one call, whose other argument is what.
func (c *Conn) callAt(ctx context.Context, at common.Hash, result any, method string, what any) error {
	one := []rpc.BatchElem{{Method: method, Args: []any{what, nil}, Result: result}}
	if err := c.batchAt(ctx, at, one); err != nil {
		return err
	}
	return one[0].Error
}

// doubtHash are the positions of the calls that failed, perhaps because of the hash. It learns from
// the other calls that the node takes one.
func (e *endpoint) doubtHash(batch []rpc.BatchElem) (doubted []int) {
	for i, call := range batch {
		_, taken := e.takesHash.Load(call.Method)
		switch {
		case answers(call):
			e.takesHash.Store(call.Method, true)
		case !taken && IsAnswer(call.Error):
			doubted = append(doubted, i)
		}
	}
	return doubted
}

// answers says that a call was carried out, even if the contract refused it.
func answers(call rpc.BatchElem) bool {
	_, reverted := RevertData(call.Error)
	return call.Error == nil || reverted
}

// batchByNumber is batchAt with the block's number. The answers count only if the number means the
// same block before and after.
func (c *Conn) batchByNumber(ctx context.Context, at common.Hash, batch []rpc.BatchElem) error {
	block, err := c.ByHash(ctx, at)
	if err != nil {
		return err
	}
	for _, look := range []func() error{
		func() error { return c.stillThere(ctx, block) },
		func() error { return c.batchWith(ctx, batch, block.Number) },
		func() error { return c.stillThere(ctx, block) },
	} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) batchWith(ctx context.Context, batch []rpc.BatchElem, block any) error {
	for i := range batch {
		batch[i].Args[1], batch[i].Error = block, nil
	}
	return c.batchThere(ctx, batch, func(e *rpc.BatchElem) bool { return IsBehind(e.Error) })
}

// stillThere returns an error when a block's number now means another block.
func (c *Conn) stillThere(ctx context.Context, block *Header) error {
	now, err := c.ByNumber(ctx, uint64(block.Number))
	if err != nil {
		return err
	}
	if now.Hash != block.Hash {
		return fmt.Errorf("%w: block %d changed while it was read", ErrUnavailable, uint64(block.Number))
	}
	return nil
}

// FirstError is the first refusal among views.
func FirstError(views ...*View) error {
	for _, v := range views {
		if v.Err != nil {
			return v.Err
		}
	}
	return nil
}
