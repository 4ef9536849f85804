package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// Header is what we need of a block's header. The hash is as the node gives it: on chains with
// additional header fields, computing it would give another one.
type Header struct {
	Number hexutil.Uint64 `json:"number"`
	Hash   common.Hash    `json:"hash"`
	Parent common.Hash    `json:"parentHash"`
	Time   hexutil.Uint64 `json:"timestamp"`
	// GasLimit is what all transactions of the block may use together.
	GasLimit hexutil.Uint64 `json:"gasLimit"`
	BaseFee  *hexutil.Big   `json:"baseFeePerGas"`
	Bloom    types.Bloom    `json:"logsBloom"`
}

// Head is the block in the program's own type.
func (h *Header) Head() events.Head {
	return events.Head{
		Number: uint64(h.Number),
		Hash:   events.Hash(h.Hash),
		Parent: events.Hash(h.Parent),
		Time:   events.Unix(uint64(h.Time)),
	}
}

// LeastPrice is the lowest price per gas that the block takes, in wei.
func (h *Header) LeastPrice() *big.Int {
	if h.BaseFee == nil {
		return new(big.Int)
	}
	return h.BaseFee.ToInt()
}

// farAhead is how many blocks beyond the newest known one a node may claim to be before it must
// show that block.
const farAhead = 16

// Behind one address there may be several nodes, and some lag. headLooks is how often a node may fail to
// show the block that it names as its newest, and headPause the pause in between. What was seen before is asked
// for up to behindLooks times, with a pause of behindPause: another node may answer.
const (
	headLooks   = 5
	headPause   = 200 * time.Millisecond
	behindLooks = 10
	behindPause = 50 * time.Millisecond
)

// untilThere repeats a question as long as the answer is that of a node which lags. In the end that
// answer stands; it says nothing about the chain.
func untilThere(ctx context.Context, ask func() (lags bool, err error)) error {
	for look := 1; ; look++ {
		lags, err := ask()
		if !lags || look == behindLooks || retry.Sleep(ctx, behindPause) != nil {
			return err
		}
	}
}

// batchThere is a batch in which the questions that a node which lags cannot answer are repeated alone. lags
// recognises its answer.
func (c *Conn) batchThere(ctx context.Context, batch []rpc.BatchElem, lags func(*rpc.BatchElem) bool) error {
	left := make([]*rpc.BatchElem, len(batch))
	for i := range batch {
		left[i] = &batch[i]
	}
	return untilThere(ctx, func() (bool, error) {
		asked := make([]rpc.BatchElem, len(left))
		for i, e := range left {
			asked[i] = rpc.BatchElem{Method: e.Method, Args: e.Args, Result: e.Result}
		}
		if err := c.batch(ctx, asked); err != nil {
			return false, err
		}
		for i, e := range left {
			e.Error = asked[i].Error
		}
		left = slices.DeleteFunc(left, func(e *rpc.BatchElem) bool { return !lags(e) })
		return len(left) > 0, nil
	})
}

// Latest is the newest block: not one before the newest that was named so far, unless that is all that can be had.
func (c *Conn) Latest(ctx context.Context) (h *Header, err error) {
	err = untilThere(ctx, func() (lags bool, err error) {
		if h, err = c.Tagged(ctx, "latest"); err != nil {
			return false, err
		}
		top := c.top.Load()
		return top != nil && !h.Head().Displaces(top.Head()), nil
	})
	if err != nil {
		return nil, err
	}
	return h, c.noteNewest(ctx, h)
}

// Head is the newest block in the program's own type.
func (c *Conn) Head(ctx context.Context) (events.Head, error) {
	h, err := c.Latest(ctx)
	if err != nil {
		return events.Head{}, fmt.Errorf("read head: %w", err)
	}
	return h.Head(), nil
}

