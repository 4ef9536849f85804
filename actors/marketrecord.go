package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// scanEvery is how many blocks without logs pass before the cursor is stored again. It bounds
// what a restart has to scan.
const scanEvery = 1_000

// scanEveryOfMembers is scanEvery in a host of several members: the others learn from the record up
// to which block the logs are in it.
const scanEveryOfMembers = 16

// recentScans is how many stored block hashes the feed gets, to find the common ancestor after
// a reorganisation that happened while the host was down.
const recentScans = 64

// marketRecord is the stream of what the market's contract said.
type marketRecord struct {
	*chainview.Chain
	*health.Alerts
	chainFeed   port.ChainFeed
	root        *shell.Part
	stream      string
	genesis     events.Hash
	finalBlocks uint64
	scanEvery   uint64        // how many blocks without logs pass before the cursor is stored again
	unreadRetry time.Duration // the pause before a record that cannot be read is tried again
	// namesGenesis: each scan of blocks must name the genesis. Set before the chain is followed.
	namesGenesis bool
	// unread says why the end of the stream cannot be read; nil: it can.
	unread atomic.Pointer[health.PartStatus]
}

// chainFollower passes on each new block at once, and the contract's logs as soon as it has
// written them into the market's stream. It is that stream's single writer.
//
// While the event store is away it follows the blocks alone, so that proofs are still sent.
// Logs are dropped; when the store is back they are read again from where the record ends.
type chainFollower struct {
	*marketRecord
	revision uint64 // number of events in the stream
	scanned  uint64 // the last block of a stored BlocksScanned

	// late is the work on the store that is still waiting; until it ends, only the block of
	// each update is used.
	late *storeWork
}

// chainNews is the newest block or a reorganisation, both told at once, or the contract's logs,
// told once they are recorded.
type chainNews struct {
	head        events.Head
	live        bool
	reorganized *messages.ChainReorganized
	proofs      []*messages.ChainProofSubmitted // of all hosts, in the blocks up to head
	recorded    []queue.MarketNews
}

// run follows the chain until ctx ends, and starts again after any failure.
func (f *chainFollower) run(ctx context.Context) {
	followAgain(ctx, f.Base, "chain follower", "the chain", "follow", func() error { return f.followOnce(ctx) })
}

// followHeads follows the blocks alone until ctx ends.
func (r *marketRecord) followHeads(ctx context.Context) {
	followAgain(ctx, r.Base, "heads", "the blocks", "heads", func() error {
		return r.chainFeed.FollowHeads(ctx, r.View.Cursor(), func(ctx context.Context, u events.ChainUpdate) error {
			r.root.Tell(chainNews{head: u.Head, live: u.Live, reorganized: u.Reorganized})
			return ctx.Err()
		})
	})
}

// followAgain follows something until ctx ends, and after a pause begins again; at once after errCaughtUp.
func followAgain(ctx context.Context, b *shell.Base, who, what, key string, follow func() error) {
	for n := 1; ctx.Err() == nil; {
		rung := b.Bell.Next()
		err := b.RT.Guarded(who, follow)
		if errors.Is(err, errCaughtUp) {
			n = 1
		} else if ctx.Err() == nil {
			b.Log.Warnf("following %s was interrupted and begins again: %v", what, err)
			n, _ = b.Pause(ctx, key, n, rung)
		}
	}
}

// errCaughtUp ends a feed without the record: the store is back, and the chain is followed
// again from where the record ends.
var errCaughtUp = errors.New("the event store is back")

