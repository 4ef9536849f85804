package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// scanEvery is how many blocks without logs pass before the cursor is stored
// again: it bounds what a restart has to scan (design §4).
const scanEvery = 1_000

// recentScans is how many stored block hashes are handed to the feed, so that
// it finds the common ancestor of a reorganisation that happened while the
// host was away.
const recentScans = 64

// chainFollower writes what the contract says into the market stream, and only
// then passes it on. It is the stream's single writer.
type chainFollower struct {
	*env
	stream   string
	revision uint64 // number of events in the stream
	scanned  uint64 // the last block of a stored BlocksScanned
	deliver  func(chainNews)
}

// chainNews is a piece of the chain that is in the record.
type chainNews struct {
	head        events.Head
	live        bool
	reorganized *messages.ChainReorganized
	news        []marketNews
}

// run follows the chain until ctx ends. Whatever fails is tried again.
func (f *chainFollower) run(ctx context.Context) {
	f.stream = events.MarketStream(f.ChainID, f.Contract)
	for n := 1; ctx.Err() == nil; n++ {
		cursor, err := f.cursor(ctx)
		if err == nil {
			err = f.Feed.Follow(ctx, cursor, f.take)
		}
		if ctx.Err() != nil {
			return
		}
		f.log.Warnf("following the chain stopped, and begins again: %v", err)
		_ = sleep(ctx, f.Clock, f.backoff("follow", n))
	}
}

// cursor reads where the record ends.
func (f *chainFollower) cursor(ctx context.Context) (events.Cursor, error) {
	c := events.Cursor{Recent: map[uint64]events.Hash{}}
	f.revision, f.scanned = 0, 0
	first := true
	for r, err := range f.Store.ReadStream(ctx, f.stream, events.ReadStream{From: events.End, Backward: true}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return c, nil
		}
		if err != nil {
			return c, fmt.Errorf("read the cursor: %w", err)
		}
		if first {
			f.revision, first = r.Revision+1, false
		}
		m, err := f.codec.Decode(r)
		if err != nil {
			return c, fmt.Errorf("read the cursor: %w", err)
		}
		if done := f.rewindCursor(&c, m.(messages.MarketEvent)); done {
			break
		}
	}
	f.scanned = c.Number
	return c, nil
}

// rewindCursor takes one event, newest first; true when the cursor is complete.
func (f *chainFollower) rewindCursor(c *events.Cursor, e messages.MarketEvent) bool {
	switch e := e.(type) {
	case *messages.BlocksScanned:
		hash := events.Must(events.ParseHash(e.GetHash()))
		if c.Hash.Zero() {
			c.Number, c.Hash = e.GetNumber(), hash
		}
		if _, known := c.Recent[e.GetNumber()]; !known {
			c.Recent[e.GetNumber()] = hash
		}
		return len(c.Recent) >= recentScans
	case *messages.ChainReorganized:
		if c.Hash.Zero() {
			c.Number, c.Hash = e.GetAncestor(), events.Must(events.ParseHash(e.GetAncestorHash()))
		}
		return true // What stands before it may be of the branch that is gone.
	}
	return false
}

// take stores an update and passes it on.
func (f *chainFollower) take(ctx context.Context, u events.ChainUpdate) error {
	if u.Reorganized != nil {
		if err := f.store(ctx, []messages.MarketEvent{u.Reorganized}); err != nil {
			return err
		}
		f.scanned = min(f.scanned, u.Reorganized.GetAncestor())
		f.deliver(chainNews{reorganized: u.Reorganized})
		return nil
	}
	batch := make([]messages.MarketEvent, 0, len(u.Logs)+1)
	for _, l := range u.Logs {
		if _, proof := l.(*messages.ChainProofSubmitted); !proof { // Our own are in the sales.
			batch = append(batch, l)
		}
	}
	first := f.revision
	logs := len(batch)
	if logs > 0 || u.Head.Number >= f.scanned+scanEvery {
		batch = append(batch, &messages.BlocksScanned{
			Number: u.Head.Number, Hash: u.Head.Hash.String(), Time: events.TimeToMessage(u.Head.Time),
		})
		if err := f.store(ctx, batch); err != nil {
			return err
		}
		f.scanned = u.Head.Number
	}
	news := chainNews{head: u.Head, live: u.Live}
	for i, e := range batch[:logs] {
		news.news = append(news.news, marketNews{revision: first + uint64(i) + 1, event: e})
	}
	f.deliver(news)
	return nil
}

// store appends in pieces that the store takes, and repeats until it does.
func (f *chainFollower) store(ctx context.Context, batch []messages.MarketEvent) error {
	const piece = 500 // A request is at most a few KiB, so a piece stays below the append limit.
	for len(batch) > 0 {
		n := min(piece, len(batch))
		encoded := make([]events.NewEvent, 0, n)
		for i, e := range batch[:n] {
			name, version, data, err := f.codec.Encode(e)
			if err != nil {
				return fmt.Errorf("store what the chain said: %w", err)
			}
			cause := fmt.Sprintf("%s@%d", logID(e), f.revision)
			meta := f.metadata(correlation(e))
			meta.Version, meta.Causation = version, logID(e)
			encoded = append(encoded, events.NewEvent{
				ID: events.NewEventID(f.stream, cause, i), Type: name, Data: data, Meta: meta,
			})
		}
		err := f.retry(ctx, "market", func(err error) { f.log.Warnf("store what the chain said: %v", err) },
			func(err error) bool { return errors.Is(err, events.ErrWrongRevision) },
			func(ctx context.Context) error {
				_, err := f.Store.Append(ctx, f.stream, events.ExpectNext(f.revision), encoded)
				return err
			})
		if err != nil {
			return err
		}
		f.revision += uint64(n)
		batch = batch[n:]
	}
	return nil
}

// logID names the chain log behind an event: block hash and index.
func logID(e messages.MarketEvent) string {
	if m, ok := e.(interface{ GetLog() *messages.ChainLog }); ok {
		return fmt.Sprintf("log:%s:%d", m.GetLog().GetBlockHash(), m.GetLog().GetIndex())
	}
	return "chain"
}

func correlation(e messages.MarketEvent) string {
	if m, ok := e.(interface{ GetRequestId() string }); ok {
		return m.GetRequestId()
	}
	return ""
}

// replay reads the part of the market stream after a revision, so that the
// queue can catch up on what it had not consumed.
func (f *chainFollower) replay(ctx context.Context, after uint64, deliver func(marketNews)) error {
	stream := events.MarketStream(f.ChainID, f.Contract)
	for r, err := range f.Store.ReadStream(ctx, stream, events.ReadStream{From: after}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := f.codec.Decode(r)
		if err != nil {
			return err
		}
		deliver(marketNews{r.Revision + 1, m.(messages.MarketEvent)})
	}
	return nil
}

// stalledAfter is how long, by the machine's clock, the chain may be silent
// before the host says that it does not sell.
const stalledAfter = time.Minute
