package porttest

import (
	"context"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// FeedWorld is a chain with a marketplace that is followed. Each belongs to one test.
type FeedWorld struct {
	Feed port.ChainFeed
	// Post puts a request on the market. The contract logs it.
	Post func()
	// Mine seals blocks.
	Mine func(n int)
	// Reorganize replaces the newest n blocks by more.
	Reorganize func(n int)
	// Head is the newest block.
	Head func() events.Head
}

// Feed runs the suite of the feed's port, with the logs and without them.
func Feed(t *testing.T, newWorld func(t *testing.T) FeedWorld) {
	tests := map[string]func(*testing.T, *following){
		"blocks and logs are told in order":              blocksInOrder,
		"a reorganisation is told before what follows":   reorganisationFirst,
		"a cursor at the newest block is told once more": newestOnceMore,
		"a consumer that fails ends it":                  consumerFails,
		"it ends with its context":                       followUntilTheEnd,
	}
	for name, test := range tests {
		t.Run("Follow: "+name, func(t *testing.T) {
			w := newWorld(t)
			test(t, &following{FeedWorld: w, t: t, follow: w.Feed.Follow, logs: true})
		})
		t.Run("FollowHeads: "+name, func(t *testing.T) {
			w := newWorld(t)
			test(t, &following{FeedWorld: w, t: t, follow: w.Feed.FollowHeads})
		})
	}
}

// following is a world and its consumer.
type following struct {
	FeedWorld
	t      *testing.T
	follow func(context.Context, events.Cursor, func(context.Context, events.ChainUpdate) error) error
	logs   bool // they are wanted

	updates chan events.ChainUpdate
	ended   chan error
}

// begin follows from a cursor until end.
func (f *following) begin(from events.Cursor) (end func()) {
	ctx, end := context.WithCancel(f.t.Context())
	f.updates, f.ended = make(chan events.ChainUpdate), make(chan error, 1)
	go func() {
		f.ended <- f.follow(ctx, from, func(ctx context.Context, u events.ChainUpdate) error {
			select {
			case f.updates <- u:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return end
}

func (f *following) next() events.ChainUpdate {
	f.t.Helper()
	select {
	case u := <-f.updates:
		return u
	case err := <-f.ended:
		f.t.Fatalf("it ends with %v", err)
		return events.ChainUpdate{}
	}
}

// untilNewest are the updates until the newest block is told.
func (f *following) untilNewest() (all []events.ChainUpdate) {
	f.t.Helper()
	newest := f.Head()
	for {
		u := f.next()
		all = append(all, u)
		if u.Reorganized == nil && u.Head.Hash == newest.Hash {
			return all
		}
	}
}

func blocksInOrder(t *testing.T, f *following) {
	f.Post()
	f.Mine(2)
	defer f.begin(events.Cursor{})()
	all := f.untilNewest()
	f.Post()
	all = append(all, f.untilNewest()...)
	logs := 0
	for i, u := range all {
		if i > 0 && u.Head.Number <= all[i-1].Head.Number {
			t.Errorf("block %d is told after block %d", u.Head.Number, all[i-1].Head.Number)
		}
		logs += len(u.Logs)
	}
	if want := map[bool]int{true: 2}[f.logs]; logs != want {
		t.Errorf("%d logs, want %d", logs, want)
	}
	if last := all[len(all)-1]; !last.Live {
		t.Errorf("the newest block is not told as such: %+v", last)
	}
}

func reorganisationFirst(t *testing.T, f *following) {
	defer f.begin(events.Cursor{})()
	f.untilNewest()
	f.Mine(1)
	f.untilNewest()
	stays := f.Head()
	f.Mine(1)
	f.untilNewest()
	f.Mine(1)
	gone := f.Head()
	f.untilNewest()
	f.Reorganize(2)
	all := f.untilNewest()
	r := all[0].Reorganized
	if r == nil || r.GetAncestor() != stays.Number || r.GetAncestorHash() != stays.Hash.String() ||
		len(r.GetDropped()) != 2 || r.GetDropped()[0] == r.GetDropped()[1] {
		t.Fatalf("after %d blocks were replaced by others, it tells %+v", gone.Number-stays.Number, all[0])
	}
	for _, u := range all[1:] {
		if u.Reorganized != nil || u.Head.Number <= stays.Number || u.Head.Hash == gone.Hash {
			t.Errorf("afterwards it tells %+v", u)
		}
	}
}

func newestOnceMore(t *testing.T, f *following) {
	f.Post()
	head := f.Head()
	defer f.begin(events.Cursor{Number: head.Number, Hash: head.Hash, Time: head.Time})()
	if u := f.next(); u.Head != head || !u.Live || len(u.Logs) > 0 || u.Reorganized != nil {
		t.Fatalf("at the newest block it tells %+v", u)
	}
	f.Mine(1)
	if u := f.next(); u.Head != f.Head() || !u.Live {
		t.Fatalf("after the newest block it tells %+v", u)
	}
}

func consumerFails(t *testing.T, f *following) {
	errFull := errors.New("the consumer is full")
	err := f.follow(t.Context(), events.Cursor{}, func(context.Context, events.ChainUpdate) error { return errFull })
	if !errors.Is(err, errFull) {
		t.Fatalf("it ends with %v", err)
	}
}

func followUntilTheEnd(t *testing.T, f *following) {
	end := f.begin(events.Cursor{})
	f.untilNewest()
	end()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("it ends with %v", err)
	}
}
