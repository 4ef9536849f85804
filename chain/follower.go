package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Limits of following.
const (
	// reorgDepth is how many blocks back from the newest one are read one by one and
	// by hash. Deeper ones are read by ranges; nobody expects them to change.
	reorgDepth = 128
	// recentBlocks is how many hashes are remembered to find a common ancestor.
	recentBlocks = 512
	// maxUpdateLogs is the most logs in one update, unless one block has more.
	maxUpdateLogs    = 1000
	firstFollowWait  = 250 * time.Millisecond
	watchdogInterval = 15 * time.Second
)

// Follower is the feed of what the contract says. Make it with Market.Feed.
type Follower struct {
	conn     *conn
	abis     abis
	contract common.Address
	cfg      Config
	log      logrus.FieldLogger
	topics   [][]common.Hash
	// polls says that the endpoint cannot tell about new blocks by itself.
	polls bool
}

// Feed is the contract's log feed. It shares the market's connection.
func (m *Market) Feed() *Follower {
	f := &Follower{
		conn: m.conn, abis: m.abis, contract: m.contract, cfg: m.cfg, log: m.cfg.Log,
		polls: !subscribes(m.cfg.Endpoint),
	}
	f.topics = [][]common.Hash{f.readers().topics()}
	return f
}

// cursor is where Follow stands.
type cursor struct {
	number uint64
	hash   common.Hash // zero before the first block
	recent map[uint64]common.Hash
}

// Follow delivers updates after the cursor, oldest first, until ctx ends or deliver
// fails; it returns ctx's or deliver's error, or an *IdentityError when the node turns
// out to follow another chain. Everything else it survives: it reconnects and goes on.
// A zero cursor starts at the contract's deployment. Every log is delivered exactly
// once for each block that holds it, and blocks that are gone are announced before
// those that replace them.
func (f *Follower) Follow(
	ctx context.Context, from events.Cursor,
	deliver func(context.Context, events.ChainUpdate) error,
) error {
	at := cursorFrom(from)
	alarm := newAlarm(f)
	defer alarm.close()
	wait := firstFollowWait
	for {
		err := f.advance(ctx, at, deliver)
		if refused, ok := errors.AsType[*deliverError](err); ok {
			return refused.err
		}
		if _, other := errors.AsType[*IdentityError](err); other {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			if wait > firstFollowWait {
				f.log.WithField("block", at.number).Info("the chain answers again")
			}
			wait = firstFollowWait
			alarm.sleep(ctx)
			continue
		}
		if wait == firstFollowWait { // Said once, however long it lasts.
			f.log.WithField("block", at.number).Warnf("the chain does not answer, trying again: %v", err)
		}
		sleep(ctx, wait)
		wait = min(2*wait, f.cfg.LongestRedialWait)
	}
}

// deliverError marks what the consumer returned.
type deliverError struct{ err error }

func (e *deliverError) Error() string { return e.err.Error() }

func cursorFrom(c events.Cursor) *cursor {
	at := &cursor{number: c.Number, hash: common.Hash(c.Hash), recent: map[uint64]common.Hash{}}
	for number, hash := range c.Recent {
		at.recent[number] = common.Hash(hash)
	}
	if at.hash != (common.Hash{}) {
		at.recent[at.number] = at.hash
	}
	return at
}

// move sets the cursor after a delivery.
func (c *cursor) move(number uint64, hash common.Hash) {
	c.number, c.hash = number, hash
	c.recent[number] = hash
	if len(c.recent) > 2*recentBlocks {
		maps.DeleteFunc(c.recent, func(n uint64, _ common.Hash) bool { return n+recentBlocks < number })
	}
}

