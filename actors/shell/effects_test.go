package shell

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
)

// doer is an actor that has effects done. Their calls end when the test says so, or when they are cancelled.
type doer struct {
	*Effects[int, string]
	wanted    []string
	leftovers bool
	mu        sync.Mutex // calls run at once
	begun     map[string]int
	ends      map[string]chan error
	follows   func(a *Turn, w *Work[string], err error)
	ended     []string
	deaf      bool // calls do not notice that they are cancelled
	root      Ref
}

func newDoer(rt *Runtime) *doer {
	d := &doer{begun: map[string]int{}, ends: map[string]chan error{}}
	d.follows = func(*Turn, *Work[string], error) {}
	d.Effects = &Effects[int, string]{
		Base: &Base{RT: rt, Clock: fakeTime{}, RetryAfter: time.Second, RetryMost: time.Hour}, Name: "doer", Act: d.act,
		Ended: func(a *Turn, w *Work[string], _ int, err error) {
			d.ended = append(d.ended, w.Key)
			d.follows(a, w, err)
		},
	}
	d.root = rt.Root("doer", behaviorFunc(func(a *Turn, msg any) {
		if m, is := msg.(familyTurn); is {
			m.do(a)
			return
		}
		d.Handle(a, msg)
	}))
	return d
}

func (d *doer) act(a *Turn) {
	d.leftovers = d.Keep(func(key string) bool { return slices.Contains(d.wanted, key) })
	for _, key := range d.wanted {
		d.Begin(a, key, events.EventID{}, d.call(key))
	}
}

func (d *doer) call(key string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		end := make(chan error)
		d.mu.Lock()
		d.begun[key]++
		d.ends[key] = end
		d.mu.Unlock()
		if d.deaf {
			return 0, <-end
		}
		select {
		case err := <-end:
			return 0, err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (d *doer) turn(do func(a *Turn)) {
	d.root.Tell(familyTurn{do})
	synctest.Wait()
}

// sleep is as for a family.
func (d *doer) sleep(by time.Duration) {
	d.turn(func(*Turn) {})
	time.Sleep(by)
	synctest.Wait()
}

func (d *doer) want(keys ...string) {
	d.turn(func(a *Turn) {
		d.wanted = keys
		d.act(a)
	})
}

func (d *doer) end(key string, err error) {
	d.ends[key] <- err
	synctest.Wait()
}

func TestAnEffectIsBegunOnceWhileItIsWanted(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		d := newDoer(rt)
		d.want("a", "b")
		d.want("a", "b")
		d.end("a", nil) // Nothing follows: it waits.
		d.want("a", "b")
		if d.begun["a"] != 1 || d.begun["b"] != 1 || !slices.Equal(d.ended, []string{"a"}) {
			t.Fatalf("begun %v, ended %v", d.begun, d.ended)
		}
		d.want("b")
		d.want("a", "b") // It is wanted anew.
		if d.begun["a"] != 2 || d.begun["b"] != 1 {
			t.Fatalf("begun %v", d.begun)
		}
	})
}

func TestAnEffectThatIsNotWantedIsCancelledAndWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		d := newDoer(rt)
		d.deaf = true
		d.want("a")
		d.want()
		d.want("a") // Its call has not ended.
		if w := d.Of("a"); w == nil || !w.Unwanted() || d.begun["a"] != 1 {
			t.Fatalf("begun %v, leftovers %v, %+v", d.begun, d.leftovers, w)
		}
		d.end("a", errors.New("late"))
		if d.begun["a"] != 2 || len(d.ended) != 0 {
			t.Fatalf("begun %v, told of %v", d.begun, d.ended)
		}
		d.end("a", nil)
	})
}

func TestAReportThatChangesNothingIsFollowedByAnotherTry(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		d := newDoer(rt)
		var done func(bool)
		d.follows = func(a *Turn, w *Work[string], _ error) { d.Report(a, w, func(f func(bool)) { done = f }) }
		d.want("a")
		for n := range 3 {
			d.end("a", nil)
			d.want() // It is on its way into the record.
			d.want("a")
			d.turn(func(*Turn) { done(false) })
			if d.begun["a"] != n+1 {
				t.Fatal("it is begun before a pause")
			}
			d.sleep(time.Second << n)
			if d.begun["a"] != n+2 {
				t.Fatalf("begun %v after %d pauses", d.begun, n+1)
			}
		}
		d.end("a", nil)
		d.turn(func(a *Turn) {
			done(true)
			d.act(a)
		})
		if d.begun["a"] != 5 {
			t.Fatalf("begun %v: what is wanted after a change is new work", d.begun)
		}
		d.turn(func(*Turn) { done(true) }) // An answer to what is over.
		if d.Of("a") == nil {
			t.Fatal("it was forgotten")
		}
	})
}

func TestCancelEndsAllCalls(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		d := newDoer(rt)
		d.want("a", "b")
		d.turn(func(*Turn) { d.Cancel() })
		if len(d.ended) != 2 {
			t.Fatalf("ended %v", d.ended)
		}
	})
}
