package actors_test

import (
	"context"
	"encoding/binary"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/events"
)

// announced are that many requests of one slot.
func announced(n int) []events.Request {
	out := make([]events.Request, n)
	for i := range out {
		out[i] = long(0, 1)
		binary.BigEndian.PutUint64(out[i].ID[8:], uint64(i)+1)
	}
	return out
}

// about returns the requests that the events of one type are about, in their order.
func (r *rig) about(name string) (out []string) {
	r.Helper()
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if e.Type == name {
			out = append(out, e.Meta.Correlation)
		}
	}
	return out
}

// mustBeJudgedOnce checks that each announced request was refused exactly once, in the order of
// the market.
func (r *rig) mustBeJudgedOnce(n int) {
	r.Helper()
	said, refused := r.about("ChainStorageRequested"), r.about("SlotsRefused")
	if len(said) != n || len(refused) != n {
		r.Fatalf("%d of %d requests were judged", len(refused), n)
	}
	for i, id := range refused {
		if id != said[i] {
			r.Fatalf("request %d is %s, want %s", i, id, said[i])
		}
	}
}

// partly counts how often the market's stream is read from somewhere in it, and records no refusals until it is released.
type partly struct {
	events.Store
	parts    atomic.Int64
	released chan struct{}
}

func (s *partly) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if batch[0].Type == "SlotsRefused" {
		<-s.released
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func (s *partly) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if strings.HasPrefix(stream, "market-") && q.From > 0 && !q.Backward {
		s.parts.Add(1)
	}
	return s.Store.ReadStream(ctx, stream, q)
}

// More is announced at once than waits in memory (maxNews): the rest is read from the market's
// stream. The list itself is tested with 100,000.
func TestMoreAnnouncementsThanTheQueueHoldsAreAllJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("10,500 requests")
	}
	inWorld(t, func(r *rig) {
		const flood = 10_500
		s := &partly{Store: r.store, released: make(chan struct{})}
		r.ports.Store = s
		r.start()
		r.world.PostAll(announced(flood)) // Nobody offers anything: all are refused.
		synctest.Wait()
		close(s.released)
		synctest.Wait()
		r.mustBeJudgedOnce(flood)
		if s.parts.Load() == 0 {
			r.Fatal("all of them were held")
		}
	})
}

// What was said while the queue's record could not be written is judged by the next process.
func TestAStartJudgesWhatTheProcessBeforeDidNotComeTo(t *testing.T) {
	inWorld(t, func(r *rig) {
		const flood = 100
		s := &silentQueue{Store: r.store}
		r.ports.Store = s
		r.start()
		r.world.PostAll(announced(flood))
		synctest.Wait()
		r.host.Kill()
		if n := len(r.about("SlotsRefused")); n != 0 || len(r.about("ChainStorageRequested")) != flood {
			r.Fatalf("%d were judged before the restart", n)
		}
		r.ports.Store = s.Store
		r.start()
		r.mustBeJudgedOnce(flood)
	})
}

// silentQueue never answers appends of refusals.
type silentQueue struct{ events.Store }

func (s *silentQueue) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if batch[0].Type == "SlotsRefused" {
		<-ctx.Done()
		return events.AppendResult{}, ctx.Err()
	}
	return s.Store.Append(ctx, stream, e, batch)
}

// Somebody writes to the queue's stream while requests are being judged: what was
// decided ahead is void, and is decided again.
func TestNoAnnouncementIsLostWhenTheRecordMoves(t *testing.T) {
	inWorld(t, func(r *rig) {
		const flood = 300
		m := &movingStore{Store: r.store, stream: events.SlotQueueStream(r.ports.Market.Account())}
		r.ports.Store = m
		r.start()
		r.world.PostAll(announced(flood))
		synctest.Wait()
		if m.moved == 0 {
			r.Fatal("nothing moved")
		}
		r.mustBeJudgedOnce(flood)
	})
}

// movingStore lets another append win now and then.
type movingStore struct {
	events.Store
	stream       string
	calls, moved int
}

func (s *movingStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if stream == s.stream && batch[0].Type == "SlotsRefused" {
		if s.calls++; s.calls%2 == 1 && s.moved < 3 {
			s.moved++
			return events.AppendResult{}, events.ErrWrongRevision
		}
	}
	return s.Store.Append(ctx, stream, e, batch)
}
