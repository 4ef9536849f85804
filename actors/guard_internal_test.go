package actors

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func TestAPanicOfATaskIsTheFailureOfItsActor(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		var failed []childFailed
		rt.root("parent", behaviorFunc(func(a *turn, msg any) {
			switch m := msg.(type) {
			case started:
				a.spawn("child", behaviorFunc(func(a *turn, msg any) {
					if _, ok := msg.(started); ok {
						a.do(func(context.Context) {
							during(Subject{SubjectMarket, "17"}, func() { panic("on purpose") })
						})
					}
				}))
			case childFailed:
				failed = append(failed, m)
			}
		}))
		synctest.Wait()
		if len(failed) != 1 || !strings.Contains(failed[0].err.Error(), "on purpose") ||
			failed[0].about != (Subject{SubjectMarket, "17"}) {
			t.Fatalf("the parent heard %+v", failed)
		}
	})
}

func TestAPanicOutsideOfActorsEndsNoProcess(t *testing.T) {
	bubble(t, func(_ *testing.T, rt *runtime) {
		rt.do("task", func(context.Context) { panic("on purpose") })
		guardedClock{fakeTime{}, rt}.After(time.Second, func() { panic("on purpose") })
		time.Sleep(2 * time.Second)
		synctest.Wait()
	})
}

func TestTheRootThatPanicsIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		var told error
		rt.rootFailed = func(err error) { told = err }
		r := rt.root("root", behaviorFunc(func(_ *turn, msg any) {
			if msg == "panic" {
				panic("on purpose")
			}
		}))
		r.tell("panic")
		synctest.Wait()
		if told == nil || !strings.Contains(told.Error(), "on purpose") {
			t.Fatalf("told: %v", told)
		}
	})
}

// Whoever asks a part that fails gets an answer, and so does who asks while it is down.
func TestWhoAsksAPartThatFailsIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		p := newPart("silent")
		ask := func() question[int] {
			return askPart(p, func(func(int, error)) any { return "never answered" })
		}
		if _, err := ask().wait(t.Context()); !errors.Is(err, ErrPartDown) {
			t.Fatalf("before its start: %v", err)
		}
		p.ref, p.gone = rt.root("silent", behaviorFunc(func(*turn, any) {})), make(chan struct{})
		asked := ask()
		p.mu.Lock()
		p.why = errDiskBusy
		close(p.gone)
		p.gone = nil
		p.mu.Unlock()
		for _, q := range []question[int]{asked, ask()} {
			if _, err := q.wait(t.Context()); !errors.Is(err, ErrPartDown) || !errors.Is(err, errDiskBusy) {
				t.Fatalf("after its failure: %v", err)
			}
		}
	})
}

// What is stored is never passed over: rules that panic on it make a broken record.
func TestAFoldThatPanicsIsABrokenRecord(t *testing.T) {
	bubble(t, func(t *testing.T, rt *runtime) {
		store := events.NewMemory()
		first := newCounter(store)
		tellNumbers(first.run(rt), &answers{}, 2, 4)
		synctest.Wait()
		second := newCounter(store)
		var broken error
		folded := 0
		second.evolve = func(_ uint64, e messages.CapacityEvent) uint64 {
			if folded++; folded > 2 { // Each is folded twice.
				panic("a bug in the fold")
			}
			return e.(*messages.QuotaSet).GetBytes()
		}
		second.onBroken = func(_ *turn, err error) { broken = err }
		second.run(rt)
		synctest.Wait()
		if !errors.Is(broken, errUnreadable) || !strings.Contains(broken.Error(), "revision 1") || second.loaded {
			t.Fatalf("broken: %v", broken)
		}
	})
}