// noteNewest remembers the newest block that was named. If it is far ahead of what is known, the
// node must have it by its number.
func (c *Conn) noteNewest(ctx context.Context, h *Header) error {
	top := c.top.Load()
	if top == nil || h.Number > top.Number+farAhead {
		if err := c.mustKnow(ctx, uint64(h.Number)); err != nil {
			return err
		}
	}
	for {
		if top != nil && !h.Head().Displaces(top.Head()) || c.top.CompareAndSwap(top, h) {
			return nil
		}
		top = c.top.Load()
	}
}

// mustKnow asks a node for the block that it named as its newest.
func (c *Conn) mustKnow(ctx context.Context, number uint64) error {
	for range headLooks {
		_, err := c.ByNumber(ctx, number)
		if !errors.Is(err, ethereum.NotFound) {
			return err
		}
		if err := retry.Sleep(ctx, headPause); err != nil {
			return err
		}
	}
	return c.Disbelieve(ctx, "for its newest block", fmt.Errorf("it names block %d, and does not have it", number))
}

// Tagged is the block with a tag, such as latest or finalized, or ethereum.NotFound.
func (c *Conn) Tagged(ctx context.Context, tag string) (*Header, error) {
	return c.header(ctx, &blockAnswer{}, "eth_getBlockByNumber", tag)
}

// ByNumber is the block that has this number now, or ethereum.NotFound. At or below a block that was seen, not
// found means that the node lags.
func (c *Conn) ByNumber(ctx context.Context, number uint64) (*Header, error) {
	top := c.top.Load()
	return c.shown(ctx, top != nil && number <= uint64(top.Number), func() (*Header, error) {
		return c.header(ctx, &blockAnswer{number: &number}, "eth_getBlockByNumber", hexutil.Uint64(number))
	})
}

// ByHash is the block with this hash, even on a branch that lost, or ethereum.NotFound. A block that was read lately is
// not asked for again, as it never changes.
func (c *Conn) ByHash(ctx context.Context, hash common.Hash) (*Header, error) {
	if h := c.seen.get(hash); h != nil {
		return h, nil
	}
	return c.shown(ctx, true, func() (*Header, error) {
		return c.header(ctx, &blockAnswer{hash: &hash}, "eth_getBlockByHash", hash)
	})
}

// shown reads a block; was says that it was seen before.
func (c *Conn) shown(ctx context.Context, was bool, read func() (*Header, error)) (h *Header, err error) {
	err = untilThere(ctx, func() (lags bool, err error) {
		h, err = read()
		return was && errors.Is(err, ethereum.NotFound), err
	})
	return h, err
}

func (c *Conn) header(ctx context.Context, answer *blockAnswer, method string, which any) (*Header, error) {
	if err := c.call(ctx, answer, method, which, false); err != nil {
		return nil, err
	}
	if answer.Header == nil {
		return nil, fmt.Errorf("block %v: %w", which, ethereum.NotFound)
	}
	return answer.Header, nil
}

// keptBlocks is how many headers are kept: more than a reorganisation replaces, and few bytes.
const keptBlocks = 256

// seenBlocks are the headers that were read last, by their hashes. It is safe for concurrent use.
type seenBlocks struct {
	mu    sync.Mutex
	by    map[common.Hash]*Header
	order []common.Hash // the oldest first
}

func (s *seenBlocks) get(hash common.Hash) *Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[hash]
}

func (s *seenBlocks) put(h *Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[common.Hash]*Header{}
	}
	if s.by[h.Hash] != nil {
		return
	}
	if len(s.order) == keptBlocks {
		delete(s.by, s.order[0])
		s.order = s.order[1:]
	}
	s.by[h.Hash], s.order = h, append(s.order, h.Hash)
}

// forget drops all of them, as when a node that gave some is not believed any more.
func (s *seenBlocks) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.order = nil, nil
}

// Blocks are the blocks with these numbers on the current chain, in the order of the numbers; nil
// where there is none.
func (c *Conn) Blocks(ctx context.Context, numbers []uint64) ([]*Header, error) {
	return blocksBy(ctx, c, "eth_getBlockByNumber", numbers, func(n *uint64) (any, blockAnswer) {
		return hexutil.Uint64(*n), blockAnswer{number: n}
	})
}

