package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/messages"
)

// Limits of following.
const (
	// reorgDepth is how many blocks back from the newest one are read one by one and by hash. Older
	// ones are read in ranges; they are not expected to change.
	reorgDepth = 128
	// recentBlocks is the number of hashes that are remembered to find a common ancestor.
	recentBlocks = 512
	// maxUpdateLogs is the most logs in one update, unless a single block has more.
	maxUpdateLogs   = 1000
	firstFollowWait = 250 * time.Millisecond
	// staleRounds is the number of rounds in a row with answers that contradict each other after
	// which the operator is told.
	staleRounds = 20
)

// errGap: on this node, the next block does not follow the one that was delivered last.
var errGap = fmt.Errorf("%w: its blocks do not follow each other", ErrNotYet)

// ErrNotYet: the node's answers do not fit together now, or end before the cursor. The node lags,
// or a reorganisation is going on; both pass.
var ErrNotYet = errors.New("the node is not there yet")

// Config says what is followed. Everything is set unless its comment says otherwise.
type Config struct {
	Contract    common.Address
	DeployedAt  uint64        // the block in which the contract was deployed; zero: it is searched for
	LogRange    uint64        // the most blocks in one search for logs
	LongestWait time.Duration // between attempts to reconnect
	// After SilentBlocks block times without a new block, and at least leastSilence, the connection
	// is closed and opened again.
	SilentBlocks uint64
	LeastSilence time.Duration
	Log          logrus.FieldLogger
}

// Follower is the feed of one contract's logs, as values of type E.
type Follower[E any] struct {
	conn    *rpc.Conn
	blocks  *rpc.BlockTime
	cfg     Config
	readers Readers[E] // none: only heads are followed
	topics  [][]common.Hash
}

// New follows a contract; r says which of its logs are read, and how.
func New[E any](c *rpc.Conn, blocks *rpc.BlockTime, cfg Config, r Readers[E]) *Follower[E] {
	return &Follower[E]{conn: c, blocks: blocks, cfg: cfg, readers: r, topics: [][]common.Hash{r.topics()}}
}

// Follow delivers updates after the cursor, oldest first, until ctx ends or deliver fails. It
// returns the error of ctx or deliver, or an *IdentityError when the node turns out to be on
// another chain; after any other error it reconnects and goes on. A zero cursor starts at the
// contract's deployment. Every log is delivered exactly once for each block that holds it, and
// blocks that are gone are announced before those that replace them.
func (f *Follower[E]) Follow(
	ctx context.Context, from events.Cursor,
	deliver func(context.Context, events.ChainUpdateOf[E]) error,
) error {
	at := cursorFrom(from)
	news := rpc.NewWaker(f.conn, f.blocks)
	defer news.Close()
	watch := newWatchdog(f.cfg.SilentBlocks, f.cfg.LeastSilence, time.Now())
	wait, stale := firstFollowWait, 0
	for {
		err := f.advance(ctx, at, watch, deliver)
		if refused, ok := errors.AsType[*deliverError](err); ok {
			if errors.Is(refused.err, events.ErrImpossible) { // Found by someone who knows more than one answer.
				_ = f.conn.Disbelieve(ctx, "for what follows on the last block", refused.err)
			}
			return refused.err
		}
		if _, other := errors.AsType[*rpc.IdentityError](err); other {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err == nil:
			if wait > firstFollowWait {
				f.cfg.Log.WithField("block", at.number).Info("the chain answers again")
			}
			wait, stale = firstFollowWait, 0
			f.silence(ctx, watch)
			news.Wait(ctx, watch.top, func(misses int) time.Duration { return watch.look(f.blocks.Poll(), misses) })
		case errors.Is(err, ErrNotYet):
			if stale++; stale == staleRounds {
				f.cfg.Log.WithField("block", at.number).Warnf("waiting for the chain: %v", err)
			}
			if stale%staleRounds == 0 && errors.Is(err, errGap) { // No reorganisation lasts that long.
				_ = f.conn.Disbelieve(ctx, "for the newest blocks", err)
			}
			f.silence(ctx, watch)
			_ = retry.Sleep(ctx, min(firstFollowWait, f.blocks.Poll()))
		case rpc.IsTooOften(err): // Logged once; nothing is sent meanwhile.
			_ = retry.Sleep(ctx, min(firstFollowWait, f.blocks.Poll()))
		default:
			if wait == firstFollowWait { // Logged once, however long it lasts.
				f.cfg.Log.WithField("block", at.number).Warnf("the chain does not answer, trying again: %v", err)
			}
			_ = retry.Sleep(ctx, wait)
			wait = min(2*wait, f.cfg.LongestWait)
		}
	}
}

