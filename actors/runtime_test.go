package actors

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestAPanicOfAChildReachesItsParentAndStopsTheChild(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		var failed []childFailed
		var child ref
		heard := 0
		rt.root("parent", behaviorFunc(func(a *turn, msg any) {
			switch m := msg.(type) {
			case started:
				child = a.spawn("child", behaviorFunc(func(_ *turn, msg any) {
					switch msg {
					case "panic":
						panic("on purpose")
					case "more":
						heard++
					}
				}))
			case childFailed:
				failed = append(failed, m)
			}
		}))
		synctest.Wait()
		child.tell("more")
		child.tell("panic")
		synctest.Wait()
		child.tell("more")
		synctest.Wait()
		if len(failed) != 1 || !failed[0].child.is(child) || !strings.Contains(failed[0].err.Error(), "on purpose") {
			t.Fatalf("the parent heard %v", failed)
		}
		if heard != 1 {
			t.Fatalf("the child handled %d messages, want the one before its panic", heard)
		}
	})
}

func TestAfterAKillNothingIsDelivered(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		heard := 0
		r := rt.root("any", behaviorFunc(func(_ *turn, msg any) {
			if msg == "hello" {
				heard++
			}
		}))
		var ended error
		rt.do("task", func(ctx context.Context) {
			<-ctx.Done()
			ended = ctx.Err()
			r.tell("hello") // The last word of a task.
		})
		r.tell("hello")
		synctest.Wait()
		rt.kill()
		if !errors.Is(ended, context.Canceled) {
			t.Fatalf("kill returned while a task ran: %v", ended)
		}
		r.tell("hello")
		began := false
		rt.do("task", func(context.Context) { began = true })
		synctest.Wait()
		if heard != 1 || began {
			t.Fatalf("%d messages were delivered, a task began: %t", heard, began)
		}
	})
}

// An actor that answers the end of its tasks with another task must not keep
// the host from stopping.
func TestAStopHandlesNoMessageAndBeginsNoTask(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		answers, late := 0, 0
		asking := rt.root("asking", behaviorFunc(func(a *turn, msg any) {
			switch msg {
			case "ask":
				self := a.self
				a.do(func(ctx context.Context) {
					<-ctx.Done()
					self.tell("answer")
				})
			case "answer":
				answers++
			}
		}))
		goOn := make(chan struct{})
		slow := rt.root("slow", behaviorFunc(func(a *turn, msg any) {
			if msg == "work" {
				<-goOn
				a.do(func(context.Context) { late++ })
			}
		}))
		asking.tell("ask")
		slow.tell("work")
		synctest.Wait()
		go func() {
			synctest.Wait() // The stop waits for the turn that has not ended.
			close(goOn)
		}()
		rt.halt(slow)
		rt.halt(asking)
		if answers+late > 0 {
			t.Fatalf("after the stop %d answers were handled and %d tasks begun", answers, late)
		}
	})
}

func TestTheZeroRefSwallowsWhatItIsTold(t *testing.T) {
	ref{}.tell("anything")
	ref{}.stop()
	if (ref{}).is(ref{}) {
		t.Fatal("nobody is nobody")
	}
}

// chainOf answers HeadAt with a hash that says its number and branch.
type chainOf struct {
	Market
	branch byte
	during func()
	asked  []uint64
}

func (c *chainOf) HeadAt(_ context.Context, n uint64) (events.Head, error) {
	c.asked = append(c.asked, n)
	h := events.Head{Number: n, Hash: blockHash(n, c.branch), Time: time.Unix(int64(n), 0)}
	if c.during != nil {
		c.during()
	}
	return h, nil
}

func blockHash(n uint64, branch byte) events.Hash {
	return events.Hash{byte(n >> 8), byte(n), branch, 1} // None is zero, which no block has.
}

