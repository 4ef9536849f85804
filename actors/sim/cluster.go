package sim

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// This file simulates an event store of three nodes that now and then do not agree, as seen
// through an adapter that knows what their answers are worth (events/esdb): a call with an
// unknown outcome is events.ErrAway, and may be done at once, later, or never.

// The troubles of a cluster, each of which lasts a while, drawn with random numbers of their own.
const (
	// leaderless: no append is taken, and no read from the leader is answered. deaf: reads go
	// on, so that only the refused appends show the trouble.
	leaderless = "no leader"
	deaf       = "not ready, and reads go on"
	// cutOff: a leader without its followers keeps the appends that it is sent, does not answer
	// them, and judges later ones by them. In the end all of them are committed, or none.
	cutOff = "leader cut off"
	// mute: the nodes drop an append, or write it and lose the answer, or recognise it and do
	// not answer.
	mute = "appends without an answer"
	// nodeStands: a follower stands still, and serves an old log to its readers. It
	// may come together with the others.
	nodeStands = "a follower stands still"
)

// What a cluster did to an append.
const (
	faultNotReady   = "append refused as not ready"
	faultTail       = "append not committed"
	faultJudged     = "append judged by what is not committed"
	faultDropped    = "append dropped"
	faultUnanswered = "append done without an answer"
	faultTruncated  = "append truncated"
	faultCommitted  = "append committed later"
)

// cluster is the store of a host. Its state changes between steps; appends come one at a time.
type cluster struct {
	*storetest.Memory // what is committed
	rng               *rand.Rand
	plant             Plant
	world             *world

	mu      sync.Mutex
	failure string // empty: none
	until   int    // the step at which it is over
	tail    []proposal
	// stands is where the log of the follower that stands still ends, until standsUntil; 0:
	// none stands still.
	stands      events.Position
	standsUntil int
	struck      []Fault        // since the simulator last looked
	begun       events.EventID // of the append that is to grow
}

// proposal is an append that a leader has in its log and has not committed.
type proposal struct {
	stream   string
	expected events.Expected
	batch    []events.NewEvent
}

// moveCluster lets the nodes of the event store disagree, or agree again.
func (s *simulator) moveCluster() {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != "" && (s.steps >= c.until || s.calm()) {
		s.note("the event store is well again")
		again := c.failure == cutOff && c.rng.IntN(2) == 0
		c.heal()
		if again && !s.calm() { // The old leader is gone, and the others elect a new one.
			c.failure, c.until = leaderless, s.steps+20+c.rng.IntN(80)
		}
	}
	if c.stands != 0 && (s.steps >= c.standsUntil || s.calm()) {
		c.stands = 0
	}
	for _, f := range c.struck {
		s.trouble(f.Kind, f.Where, "%s: %s", f.Kind, f.Where)
	}
	c.struck = nil
	if s.calm() {
		return
	}
	if c.rng.IntN(1000) < s.Cluster && c.failure == "" {
		c.failure = []string{leaderless, deaf, cutOff, mute}[c.rng.IntN(4)]
		c.until = s.steps + 50 + c.rng.IntN(550)
		s.trouble(c.failure, "world", "the event store: %s until step %d", c.failure, c.until)
	}
	if c.rng.IntN(1000) < s.Cluster && c.stands == 0 {
		c.stands, _ = c.Memory.Head(context.Background()) // Memory returns no errors here.
		c.standsUntil = s.steps + 50 + c.rng.IntN(550)
		s.trouble(nodeStands, "world", "a follower of the event store stands still at %d", c.stands)
	}
}

// heal joins the nodes again: the tail of the leader that was cut off is committed or
// truncated.
func (c *cluster) heal() {
	commit := c.rng.IntN(2) == 0
	for _, p := range c.tail {
		if !commit {
			c.strike(faultTruncated, p.stream)
			continue
		}
		c.strike(faultCommitted, p.stream)
		if _, err := c.Memory.Append(context.Background(), p.stream, p.expected, p.batch); err != nil {
			panic(err) // It was checked against everything before it.
		}
		busStore{c, c.world}.acknowledge(p.stream, false) // A host that died since does not know of it.
	}
	c.failure, c.tail = "", nil
}