// FollowHeads is Follow without the logs: the node is never asked for any. Of the blocks that are far behind
// the newest it delivers only the last.
func (f *Follower[E]) FollowHeads(
	ctx context.Context, from events.Cursor,
	deliver func(context.Context, events.ChainUpdateOf[E]) error,
) error {
	heads := *f
	heads.readers = nil
	return heads.Follow(ctx, from, deliver)
}

// silence closes the connection when there was no new block for too long.
func (f *Follower[E]) silence(ctx context.Context, w *watchdog) {
	l, err := f.conn.Current(ctx)
	if err != nil {
		return // The next call reports it.
	}
	now := time.Now()
	silent, first := w.silent(l.Since(), now)
	if !silent {
		return
	}
	if first {
		f.cfg.Log.WithField("endpoint", l.Endpoint()).Warnf(
			"no new block for %s, where one usually comes every %s: reconnecting",
			now.Sub(w.news).Round(time.Second), w.blockTime.Round(time.Millisecond))
	}
	f.conn.LeaveSilent(l)
}

// deliverError marks an error of the consumer.
type deliverError struct{ err error }

func (e *deliverError) Error() string { return e.err.Error() }

// advance delivers everything up to the newest block.
func (f *Follower[E]) advance(
	ctx context.Context, at *cursor, watch *watchdog, deliver func(context.Context, events.ChainUpdateOf[E]) error,
) error {
	hand := func(u events.ChainUpdateOf[E]) error {
		if err := deliver(ctx, u); err != nil {
			return &deliverError{err}
		}
		return nil
	}
	for {
		head, err := f.conn.Latest(ctx)
		if err != nil {
			return err
		}
		if pause, ended := watch.saw(uint64(head.Number), time.Now()); ended {
			f.cfg.Log.WithField("block", uint64(head.Number)).Infof("there are new blocks again, after %s",
				pause.Round(time.Second))
		}
		if at.hash == (common.Hash{}) {
			if err := f.begin(ctx, at, head); err != nil {
				return err
			}
		}
		if err := f.rewind(ctx, at, head, hand); err != nil {
			return err
		}
		if at.hash == head.Hash { // A consumer that has just begun need not wait for a new block to know the newest.
			if at.told {
				return nil
			}
			at.told = true
			return hand(events.ChainUpdateOf[E]{Head: head.Head(), Live: true})
		}
		if uint64(head.Number) <= at.number {
			return fmt.Errorf("%w: block %d of its chain, after block %d", ErrNotYet, uint64(head.Number), at.number)
		}
		if uint64(head.Number) > at.number+reorgDepth {
			err = f.leap(ctx, at, uint64(head.Number)-reorgDepth, hand)
		} else {
			err = f.walk(ctx, at, head, hand)
		}
		if err != nil || at.hash == head.Hash {
			return err
		}
	}
}

// rewind compares the cursor with the chain. If another block has its number, or it never existed, it
// announces that and moves back to the last block that is still there. A node that has not reached
// the cursor yet is ErrNotYet: it merely lags behind another node, and nothing was reorganised.
func (f *Follower[E]) rewind(
	ctx context.Context, at *cursor, head *rpc.Header, hand func(events.ChainUpdateOf[E]) error,
) error {
	if uint64(head.Number) >= at.number {
		same, err := holds(ctx, f.conn, at.number, at.hash)
		if same || err != nil {
			return err
		}
	} else if !at.impossibleBeside(head) {
		if behind, err := f.behind(ctx, at, uint64(head.Number)); behind || err != nil {
			return errors.Join(err, notAt(head, at))
		}
	}
	ancestor, err := f.ancestor(ctx, at, uint64(head.Number))
	if err != nil {
		return err
	}
	gone := &messages.ChainReorganized{
		Ancestor: uint64(ancestor.Number), AncestorHash: events.Hash(ancestor.Hash).String(),
	}
	for _, number := range slices.Sorted(maps.Keys(at.recent)) {
		if number > uint64(ancestor.Number) {
			gone.Dropped = append(gone.Dropped, events.Hash(at.recent[number]).String())
		}
	}
	if err := hand(events.ChainUpdateOf[E]{Reorganized: gone, Head: ancestor.Head()}); err != nil {
		return err
	}
	maps.DeleteFunc(at.recent, func(n uint64, _ common.Hash) bool { return n > uint64(ancestor.Number) })
	at.move(ancestor)
	return nil
}