// followOnce follows the chain from where the record ends. While the record cannot be read or
// written, it follows the blocks alone.
func (f *chainFollower) followOnce(ctx context.Context) error {
	var cursor events.Cursor
	read := f.work(ctx, func(ctx context.Context, call *shell.StoreCall) error {
		err := call.Repeat(func() (err error) {
			cursor, err = f.cursor(ctx)
			return err
		})
		if err == nil && f.HasTerm != nil {
			err = f.HasTerm(ctx)
		}
		return err
	})
	if !read.ended(ctx) {
		return f.feed(ctx, f.View.Cursor(), read)
	}
	if errors.Is(read.err, shell.ErrUnreadable) {
		return f.withoutRecord(ctx, read.err)
	}
	if read.err != nil {
		return read.err
	}
	f.unread.Store(nil)
	f.ClearAbout(health.AlertPartDown, theRecord, "it can be read")
	return f.feed(ctx, cursor, nil)
}

// theRecord is what is down while the record of the market cannot be read.
const theRecord = "the record of the market"

// withoutRecord follows the blocks alone for a while, because the end of the market's stream
// cannot be read: hosted slots are proven, and nothing is sold.
func (f *chainFollower) withoutRecord(ctx context.Context, why error) error {
	if f.unread.Load() == nil {
		f.unread.Store(&health.PartStatus{
			Name: theRecord, Since: f.Clock.Now(), Reason: why.Error(),
		})
		f.RaiseAbout(health.AlertPartDown, theRecord, fmt.Sprintf("the market's events are not recorded: %v", why),
			"nothing is sold, and hosted slots are proven: check the record with `hostnode audit`; "+
				"the host tries again by itself")
	}
	pause := &storeWork{trouble: make(chan struct{}), done: make(chan struct{})}
	stop := f.Clock.After(f.unreadRetry, func() { close(pause.done) })
	defer stop()
	return f.feed(ctx, f.View.Cursor(), pause)
}