// advance delivers everything up to the newest block.
func (f *Follower) advance(
	ctx context.Context, at *cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	hand := func(u events.ChainUpdate) error {
		if err := deliver(ctx, u); err != nil {
			return &deliverError{err}
		}
		return nil
	}
	for {
		head, err := f.conn.latest(ctx)
		if err != nil {
			return err
		}
		if at.hash == (common.Hash{}) {
			if err := f.begin(ctx, at, head); err != nil {
				return err
			}
		}
		behind, err := f.rewind(ctx, at, head, hand)
		if err != nil || behind || uint64(head.Number) <= at.number {
			return err
		}
		if uint64(head.Number) > at.number+reorgDepth {
			err = f.leap(ctx, at, uint64(head.Number)-reorgDepth, hand)
		} else {
			err = f.walk(ctx, at, head, hand)
		}
		if err != nil {
			return err
		}
		if at.hash == head.Hash {
			return nil
		}
	}
}

// begin places a zero cursor on the block before the contract's deployment.
func (f *Follower) begin(ctx context.Context, at *cursor, head *header) error {
	first, err := f.deployment(ctx, uint64(head.Number))
	if err != nil {
		return err
	}
	before, err := f.conn.byNumber(ctx, first-min(first, 1))
	if err != nil {
		return err
	}
	at.move(uint64(before.Number), before.Hash)
	return nil
}

