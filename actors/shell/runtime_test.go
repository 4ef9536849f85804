package shell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestAPanicOfAChildReachesItsParentAndStopsTheChild(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var failed []ChildFailed
		var child Ref
		heard := 0
		rt.Root("parent", behaviorFunc(func(a *Turn, msg any) {
			switch m := msg.(type) {
			case Started:
				child = a.Spawn("child", behaviorFunc(func(_ *Turn, msg any) {
					switch msg {
					case "panic":
						panic("on purpose")
					case "more":
						heard++
					}
				}))
			case ChildFailed:
				failed = append(failed, m)
			}
		}))
		synctest.Wait()
		child.Tell("more")
		child.Tell("panic")
		synctest.Wait()
		child.Tell("more")
		synctest.Wait()
		if len(failed) != 1 || !failed[0].Child.Is(child) || !strings.Contains(failed[0].Err.Error(), "on purpose") {
			t.Fatalf("the parent heard %v", failed)
		}
		if heard != 1 {
			t.Fatalf("the child handled %d messages, want the one before its panic", heard)
		}
	})
}

// begins is a behavior that has begun what is to be ended.
type begins struct{ ended *int }

func (b begins) Receive(_ *Turn, msg any) {
	if msg == "panic" {
		panic("on purpose")
	}
}

func (b begins) Ended() { *b.ended++ }

func TestAnActorThatPanicsOrIsStoppedEndsWhatItHasBegun(t *testing.T) {
	for name, end := range map[string]func(Ref){
		"panics":     func(r Ref) { r.Tell("panic") },
		"is stopped": Ref.Stop,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, rt *Runtime) {
				var child Ref
				ended := 0
				rt.Root("parent", behaviorFunc(func(a *Turn, msg any) {
					if msg == (Started{}) {
						child = a.Spawn("child", begins{&ended})
					}
				}))
				synctest.Wait()
				child.Tell("more")
				synctest.Wait()
				if ended != 0 {
					t.Fatal("it was ended")
				}
				end(child)
				synctest.Wait()
				if ended == 0 {
					t.Error("what it has begun goes on")
				}
			})
		})
	}
}

func TestAfterAKillNothingIsDelivered(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		heard := 0
		r := rt.Root("any", behaviorFunc(func(_ *Turn, msg any) {
			if msg == "hello" {
				heard++
			}
		}))
		var ended error
		rt.Do("task", func(ctx context.Context) {
			<-ctx.Done()
			ended = ctx.Err()
			r.Tell("hello") // The last message of a task.
		})
		r.Tell("hello")
		synctest.Wait()
		rt.Kill()
		if !errors.Is(ended, context.Canceled) {
			t.Fatalf("kill returned while a task ran: %v", ended)
		}
		r.Tell("hello")
		began := false
		rt.Do("task", func(context.Context) { began = true })
		synctest.Wait()
		if heard != 1 || began {
			t.Fatalf("%d messages were delivered, a task began: %t", heard, began)
		}
	})
}

// An actor that answers the end of its tasks with another task must not keep
// the host from stopping.
func TestAStopHandlesNoMessageAndBeginsNoTask(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		answers, late := 0, 0
		asking := rt.Root("asking", behaviorFunc(func(a *Turn, msg any) {
			switch msg {
			case "ask":
				self := a.Self
				a.Do(func(ctx context.Context) {
					<-ctx.Done()
					self.Tell("answer")
				})
			case "answer":
				answers++
			}
		}))
		goOn := make(chan struct{})
		slow := rt.Root("slow", behaviorFunc(func(a *Turn, msg any) {
			if msg == "work" {
				<-goOn
				a.Do(func(context.Context) { late++ })
			}
		}))
		asking.Tell("ask")
		slow.Tell("work")
		synctest.Wait()
		go func() {
			synctest.Wait() // The stop waits for the turn that has not ended.
			close(goOn)
		}()
		rt.Halt(slow)
		rt.Halt(asking)
		if answers+late > 0 {
			t.Fatalf("after the stop %d answers were handled and %d tasks begun", answers, late)
		}
	})
}

func TestTheZeroRefSwallowsWhatItIsTold(t *testing.T) {
	Ref{}.Tell("anything")
	Ref{}.Stop()
	if (Ref{}).Is(Ref{}) {
		t.Fatal("nobody is nobody")
	}
}