func TestChainViewKeepsHashesAndForgetsDroppedOnes(t *testing.T) {
	c := &chainOf{}
	v := newChainView(c)
	for n := uint64(10); n <= 12; n++ {
		v.advance(events.Head{Number: n, Hash: blockHash(n, 0), Parent: blockHash(n-1, 0)})
	}
	if h, ok := v.hash(9); !ok || h != blockHash(9, 0) {
		t.Fatalf("the parent of the first block is %v, %t", h, ok)
	}
	v.rewind(10)
	if _, ok := v.hash(12); ok {
		t.Fatal("a dropped block is known still")
	}
	if _, ok := v.hash(13); ok {
		t.Fatal("a block of the future is known")
	}
	if more, err := v.fetch(t.Context()); err != nil || !more || len(c.asked) != 1 || c.asked[0] != 12 {
		t.Fatalf("fetched %v: %t, %v", c.asked, more, err)
	}
	if h, ok := v.hash(12); !ok || h != blockHash(12, 0) {
		t.Fatalf("after the fetch block 12 is %v, %t", h, ok)
	}
	if more, err := v.fetch(t.Context()); err != nil || more {
		t.Fatalf("nothing is missing, and it fetched: %t, %v", more, err)
	}
}

func TestAHashThatAReorganisationOvertookIsNotKept(t *testing.T) {
	c := &chainOf{branch: 1}
	v := newChainView(c)
	v.advance(events.Head{Number: 20, Hash: blockHash(20, 1)})
	c.during = func() { v.rewind(5) } // The answer of the old branch is on its way.
	if _, err := v.lookUp(t.Context(), 8); !errors.Is(err, errOvertaken) {
		t.Fatalf("looked up: %v", err)
	}
	c.during, c.branch = nil, 2
	if h, err := v.lookUp(t.Context(), 8); err != nil || h != blockHash(8, 2) {
		t.Fatalf("the new branch's block is %v, %v", h, err)
	}
}

// After a reorganisation a block is compared with the one that has the place of the newest
// that was known, and not with nothing.
func TestABlockThatCannotBeIsNotTakenAfterAReorganisationEither(t *testing.T) {
	at := func(n uint64, branch byte) events.Head {
		return events.Head{Number: n, Hash: blockHash(n, branch), Time: time.Unix(int64(n), 0)}
	}
	f := &chainFollower{env: &env{view: newChainView(&chainOf{}), Ports: Ports{Market: &chainOf{branch: 2}}}}
	f.view.advance(at(20, 1))
	for _, h := range []events.Head{at(1<<40, 2), {Number: 21, Hash: blockHash(21, 2), Time: time.Unix(19, 0)}} {
		h.Time = time.Unix(min(h.Time.Unix(), 30), 0)
		if err := f.fits(t.Context(), h); !errors.Is(err, events.ErrImpossible) {
			t.Errorf("block %d of %s: %v", h.Number, h.Time, err)
		}
	}
	if err := f.fits(t.Context(), at(18, 2)); err != nil {
		t.Error(err)
	}
}

func TestChainViewBoundsWhatItKeeps(t *testing.T) {
	v := newChainView(&chainOf{})
	for n := uint64(1); n < 5*hashesKept; n++ {
		v.advance(events.Head{Number: n, Hash: blockHash(n, 0), Parent: blockHash(n-1, 0)})
	}
	if len(v.hashes) > 2*hashesKept+1 {
		t.Fatalf("%d hashes are kept", len(v.hashes))
	}
	if _, ok := v.hash(5*hashesKept - hashesKept); !ok {
		t.Fatal("a hash that a challenge may need is gone")
	}
}

// Who waits for the log of a block is woken when it is told, which is after the block is known.
func TestWaitingForTheLogEndsWhenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &chainFollower{env: &env{view: newChainView(&chainOf{})}}
		go func() {
			synctest.Wait()
			f.view.advance(events.Head{Number: 3})
			synctest.Wait()
			f.tell(3)
		}()
		if _, err := f.view.wait(t.Context(), func(events.Head) bool { return f.told.Load() >= 3 }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitingForABlockEndsWithItOrWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newChainView(&chainOf{})
		got := make(chan uint64, 1)
		go func() {
			h, err := v.wait(t.Context(), func(h events.Head) bool { return h.Number >= 3 })
			if err == nil {
				got <- h.Number
			}
		}()
		for n := uint64(1); n <= 3; n++ {
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("it woke before block %d", n)
			}
			v.advance(events.Head{Number: n})
		}
		if n := <-got; n != 3 {
			t.Fatalf("it woke at block %d", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := v.wait(ctx, func(events.Head) bool { return false }); !errors.Is(err, context.Canceled) {
			t.Fatalf("a wait without hope ended with %v", err)
		}
	})
}