// behind says whether a shorter chain may be the same one: the newest remembered block in its range
// is still there, or none is remembered.
func (f *Follower[E]) behind(ctx context.Context, at *cursor, head uint64) (bool, error) {
	numbers := slices.Sorted(maps.Keys(at.recent))
	below, _ := slices.BinarySearch(numbers, head+1)
	if below == 0 {
		return true, nil
	}
	return holds(ctx, f.conn, numbers[below-1], at.recent[numbers[below-1]])
}

// holds says whether a block that was seen is on the chain. Only another one with its number says that it is not.
func holds(ctx context.Context, c *rpc.Conn, number uint64, hash common.Hash) (bool, error) {
	block, err := seen(c.ByNumber(ctx, number))
	return err == nil && block.Hash == hash, err
}

// seen makes it ErrNotYet that a node does not have a block which was seen.
func seen(block *rpc.Header, err error) (*rpc.Header, error) {
	if errors.Is(err, ethereum.NotFound) {
		err = fmt.Errorf("%w: %w", ErrNotYet, err)
	}
	return block, err
}

// ancestor is the newest remembered block that is still on the chain. If there is none, everything
// is read again from before the oldest remembered one.
func (f *Follower[E]) ancestor(ctx context.Context, at *cursor, newest uint64) (*rpc.Header, error) {
	numbers := slices.Sorted(maps.Keys(at.recent))
	for _, number := range slices.Backward(numbers) {
		if number > newest {
			continue
		}
		block, err := seen(f.conn.ByNumber(ctx, number))
		if err != nil {
			return nil, err
		}
		if block.Hash == at.recent[number] {
			return block, nil
		}
	}
	oldest := min(numbers[0], newest)
	return seen(f.conn.ByNumber(ctx, oldest-min(oldest, reorgDepth)))
}

// walk delivers the blocks after the cursor one by one, and reads them by hash, so that an update
// never mixes two branches.
func (f *Follower[E]) walk(
	ctx context.Context, at *cursor, head *rpc.Header, hand func(events.ChainUpdateOf[E]) error,
) error {
	blocks, err := f.headers(ctx, at.number+1, uint64(head.Number))
	if err != nil {
		return err
	}
	for i, block := range blocks {
		if why := conflict(block, blocks[:i], head); why != nil {
			return f.conn.Disbelieve(ctx, fmt.Sprintf("for block %d", uint64(block.Number)), why)
		}
		if block.Parent != at.hash {
			if i > 0 {
				return nil // A reorganisation in between: the next round handles it.
			}
			return gap(block, at)
		}
		found, err := f.logsOf(ctx, block)
		if err != nil {
			return err
		}
		logs, err := f.translate(ctx, found, func(common.Hash) *rpc.Header { return block })
		if err != nil {
			return err
		}
		u := events.ChainUpdateOf[E]{Head: block.Head(), Logs: logs, Live: block.Hash == head.Hash}
		if err := hand(u); err != nil {
			return err
		}
		at.told = true
		at.move(block)
	}
	if len(blocks) == 0 {
		return notAt(head, at)
	}
	return nil
}

// gap is the error for a block that should follow the last delivered one and does not.
func gap(block *rpc.Header, at *cursor) error {
	return fmt.Errorf("%w: block %d on block %d", errGap, uint64(block.Number), at.number)
}

// conflict says why a block cannot exist beside those before it, or beside the newest one.
func conflict(block *rpc.Header, before []*rpc.Header, newest *rpc.Header) error {
	if block.Hash == newest.Hash {
		if why := block.Conflict(newest); why != nil {
			return why
		}
	}
	if len(before) == 0 {
		return nil
	}
	return block.Conflict(before[len(before)-1])
}

// headers reads the blocks from first to last, as far as the chain goes.
func (f *Follower[E]) headers(ctx context.Context, first, last uint64) ([]*rpc.Header, error) {
	blocks, err := f.conn.HeadersBetween(ctx, first, last)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(blocks, nil); i >= 0 {
		return blocks[:i], nil // The chain has become shorter.
	}
	return blocks, nil
}
