package provider

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// maxMessage limits the data of a message, in bytes: pools of most nodes take 128 KiB in all.
const maxMessage = 126 << 10

// message is what is to be sent.
type message struct {
	data      []byte
	gas       uint64
	lastBlock uint64 // in which it is any good; zero: any
	// takes is what the contract will take of the account's tokens.
	takes events.Amount
}

// purpose is why something is sent. Of one purpose one message at a time is under way.
type purpose struct{ kind, subject, key string }

func (p purpose) prefix() string { return p.kind + ":" + p.subject + ":" }

// looker says at a block what is to be sent; nil: it is so already, by the message of that receipt if it
// is known.
type looker func(context.Context, *rpc.Header) (*message, events.Receipt, error)

// sending is the contract during one ownership of the account's transactions.
type sending struct {
	*Chain
	tx *tx.Manager
}

// act brings a message onto the chain, once for its key. Its errors say what was being done.
func (c *Chain) act(ctx context.Context, doing string, p purpose, look looker) (r events.Receipt, err error) {
	err = c.txs.During(ctx, func(ctx context.Context, manager *tx.Manager) error {
		r, err = sending{c, manager}.act(ctx, p, look)
		return err
	})
	if err != nil {
		return events.Receipt{}, fmt.Errorf("%s: %w", doing, err)
	}
	return r, nil
}

func (c sending) act(ctx context.Context, p purpose, look looker) (events.Receipt, error) {
	if err := c.tx.Idle(ctx, p.prefix()); err != nil {
		return events.Receipt{}, err
	}
	if r, err := c.mined(ctx, p); err != nil || !r.TxHash.Zero() {
		return r, err
	}
	looked, err := c.tx.Revision(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	head, err := c.conn.Latest(ctx)
	if err != nil {
		return events.Receipt{}, err
	}
	m, done, err := look(ctx, head)
	if err != nil || m == nil {
		return done, err
	}
	r, err := c.send(ctx, p, head, m, looked)
	if err == nil {
		return c.conn.InBlock(ctx, r)
	}
	if !hopeless(err) {
		return events.Receipt{}, err
	}
	// Refused because it is so already? One that a reorganisation had taken back may have been mined
	// once more, and anybody may pin a seed or settle what is over.
	if head, latest := c.conn.Latest(ctx); latest == nil {
		if m, done, again := look(ctx, head); again == nil && m == nil {
			return done, nil
		}
	}
	return events.Receipt{}, err
}

// mined is the receipt of the message that was mined under a key; zero: none was, or it was taken back and failed
// when it was mined again.
func (c sending) mined(ctx context.Context, p purpose) (events.Receipt, error) {
	hashes, err := c.tx.Succeeded(ctx, func(base string) bool { return base == p.prefix()+p.key })
	if err != nil || len(hashes) == 0 {
		return events.Receipt{}, err
	}
	r, err := c.conn.MinedReceipt(ctx, hashes[len(hashes)-1])
	if err != nil || !rpc.Succeeded(r) {
		return events.Receipt{}, err
	}
	return c.conn.InBlock(ctx, r)
}

func (c sending) send(
	ctx context.Context, p purpose, head *rpc.Header, m *message, looked uint64,
) (*types.Receipt, error) {
	if len(m.data) > maxMessage {
		return nil, fmt.Errorf("%w: a message of %d bytes, nodes take %d; send fewer sectors in one",
			events.ErrMalformed, len(m.data), maxMessage)
	}
	if m.lastBlock != 0 && uint64(head.Number) >= m.lastBlock {
		return nil, fmt.Errorf("%w: the next block is %d, the last good one %d",
			events.ErrDeadlinePassed, uint64(head.Number)+1, m.lastBlock)
	}
	// The contract looks at tokens last, so what it says first decides whether an approval is worth
	// its gas.
	err := c.preflight(ctx, head, m)
	if err != nil && (m.takes.IsZero() || !errors.Is(err, events.ErrInsufficientFunds)) {
		return nil, err
	}
	if !m.takes.IsZero() {
		defer c.keep(m.takes)
		if err := c.provide(ctx, m.takes); err != nil {
			return nil, err
		}
		if head, err = c.conn.Latest(ctx); err == nil {
			err = c.preflight(ctx, head, m)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.tx.Submit(ctx, tx.Call{
		Key: p.prefix() + p.key, Alone: p.prefix(), Looked: looked,
		To: c.contract, Data: m.data, Gas: m.gas, LastBlock: m.lastBlock,
	})
}

// preflight tries a message on the block that comes next, and returns the outcome that the contract
// would give. What it cannot find out it leaves to the message.
func (c *Chain) preflight(ctx context.Context, head *rpc.Header, m *message) error {
	t := c.blocks.NextBlock(head, rpc.Trial{To: c.contract, Data: m.data, Gas: m.gas})
	return c.conn.Preflight(ctx, c.account, t, outcomes.OfTrial)
}

// said is what the contract said last, of certain names, about a sector of this account since a block, and the
// receipt of the message in which it did; nil: nothing.
func (c *Chain) said(
	ctx context.Context, number, since uint64, names ...string,
) (found contracts.SectorEvent, by events.Receipt, err error) {
	var in common.Hash
	err = c.search(ctx, number, since, func(e contracts.SectorEvent, l *types.Log) bool {
		found, in = e, l.TxHash
		return true
	}, names...)
	if err == nil && found != nil {
		by, err = c.receipt(ctx, in)
	}
	return found, by, err
}

// search goes through what the contract said, newest first, about what number stands for in those events,
// until that is enough.
func (c *Chain) search(
	ctx context.Context, number, since uint64, enough func(contracts.SectorEvent, *types.Log) bool, names ...string,
) error {
	s := feed.Search{
		Contract: c.contract, Topics: c.topics(number, names),
		First: max(since, c.cfg.DeployedAt), Step: c.cfg.LogRange,
	}
	return s.Back(ctx, c.conn, func(l *types.Log) (bool, error) {
		e, err := contracts.UnpackSectorEvent(l)
		if err != nil {
			return false, nil //nolint:nilerr // Not the log that we look for.
		}
		return enough(e, l), nil
	})
}

// receipt is that of a message whose log was found.
func (c *Chain) receipt(ctx context.Context, in common.Hash) (events.Receipt, error) {
	r, err := c.conn.MinedReceipt(ctx, in)
	if err == nil && !rpc.Succeeded(r) {
		err = fmt.Errorf("%w: the log of %s is there, and its receipt says that it failed", rpc.ErrUnavailable, in)
	}
	if err != nil {
		return events.Receipt{}, err
	}
	return c.conn.InBlock(ctx, r)
}

// topics are those of the account's events of certain names, about what number stands for in them.
func (c *Chain) topics(number uint64, names []string) [][]common.Hash {
	known := c.abi.GetABI()
	var ids []common.Hash
	for _, name := range names {
		ids = append(ids, known.Events[name].ID)
	}
	return [][]common.Hash{ids, {common.BytesToHash(c.account[:])}, {common.BigToHash(bigOf(number))}}
}

// list names sectors in a key and for people.
func list(numbers []uint64) string {
	const most = 10
	var texts []string
	for _, n := range numbers[:min(len(numbers), most)] {
		texts = append(texts, strconv.FormatUint(n, 10))
	}
	text := strings.Join(texts, ",")
	if more := len(numbers) - most; more > 0 {
		text += fmt.Sprintf("+%d", more)
	}
	return text
}