// HeadersBetween are Blocks from first to last.
func (c *Conn) HeadersBetween(ctx context.Context, first, last uint64) ([]*Header, error) {
	numbers := make([]uint64, 0, last-first+1)
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return c.Blocks(ctx, numbers)
}

// BlocksByHash are the blocks with these hashes, in the order of the hashes; nil where there is
// none.
func (c *Conn) BlocksByHash(ctx context.Context, hashes []common.Hash) ([]*Header, error) {
	return blocksBy(ctx, c, "eth_getBlockByHash", hashes, func(h *common.Hash) (any, blockAnswer) {
		return *h, blockAnswer{hash: h}
	})
}

// blocksBy asks for blocks, if there are any to ask for; question is how one is asked for, and what its answer
// must be.
func blocksBy[K any](
	ctx context.Context, c *Conn, method string, keys []K, question func(*K) (any, blockAnswer),
) ([]*Header, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	answers := make([]blockAnswer, len(keys))
	batch := make([]rpc.BatchElem, len(keys))
	for i := range keys {
		which, answer := question(&keys[i])
		answers[i] = answer
		batch[i] = rpc.BatchElem{Method: method, Args: []any{which, false}, Result: &answers[i]}
	}
	top := c.top.Load()
	err := c.batchThere(ctx, batch, func(e *rpc.BatchElem) bool {
		a, _ := e.Result.(*blockAnswer)
		return e.Error == nil && a.Header == nil && (a.number == nil || top != nil && *a.number <= uint64(top.Number))
	})
	if err != nil {
		return nil, err
	}
	found := make([]*Header, len(answers))
	for i, e := range batch {
		if e.Error != nil {
			return nil, fmt.Errorf("block %v: %w", e.Args[0], e.Error)
		}
		found[i] = answers[i].Header
	}
	return found, nil
}

// maxHeadsPerBatch is the most blocks that one batch asks for: providers refuse larger ones.
const maxHeadsPerBatch = 100

// HeadsBetween are the blocks from first to last on the current chain, read in few calls. After a
// reorganisation in between, a block's parent is not the block before it.
func (c *Conn) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	heads := make([]events.Head, 0, last-first+1)
	for from := first; from <= last; from += maxHeadsPerBatch {
		to := min(last, from+maxHeadsPerBatch-1)
		found, err := c.HeadersBetween(ctx, from, to)
		if err != nil {
			return nil, fmt.Errorf("read blocks %d to %d: %w", from, to, err)
		}
		for i, h := range found {
			if h == nil {
				return nil, fmt.Errorf("read blocks %d to %d: block %d: %w",
					from, to, from+uint64(i), ethereum.NotFound)
			}
			heads = append(heads, h.Head())
		}
	}
	return heads, nil
}

// BlocksByNumber are the blocks with these numbers on the current chain, without those that the
// node does not have.
func (c *Conn) BlocksByNumber(ctx context.Context, numbers []uint64) (map[uint64]*Header, error) {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	found, err := c.Blocks(ctx, numbers)
	if err != nil {
		return nil, err
	}
	byNumber := make(map[uint64]*Header, len(numbers))
	for i, n := range numbers {
		byNumber[n] = found[i]
	}
	return byNumber, nil
}

// MayHold asks the block's bloom filter whether it has logs of a contract with these topics. No is
// certain; yes is not.
func (h *Header) MayHold(contract common.Address, topics [][]common.Hash) bool {
	if !h.Bloom.Test(contract.Bytes()) {
		return false
	}
	has := func(topic common.Hash) bool { return h.Bloom.Test(topic.Bytes()) }
	for _, either := range topics {
		if len(either) > 0 && !slices.ContainsFunc(either, has) {
			return false
		}
	}
	return true
}
