package chain_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// heads follows the heads alone, as follow does with the logs.
func (w *world) heads(f port.ChainFeed, from events.Cursor) *diary {
	return w.follow(onlyHeads{f}, from)
}

// onlyHeads is a feed whose logs nobody wants.
type onlyHeads struct{ port.ChainFeed }

func (f onlyHeads) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	return f.ChainFeed.FollowHeads(ctx, from, deliver)
}

// Far behind the newest block and near it, over a reorganisation and an outage of the node.
func TestHeadsAreFollowedWithoutAskingForLogs(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	w.request()
	w.seal(200)
	var asked atomic.Int64
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		for _, word := range []string{"Log", "Filter", "Receipts"} {
			if strings.Contains(r.Method, word) {
				asked.Add(1)
			}
		}
		return node(r)
	})
	d := w.heads(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	before := w.chain.Head()
	w.request()
	w.seal(1)
	w.caughtUp(d)
	if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
		t.Fatal(err)
	}
	w.seal(3)
	w.caughtUp(d)
	w.gate.set(true, false)
	w.seal(3)
	w.gate.set(false, false)
	w.caughtUp(d)
	if n := asked.Load(); n != 0 {
		t.Errorf("the node was asked for logs %d times", n)
	}
	if diff := cmp.Diff([]string{"reorganized: 2 dropped"}, d.read()); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
	followsItself(t, d.seen())

	d.finish(t)
	w.seal(1)
	again := w.heads(m.Feed(), d.at())
	w.caughtUp(again)
	if seen := again.seen(); len(seen) != 1 || !seen[0].Live || seen[0].Head != w.chain.Head() {
		t.Errorf("after its cursor it tells %+v", seen)
	}
	w.caughtUp(w.follow(m.Feed(), events.Cursor{}))
	if asked.Load() == 0 {
		t.Error("questions for logs are not counted")
	}
}

// followsItself checks that the numbers of blocks rise, one by one except at the beginning, and that a
// reorganisation comes before what replaces it.
func followsItself(t *testing.T, updates []events.ChainUpdate) {
	t.Helper()
	for i, u := range updates[1:] {
		last := updates[i].Head
		switch {
		case u.Reorganized != nil:
			if u.Head.Number >= last.Number || u.Head.Number != u.Reorganized.GetAncestor() {
				t.Errorf("after block %d: %+v", last.Number, u)
			}
		case u.Head.Number != last.Number+1:
			t.Errorf("block %d is told after block %d", u.Head.Number, last.Number)
		}
	}
}

func TestConsumerOfHeadsThatFailsEndsThem(t *testing.T) {
	w := newWorld(t)
	errFull := errors.New("consumer is full")
	err := w.newHost("host").Feed().FollowHeads(t.Context(), events.Cursor{},
		func(context.Context, events.ChainUpdate) error { return errFull })
	if !errors.Is(err, errFull) {
		t.Fatalf("error %v, want the consumer's", err)
	}
}