// deployment finds the block in which the contract got its code, by halving. A node
// that forgot old states makes it start earlier, which costs time only.
func (f *Follower) deployment(ctx context.Context, head uint64) (uint64, error) {
	if f.cfg.DeployedAt != 0 {
		return f.cfg.DeployedAt, nil
	}
	low, high := uint64(0), head
	for low < high {
		middle := low + (high-low)/2
		var code hexutil.Bytes
		err := f.conn.call(ctx, &code, "eth_getCode", f.contract, hexutil.Uint64(middle))
		if _, answered := errors.AsType[rpc.Error](err); answered {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if len(code) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

// rewind compares the cursor with the chain. When its block is gone it announces that
// and moves back to the last block that is still there. It reports behind when the node
// has not yet got as far as the cursor.
func (f *Follower) rewind(
	ctx context.Context, at *cursor, head *header, hand func(events.ChainUpdate) error,
) (behind bool, err error) {
	if uint64(head.Number) < at.number && at.recent[uint64(head.Number)] == head.Hash {
		return true, nil
	}
	if uint64(head.Number) >= at.number {
		same, err := f.holds(ctx, at.number, at.hash)
		if same || err != nil {
			return false, err
		}
	}
	ancestor, err := f.ancestor(ctx, at)
	if err != nil {
		return false, err
	}
	gone := &messages.ChainReorganized{
		Ancestor: uint64(ancestor.Number), AncestorHash: events.Hash(ancestor.Hash).String(),
	}
	for _, number := range slices.Sorted(maps.Keys(at.recent)) {
		if number > uint64(ancestor.Number) {
			gone.Dropped = append(gone.Dropped, events.Hash(at.recent[number]).String())
		}
	}
	if err := hand(events.ChainUpdate{Reorganized: gone, Head: ancestor.head()}); err != nil {
		return false, err
	}
	maps.DeleteFunc(at.recent, func(n uint64, _ common.Hash) bool { return n > uint64(ancestor.Number) })
	at.move(uint64(ancestor.Number), ancestor.Hash)
	return false, nil
}

func (f *Follower) holds(ctx context.Context, number uint64, hash common.Hash) (bool, error) {
	block, err := f.conn.byNumber(ctx, number)
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return block.Hash == hash, nil
}

// ancestor is the newest remembered block that is still on the chain. When there is
// none, everything is read again from before the oldest one.
func (f *Follower) ancestor(ctx context.Context, at *cursor) (*header, error) {
	numbers := slices.Sorted(maps.Keys(at.recent))
	for _, number := range slices.Backward(numbers) {
		block, err := f.conn.byNumber(ctx, number)
		if errors.Is(err, ethereum.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if block.Hash == at.recent[number] {
			return block, nil
		}
	}
	oldest := numbers[0]
	return f.conn.byNumber(ctx, oldest-min(oldest, reorgDepth))
}

// walk delivers the blocks after the cursor one by one, read by hash, so that an update
// never mixes two branches.
func (f *Follower) walk(
	ctx context.Context, at *cursor, head *header, hand func(events.ChainUpdate) error,
) error {
	blocks, err := f.headers(ctx, at.number+1, uint64(head.Number))
	if err != nil {
		return err
	}
	for _, block := range blocks {
		if block.Parent != at.hash {
			return nil // A reorganisation in between: the next round sees it.
		}
		hash := block.Hash
		found, err := f.query(ctx, logFilter{Address: f.contract, Topics: f.topics, BlockHash: &hash})
		if err != nil {
			return err
		}
		logs, err := f.translate(ctx, found, func(common.Hash) *header { return block })
		if err != nil {
			return err
		}
		u := events.ChainUpdate{Head: block.head(), Logs: logs, Live: block.Hash == head.Hash}
		if err := hand(u); err != nil {
			return err
		}
		at.move(uint64(block.Number), block.Hash)
	}
	return nil
}

// headers reads blocks first to last, all or an error.
func (f *Follower) headers(ctx context.Context, first, last uint64) ([]*header, error) {
	blocks := make([]*header, last-first+1)
	batch := make([]rpc.BatchElem, len(blocks))
	for i := range blocks {
		batch[i] = rpc.BatchElem{
			Method: "eth_getBlockByNumber",
			Args:   []any{hexutil.Uint64(first + uint64(i)), false}, Result: &blocks[i],
		}
	}
	if err := f.conn.batch(ctx, batch); err != nil {
		return nil, err
	}
	for i, e := range batch {
		if e.Error != nil {
			return nil, fmt.Errorf("block %d: %w", first+uint64(i), e.Error)
		}
		if blocks[i] == nil {
			return blocks[:i], nil // The chain got shorter meanwhile.
		}
	}
	return blocks, nil
}

// leap delivers old blocks by ranges, up to and including a block.
func (f *Follower) leap(
	ctx context.Context, at *cursor, to uint64, hand func(events.ChainUpdate) error,
) error {
	for at.number < to {
		last := min(to, at.number+f.cfg.LogRange)
		found, err := f.conn.logsBetween(ctx, f.contract, f.topics, at.number+1, last)
		if err != nil {
			return err
		}
		// An update ends with a block, so a large result is cut between two blocks.
		if len(found) > maxUpdateLogs {
			cut := found[maxUpdateLogs].BlockNumber - 1
			if cut <= at.number {
				cut = at.number + 1
			}
			last = min(last, cut)
			found = slices.DeleteFunc(found, func(l logEntry) bool { return l.BlockNumber > last })
		}
		end, err := f.conn.byNumber(ctx, last)
		if err != nil {
			return err
		}
		blocks, err := f.blocksOf(ctx, found)
		if err != nil {
			return err
		}
		logs, err := f.translate(ctx, found, func(h common.Hash) *header { return blocks[h] })
		if err != nil {
			return err
		}
		if err := hand(events.ChainUpdate{Head: end.head(), Logs: logs}); err != nil {
			return err
		}
		for hash, block := range blocks {
			at.recent[uint64(block.Number)] = hash
		}
		at.move(last, end.Hash)
	}
	return nil
}

// blocksOf reads the blocks that logs are in.
func (f *Follower) blocksOf(ctx context.Context, logs []logEntry) (map[common.Hash]*header, error) {
	blocks := map[common.Hash]*header{}
	for _, l := range logs {
		if blocks[l.BlockHash] != nil {
			continue
		}
		block, err := f.conn.byHash(ctx, l.BlockHash)
		if err != nil {
			return nil, err
		}
		blocks[l.BlockHash] = block
	}
	return blocks, nil
}

func (f *Follower) query(ctx context.Context, filter logFilter) ([]logEntry, error) {
	var logs []logEntry
	if err := f.conn.call(ctx, &logs, "eth_getLogs", filter); err != nil {
		return nil, fmt.Errorf("logs of block %s: %w", filter.BlockHash, err)
	}
	return logs, nil
}
