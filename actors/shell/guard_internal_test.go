package shell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func TestAPanicOfATaskIsTheFailureOfItsActor(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var failed []ChildFailed
		rt.Root("parent", behaviorFunc(func(a *Turn, msg any) {
			switch m := msg.(type) {
			case Started:
				a.Spawn("child", behaviorFunc(func(a *Turn, msg any) {
					if _, ok := msg.(Started); ok {
						a.Do(func(context.Context) {
							During(Subject{SubjectMarket, "17"}, func() { panic("on purpose") })
						})
					}
				}))
			case ChildFailed:
				failed = append(failed, m)
			}
		}))
		synctest.Wait()
		if len(failed) != 1 || !strings.Contains(failed[0].Err.Error(), "on purpose") ||
			failed[0].About != (Subject{SubjectMarket, "17"}) {
			t.Fatalf("the parent heard %+v", failed)
		}
	})
}

func TestAPanicOutsideOfActorsEndsNoProcess(t *testing.T) {
	bubble(t, func(_ *testing.T, rt *Runtime) {
		rt.Do("task", func(context.Context) { panic("on purpose") })
		GuardClock(fakeTime{}, rt).After(time.Second, func() { panic("on purpose") })
		time.Sleep(2 * time.Second)
		synctest.Wait()
	})
}

func TestTheRootThatPanicsIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var told error
		rt.RootFailed = func(err error) { told = err }
		r := rt.Root("root", behaviorFunc(func(_ *Turn, msg any) {
			if msg == "panic" {
				panic("on purpose")
			}
		}))
		r.Tell("panic")
		synctest.Wait()
		if told == nil || !strings.Contains(told.Error(), "on purpose") {
			t.Fatalf("told: %v", told)
		}
	})
}

// A caller that asks a part that fails gets an answer, and so does one that asks while it is down.
func TestWhoAsksAPartThatFailsIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		p := NewPart("silent")
		ask := func() Question[int] {
			return Ask[int](p, "never answered")
		}
		if _, err := ask().Wait(t.Context()); !errors.Is(err, ErrPartDown) {
			t.Fatalf("before its start: %v", err)
		}
		p.ref, p.gone = rt.Root("silent", behaviorFunc(func(*Turn, any) {})), make(chan struct{})
		asked := ask()
		p.mu.Lock()
		p.why = errDiskBusy
		close(p.gone)
		p.gone = nil
		p.mu.Unlock()
		for _, q := range []Question[int]{asked, ask()} {
			if _, err := q.Wait(t.Context()); !errors.Is(err, ErrPartDown) || !errors.Is(err, errDiskBusy) {
				t.Fatalf("after its failure: %v", err)
			}
		}
	})
}

// Stored events are never skipped: if the rules panic on one, the record is broken.
func TestAFoldThatPanicsIsABrokenRecord(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		store := storetest.NewMemory()
		first := newCounter(store)
		tellNumbers(first.run(rt), &answers{}, 2, 4)
		synctest.Wait()
		second := newCounter(store)
		var broken error
		folded := 0
		second.Evolve = func(_ uint64, e messages.CapacityEvent) uint64 {
			if folded++; folded > 2 { // Each is folded twice.
				panic("a bug in the fold")
			}
			return e.(*messages.QuotaSet).GetBytes()
		}
		second.OnBroken = func(_ *Turn, err error) { broken = err }
		second.run(rt)
		synctest.Wait()
		if !errors.Is(broken, ErrUnreadable) || !strings.Contains(broken.Error(), "revision 1") || second.Loaded {
			t.Fatalf("broken: %v", broken)
		}
	})
}
