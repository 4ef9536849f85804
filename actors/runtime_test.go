package actors

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
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