func (c *cluster) strike(kind, stream string) {
	c.struck = append(c.struck, Fault{kind, events.Category(stream)})
}

// noOutcome is the error for an append whose outcome is unknown.
func noOutcome(why string) error { return fmt.Errorf("%w: %s", events.ErrAway, why) }

func (c *cluster) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, exact := expected.Count()
	if !c.plant.Growing || !exact || len(batch) < 2 || c.begun == batch[0].ID {
		return c.append(ctx, stream, expected, batch)
	}
	c.begun = batch[0].ID // It is appended alone, and together with the others if that gets no answer.
	if r, err := c.append(ctx, stream, expected, batch[:1]); err != nil {
		return r, err
	}
	return c.append(ctx, stream, events.Exact(first), batch[1:])
}

func (c *cluster) append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	lost := false
	switch c.failure {
	case leaderless, deaf:
		c.strike(faultNotReady, stream)
		if c.plant.Credulous {
			return events.AppendResult{}, nil
		}
		return events.AppendResult{}, noOutcome("Server Is Not Ready")
	case cutOff:
		return c.keep(ctx, stream, expected, batch)
	case mute:
		switch c.rng.IntN(4) {
		case 0:
			c.strike(faultDropped, stream)
			return events.AppendResult{}, noOutcome("no answer, and it is not written")
		case 1:
			lost = true
		}
	}
	r, err := c.Memory.Append(ctx, stream, expected, batch)
	if lost && err == nil {
		c.strike(faultUnanswered, stream)
		return events.AppendResult{}, noOutcome("no answer, and it is written")
	}
	return r, err
}

// keep is what a leader without followers does with an append, and what an adapter makes of its
// answer: a refusal because of uncommitted events does not count.
func (c *cluster) keep(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	committed := uint64(0)
	last := events.ReadStream{From: events.End, Backward: true, Limit: 1}
	for e, err := range c.Memory.ReadStream(ctx, stream, last) {
		if err == nil {
			committed = e.Revision + 1
		}
	}
	want, exact := expected.Count()
	if exact && want < committed { // It is judged by what is committed.
		return c.Memory.Append(ctx, stream, expected, batch)
	}
	count := committed
	for _, p := range c.tail {
		if p.stream != stream {
			continue
		}
		if slices.EqualFunc(p.batch, batch, func(a, b events.NewEvent) bool { return a.ID == b.ID }) {
			return events.AppendResult{}, noOutcome("an append that is known is not answered")
		}
		count += uint64(len(p.batch))
	}
	if exact && want != count {
		if count == committed {
			return events.AppendResult{}, &events.WrongRevisionError{
				Stream: stream, Expected: expected, Actual: max(count, 1) - 1, Exists: count > 0,
			}
		}
		c.strike(faultJudged, stream)
		return events.AppendResult{}, noOutcome("judged by what is not committed")
	}
	c.strike(faultTail, stream)
	c.tail = append(c.tail, proposal{stream, expected, batch})
	return events.AppendResult{}, noOutcome("not committed")
}

// view is the position up to which reads see, or an error when nobody answers: the leader shows
// all that is committed.
func (c *cluster) view() (events.Position, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.plant.Follower && c.stands != 0:
		return c.stands, nil
	case c.failure == leaderless:
		return 0, noOutcome("No leader info available in response")
	}
	return events.EndPosition, nil
}

func (c *cluster) seen(of iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		end, err := c.view()
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		for e, err := range of {
			if err == nil && e.Position > end {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (c *cluster) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return c.seen(c.Memory.ReadStream(ctx, stream, q))
}

func (c *cluster) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return c.seen(c.Memory.ReadAll(ctx, after, limit))
}

func (c *cluster) Head(ctx context.Context) (events.Position, error) {
	end, err := c.view()
	if err != nil {
		return 0, err
	}
	head, err := c.Memory.Head(ctx)
	return min(head, end), err
}