// feed follows the chain from a cursor, until the late work on the store has ended.
func (f *chainFollower) feed(ctx context.Context, from events.Cursor, late *storeWork) error {
	f.late = nil
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if late != nil {
		f.isLate(late, stop)
	}
	for n := 1; ; {
		rung, last := f.Bell.Next(), events.Head{Number: from.Number, Hash: from.Hash}
		err := f.chainFeed.Follow(feeding, from, func(ctx context.Context, u events.ChainUpdate) error {
			if err := f.follows(ctx, u, &last); err != nil {
				return err
			}
			return f.take(ctx, u, stop)
		})
		if f.late == nil {
			return err
		}
		if feeding.Err() != nil {
			break
		}
		f.Log.Warnf("following the chain without the event store was interrupted and begins again: %v", err)
		n, _ = f.Pause(feeding, "follow", n, rung)
		from = f.View.Cursor()
	}
	select { // Two tasks must never write the stream at once.
	case <-f.late.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.late.err != nil {
		return f.late.err
	}
	return errCaughtUp
}

// follows checks that an update can come after the last one, and remembers it as the last.
func (f *chainFollower) follows(ctx context.Context, u events.ChainUpdate, last *events.Head) error {
	if err := events.CheckUpdate(u, *last); err != nil {
		return err
	}
	if u.Reorganized == nil && last.Time.IsZero() {
		if err := f.checkHead(ctx, u.Head); err != nil {
			return err
		}
	}
	if r := u.Reorganized; r != nil {
		hash, err := events.ParseHash(r.GetAncestorHash())
		*last = events.Head{Number: r.GetAncestor(), Hash: hash}
		return err
	}
	*last = u.Head
	return nil
}

// checkHead checks a block against the newest known one; if that is no longer on the chain,
// against the block that replaced it.
func (f *chainFollower) checkHead(ctx context.Context, h events.Head) error {
	impossible := f.View.Possible(h)
	if impossible == nil {
		return nil
	}
	known := f.View.Now()
	at, err := f.Market.HeadAt(ctx, known.Number)
	if err != nil || at.Hash == known.Hash && at.Time.Equal(known.Time) {
		return impossible
	}
	if err := chainview.Beside(at, h); err != nil {
		return err
	}
	f.View.Forget(known)
	return nil
}

// cursor reads from the market's stream where the record ends.
func (f *chainFollower) cursor(ctx context.Context) (events.Cursor, error) {
	c := events.Cursor{Recent: map[uint64]events.Hash{}}
	f.revision, f.scanned = 0, 0
	backward := events.ReadStream{From: events.End, Backward: true}
	err := readAs(ctx, f.Base, f.stream, backward, func(r events.Recorded, m messages.MarketEvent) bool {
		f.revision = max(f.revision, r.Revision+1)
		return f.rewindCursor(&c, m)
	})
	if err != nil {
		return c, fmt.Errorf("read the cursor: %w", err)
	}
	f.scanned = c.Number
	return c, nil
}

// rewindCursor takes one event, newest first, and reports whether the cursor is complete.
func (f *chainFollower) rewindCursor(c *events.Cursor, e messages.MarketEvent) bool {
	switch e := e.(type) {
	case *messages.BlocksScanned:
		hash := events.Must(events.ParseHash(e.GetHash()))
		if c.Hash.Zero() {
			c.Number, c.Hash, c.Time = e.GetNumber(), hash, events.TimeFromMessage(e.GetTime())
		}
		if _, known := c.Recent[e.GetNumber()]; !known {
			c.Recent[e.GetNumber()] = hash
		}
		return len(c.Recent) >= recentScans
	case *messages.ChainReorganized:
		if c.Hash.Zero() {
			c.Number, c.Hash = e.GetAncestor(), events.Must(events.ParseHash(e.GetAncestorHash()))
		}
		return true // Earlier events may be of the branch that is gone.
	}
	return false
}

// take announces the newest block, stores the update, and passes it on.
func (f *chainFollower) take(ctx context.Context, u events.ChainUpdate, stop context.CancelCauseFunc) error {
	f.root.Tell(chainNews{head: u.Head, live: u.Live, reorganized: u.Reorganized, proofs: proofsOf(u.Logs)})
	if f.late != nil {
		return nil
	}
	w := f.work(f.RT.Context(), func(_ context.Context, call *shell.StoreCall) error { return f.keep(call, u) })
	if w.ended(ctx) {
		return w.err
	}
	f.isLate(w, stop)
	return ctx.Err()
}

// proofsOf are the proofs among logs.
func proofsOf(logs []messages.MarketEvent) (proofs []*messages.ChainProofSubmitted) {
	for _, l := range logs {
		if p, ok := l.(*messages.ChainProofSubmitted); ok {
			proofs = append(proofs, p)
		}
	}
	return proofs
}

// keep stores an update and passes on what it stored.
func (f *chainFollower) keep(call *shell.StoreCall, u events.ChainUpdate) error {
	if u.Reorganized != nil {
		if _, err := f.store(call, []messages.MarketEvent{u.Reorganized}); err != nil {
			return err
		}
		f.scanned = min(f.scanned, u.Reorganized.GetAncestor())
		f.tell(u.Reorganized.GetAncestor())
		return nil
	}
	batch := make([]messages.MarketEvent, 0, len(u.Logs)+1)
	for _, l := range u.Logs {
		if _, proof := l.(*messages.ChainProofSubmitted); !proof { // Our own proofs are recorded by the sales.
			batch = append(batch, l)
		}
	}
	first := f.revision
	logs := len(batch)
	if logs == 0 && u.Head.Number < f.scanned+f.scanEvery {
		f.tell(u.Head.Number)
		return nil
	}
	scanned := &messages.BlocksScanned{
		Number: u.Head.Number, Hash: u.Head.Hash.String(), Time: events.TimeToMessage(u.Head.Time),
	}
	if first == 0 || f.namesGenesis {
		scanned.Genesis = new(f.genesis.String())
	}
	batch = append(batch, scanned)
	ids, err := f.store(call, batch)
	if err != nil {
		return err
	}
	f.scanned = u.Head.Number
	f.tell(u.Head.Number)
	var news []queue.MarketNews
	for i, e := range batch[:logs] {
		news = append(news, queue.MarketNews{Revision: first + uint64(i) + 1, ID: ids[i], Event: e})
	}
	if len(news) > 0 {
		f.root.Tell(chainNews{recorded: news})
	}
	return nil
}

// tell announces up to which block the logs are recorded, and wakes those who wait for it. The
// view knows the block already.
func (f *chainFollower) tell(number uint64) {
	f.Recorded.Store(number)
	f.View.Wake()
}

// store appends in pieces small enough for every store, and repeats each until it is stored.
// It returns the ids of the events.
func (f *chainFollower) store(call *shell.StoreCall, batch []messages.MarketEvent) ([]events.EventID, error) {
	ids := make([]events.EventID, 0, len(batch))
	for len(batch) > 0 {
		encoded, err := f.encode(batch)
		if err != nil {
			return nil, fmt.Errorf("store what the chain said: %w", err)
		}
		if err := call.Append(f.Store, events.ExpectNext(f.revision), encoded); err != nil {
			return nil, fmt.Errorf("store what the chain said: %w", err)
		}
		for _, e := range encoded {
			ids = append(ids, e.ID)
		}
		f.revision += uint64(len(encoded))
		batch = batch[len(encoded):]
	}
	return ids, nil
}

// encode encodes as many events as fit into one append.
func (f *chainFollower) encode(batch []messages.MarketEvent) ([]events.NewEvent, error) {
	var encoded []events.NewEvent
	bytes := 0
	for i, e := range batch[:min(len(batch), events.PreferredAppendEvents)] {
		name, version, data, err := f.Codec.Encode(e)
		if err != nil {
			return nil, err
		}
		cause := fmt.Sprintf("%s@%d/%d", logID(e), f.revision, f.Epoch)
		meta := f.Metadata(ledger.RequestOf(e))
		meta.Version, meta.Cause = version, logID(e)
		stored := events.NewEvent{
			ID: events.NewEventID(f.stream, cause, i), Type: name, Data: data, Meta: meta,
		}
		if bytes += stored.Size(); i > 0 && bytes > events.PreferredAppendBytes {
			break
		}
		encoded = append(encoded, stored)
	}
	return encoded, nil
}

// logID identifies the log behind an event by block hash and index.
func logID(e messages.MarketEvent) string {
	if m, ok := e.(interface{ GetLog() *messages.ChainLog }); ok {
		return fmt.Sprintf("log:%s:%d", m.GetLog().GetBlockHash(), m.GetLog().GetIndex())
	}
	return "chain"
}

// storeWork is a task that waits for the event store.
type storeWork struct {
	trouble <-chan struct{} // closed when the store stops answering
	done    chan struct{}   // closed when the work has ended
	err     error           // set before
}

// work runs a task that needs the store, beside the feed.
func (f *chainFollower) work(ctx context.Context, task func(context.Context, *shell.StoreCall) error) *storeWork {
	call := f.StoreWatch.Call(ctx, f.stream)
	call.Trouble = make(chan struct{})
	w := &storeWork{trouble: call.Trouble, done: make(chan struct{})}
	f.RT.Do("chain follower", func(context.Context) { // If the runtime has stopped, the task never begins and ctx ends.
		w.err = f.RT.Guarded("chain follower", func() error { return task(ctx, call) })
		close(w.done)
		call.End()
	})
	return w
}

// ended waits until the work has ended, or is known to wait for the store; it reports which.
func (w *storeWork) ended(ctx context.Context) bool {
	select {
	case <-w.done:
		return true
	case <-w.trouble:
	case <-ctx.Done():
	}
	select { // Both may be the case.
	case <-w.done:
		return true
	default:
		return false
	}
}

// isLate remembers that the work on the store is late, and stops the feed when it ends.
func (f *chainFollower) isLate(w *storeWork, stop context.CancelCauseFunc) {
	f.late = w
	f.RT.Do("chain follower", func(ctx context.Context) {
		select {
		case <-w.done:
			stop(errCaughtUp)
		case <-ctx.Done():
		}
	})
}

// certainBlocks is how many blocks must follow a block until no reorganisation replaces it:
// more than Ethereum needs to make one final.
const certainBlocks = 128

// ofChain is what a market's stream says of its chain.
type ofChain struct {
	// genesis is the hash that the stream names; empty when it names none.
	genesis string
	// always: each scan must name the genesis, because the stream begins with one that does
	// not, and nobody looks for it in the middle.
	always bool
	// oldest is the oldest recorded block that no recorded reorganisation removed; zero: none.
	oldest events.Head
}

// sameChain refuses a market whose stream is of another chain. A chain that was started anew
// has the same id, and maybe its contract at the same address; its blocks would look like a
// reorganisation of all that is recorded, or like a node that is behind.
func (r *marketRecord) sameChain(ctx context.Context) error {
	var told ofChain
	err := askStore(ctx, r.Base, func() (err error) {
		told, err = r.chainOf(ctx)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read the market's record: %w", err)
	case err != nil: // Hosted slots are proven all the same; the follower reports what is wrong.
		r.Log.Warnf("could not read which chain %s belongs to: %v", r.stream, err)
		return nil
	case told.genesis == "" && told.always:
		return r.hasBlock(ctx, told.oldest)
	case told.genesis != "" && told.genesis != r.genesis.String():
		return fmt.Errorf("%w: %s belongs to a chain with genesis %s, this chain has %s",
			ErrOtherChain, r.stream, told.genesis, r.genesis)
	}
	r.namesGenesis = told.always
	return nil
}

// hasBlock refuses a chain that has another block where the stream of an older build has this
// one. Only a chain that has it is named from now on.
func (r *marketRecord) hasBlock(ctx context.Context, b events.Head) error {
	if b.Hash.Zero() {
		return nil
	}
	at, err := r.Market.HeadAt(ctx, b.Number)
	var newest events.Head
	if err == nil {
		newest, err = r.Market.Head(ctx)
	}
	switch {
	case err != nil: // The node may be behind.
		r.Log.Warnf("could not compare block %d of %s with the chain; the next start does: %v", b.Number, r.stream, err)
	case at.Hash == b.Hash:
		r.namesGenesis = true
	case newest.Number >= b.Number+max(certainBlocks, r.finalBlocks):
		return fmt.Errorf("%w: block %d of %s is %s, this chain with genesis %s has %s there, which no reorganisation "+
			"explains: it is %d blocks old", ErrOtherChain, b.Number, r.stream, b.Hash, r.genesis, at.Hash,
			newest.Number-b.Number)
	}
	return nil
}

// chainOf reads what a market's stream says of its chain. As a rule the first scan says all.
func (r *marketRecord) chainOf(ctx context.Context) (told ofChain, err error) {
	err = readAs(ctx, r.Base, r.stream, events.ReadStream{}, func(_ events.Recorded, m messages.MarketEvent) bool {
		scanned, ok := m.(*messages.BlocksScanned)
		if ok {
			told.genesis, told.always = scanned.GetGenesis(), scanned.GetGenesis() == ""
		}
		return ok
	})
	if err != nil || !told.always {
		return told, err
	}
	newest, kept := true, ^uint64(0) // kept is the newest block that is not removed by what follows.
	backward := events.ReadStream{From: events.End, Backward: true}
	err = readAs(ctx, r.Base, r.stream, backward, func(_ events.Recorded, m messages.MarketEvent) bool {
		switch m := m.(type) {
		case *messages.BlocksScanned:
			if newest {
				told.genesis, newest = m.GetGenesis(), false
			}
			if m.GetNumber() <= kept {
				told.oldest = events.Head{Number: m.GetNumber(), Hash: events.Must(events.ParseHash(m.GetHash()))}
			}
		case *messages.ChainReorganized:
			kept = min(kept, m.GetAncestor())
		}
		return told.genesis != ""
	})
	return told, err
}
