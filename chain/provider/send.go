package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/account"
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
	gas       uint64 // as measured
	lastBlock uint64 // in which it is any good; zero: any
	parts     int    // sectors that it is about
}

// purpose is why something is sent. Of one purpose one message at a time is under way.
type purpose struct {
	kind, subject, key string
	// takes is what the contract will take of the account's tokens.
	takes events.Amount
}

func (p purpose) prefix() string { return p.kind + ":" + p.subject + ":" }

// looker is what is read at a block, and what then says what is to be sent; a nil message: it is so already, by the
// message of that receipt if it is known.
type looker func(head *rpc.Header) ([]*rpc.View, decision)

type decision func(context.Context) (*message, events.Receipt, error)

// ofSectors is a looker that decides by sectors.
func (c *Chain) ofSectors(
	numbers []uint64,
	decide func(context.Context, *rpc.Header, []events.SectorOnChain) (*message, events.Receipt, error),
) looker {
	return func(head *rpc.Header) ([]*rpc.View, decision) {
		all, views := c.sectorViews(head, numbers)
		return views, func(ctx context.Context) (*message, events.Receipt, error) { return decide(ctx, head, all) }
	}
}

// ofSector is ofSectors of one.
func (c *Chain) ofSector(
	number uint64, decide func(context.Context, *rpc.Header, events.SectorOnChain) (*message, events.Receipt, error),
) looker {
	return c.ofSectors([]uint64{number},
		func(ctx context.Context, head *rpc.Header, all []events.SectorOnChain) (*message, events.Receipt, error) {
			return decide(ctx, head, all[0])
		})
}

// sending is the contract during one ownership of the account's transactions.
type sending struct {
	*Chain
	tx *tx.Manager
}

// act brings a message onto the chain, once for its key. Its errors say what was being done.
func (c *Chain) act(ctx context.Context, doing string, p purpose, look looker) (events.Receipt, error) {
	return account.Do(ctx, c.txs.WithManager, doing,
		func(ctx context.Context, manager *tx.Manager) (events.Receipt, error) {
			return sending{c, manager}.act(ctx, p, look)
		})
}

// act usually asks the node twice before it sends: what is so at the newest block, and whether the contract would take
// the message in the next one.
func (c sending) act(ctx context.Context, p purpose, look looker) (events.Receipt, error) {
	if err := c.tx.Idle(ctx, p.prefix()); err != nil {
		return events.Receipt{}, err
	}
	before, err := account.Mined(ctx, c.conn, c.tx, func(key string) bool { return key == p.prefix()+p.key })
	switch {
	case err != nil:
		return events.Receipt{}, err
	case before != nil:
		return c.conn.InBlock(ctx, before)
	}
	since, err := c.tx.Revision()
	if err != nil {
		return events.Receipt{}, err
	}
	money := c.allowance.Promise(account.Taking{Amount: p.takes, As: "deposit"})
	defer money.Release()
	head, decide, err := c.look(ctx, look, money)
	if err != nil {
		return events.Receipt{}, err
	}
	m, done, err := decide(ctx)
	if err != nil || m == nil {
		return done, err
	}
	r, err := c.send(ctx, p, head, m, money, since)
	if err == nil {
		return c.conn.InBlock(ctx, r)
	}
	if !permanentRefusal(err) {
		return events.Receipt{}, err
	}
	// Refused because it is so already? One that a reorganisation had taken back may have been mined
	// once more, and any account may pin a seed or settle what is over.
	if _, decide, latest := c.look(ctx, look, nil); latest == nil {
		if m, done, again := decide(ctx); again == nil && m == nil {
			return done, nil
		}
	}
	return events.Receipt{}, err
}

// look reads what a looker wants, and the account's tokens, at the newest block.
func (c *Chain) look(
	ctx context.Context, look looker, money *account.Promise,
) (head *rpc.Header, decide decision, err error) {
	head, err = c.conn.ReadNewest(ctx, c.account, func(head *rpc.Header) (views []*rpc.View) {
		views, decide = look(head)
		return append(views, money.Views()...)
	})
	return head, decide, err
}

func (c sending) send(
	ctx context.Context, p purpose, head *rpc.Header, m *message, money *account.Promise, since uint64,
) (*types.Receipt, error) {
	m.gas = account.WithMargin(m.gas)
	switch {
	case len(m.data) > maxMessage:
		return nil, fmt.Errorf("%w: a message of %d bytes, nodes take %d; send fewer sectors in one",
			events.ErrMalformed, len(m.data), maxMessage)
	case m.parts > 1 && m.gas > mostGas(head):
		return nil, fmt.Errorf("%w: a message of %d sectors may use %d gas, and %d is the most; send fewer in one",
			events.ErrMalformed, m.parts, m.gas, mostGas(head))
	case m.lastBlock != 0 && uint64(head.Number) >= m.lastBlock:
		return nil, fmt.Errorf("%w: the next block is %d, the last good one %d",
			events.ErrDeadlinePassed, uint64(head.Number)+1, m.lastBlock)
	}
	// The contract looks at tokens last: what it says first decides whether an approval is worth its gas, and
	// there is nothing to ask it afterwards.
	err := c.preflight(ctx, head, m)
	if err != nil && (money.Suffices() || !errors.Is(err, events.ErrInsufficientFunds)) {
		return nil, err
	}
	if _, err := money.Secure(ctx, c.tx); err != nil {
		return nil, err
	}
	return c.tx.Submit(ctx, tx.Call{
		Key: p.prefix() + p.key, ExclusivePrefix: p.prefix(), SinceRevision: since,
		To: c.contract, Data: m.data, Gas: m.gas, Deadline: c.deadlineOf(head, m.lastBlock), LastBlock: m.lastBlock,
	})
}

// lateBlocks is how many times as long as usual blocks may take until a deadline that was computed from them is too
// early: then messages that are still good would be given up.
const lateBlocks = 2

// deadlineOf is the chain time of a block to come; zero: of any. The block itself is the limit; by the time, what the
// account sends is put in one order, whatever contract it is for.
func (c *Chain) deadlineOf(head *rpc.Header, block uint64) time.Time {
	if block == 0 {
		return time.Time{}
	}
	left := block - min(block, uint64(head.Number))
	seconds := lateBlocks * left * uint64(c.blocks.Pace()/time.Second)
	return events.Unix(uint64(head.Time) + seconds)
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
	return [][]common.Hash{ids, {common.BytesToHash(c.account[:])}, {common.BigToHash(new(big.Int).SetUint64(number))}}
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
