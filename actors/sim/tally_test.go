package sim

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"sync"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// tally counts what one process asks, by what it asks of whom. Safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	asked map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[what]++
}

// sofar is what was counted until now.
func (c *tally) sofar() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.asked)
}

// The calls that are not named after a method of the market.
const (
	beginsLogs, endsLogs   = "feed.logs begun", "feed.logs ended"
	beginsHeads, endsHeads = "feed.heads begun", "feed.heads ended"
)

// talliedFeed tells following the logs from following the blocks alone.
type talliedFeed struct {
	port.ChainFeed
	*tally
}

func (f talliedFeed) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	f.add(beginsLogs)
	defer f.add(endsLogs)
	return f.ChainFeed.Follow(ctx, from, deliver)
}

func (f talliedFeed) FollowHeads(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	f.add(beginsHeads)
	defer f.add(endsHeads)
	return f.ChainFeed.FollowHeads(ctx, from, deliver)
}

// talliedStore counts the calls on the event store.
type talliedStore struct {
	events.Store
	*tally
}

func (s talliedStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.add("store.append " + events.Category(stream))
	return s.Store.Append(ctx, stream, expected, batch)
}

func (s talliedStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	s.add("store.read " + events.Category(stream))
	return s.Store.ReadStream(ctx, stream, q)
}

func (s talliedStore) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	s.add("store.read all")
	return s.Store.ReadAll(ctx, after, limit)
}

func (s talliedStore) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	s.add("store.subscribe")
	return s.Store.Subscribe(ctx, after)
}

func (s talliedStore) Head(ctx context.Context) (events.Position, error) {
	s.add("store.head")
	return s.Store.Head(ctx)
}

// talliedCluster counts the questions to other members.
type talliedCluster struct {
	port.Cluster
	*tally
}

func (c talliedCluster) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	var q struct{ Kind string }
	_ = json.Unmarshal(question, &q) // One without a kind counts, too.
	c.add("ask " + q.Kind)
	return c.Cluster.Call(ctx, to, question)
}
