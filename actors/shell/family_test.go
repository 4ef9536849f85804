package shell

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// family is an actor with two children, "a" and "b", that panic, and call broken, when they are told to.
type family struct {
	*Family[string]
	a, b   Child[string]
	broken map[string]func(error)
	lives  map[string]int
	ends   []string // how lives ended: the child, failures in a row, times left alone, pause
	forget bool     // what fails
	root   Ref
}

type (
	familyTurn  struct{ do func(a *Turn) }
	childPanics struct{}
)

var errBroken = errors.New("broken")

func newFamily(rt *Runtime, most int) *family {
	f := &family{broken: map[string]func(error){}, lives: map[string]int{}}
	f.a, f.b = Child[string]{Of: "a", Name: "a"}, Child[string]{Of: "b", Name: "b"}
	f.Family = &Family[string]{
		Base: &Base{RT: rt, Clock: fakeTime{}, RetryAfter: time.Second, RetryMost: 4 * time.Second},
		Most: most, Slow: func(n int) time.Duration { return time.Duration(n) * time.Hour }, Steady: 24 * time.Hour,
		Start: func(_ *Turn, of string, life int, broken func(error)) Behavior {
			f.broken[of], f.lives[of] = broken, life
			return behaviorFunc(func(_ *Turn, msg any) {
				if _, is := msg.(childPanics); is {
					panic("it panics")
				}
			})
		},
		Ended: func(of string, m Failure) bool {
			f.ends = append(f.ends, fmt.Sprintf("%s %d %d %v", of, m.InARow, m.Lefts, m.Pause >= time.Hour))
			return !f.forget
		},
	}
	f.root = rt.Root("parent", behaviorFunc(func(a *Turn, msg any) {
		if m, is := msg.(familyTurn); is {
			m.do(a)
			return
		}
		f.Handle(a, msg)
	}))
	return f
}

// turn does something in a turn of the parent.
func (f *family) turn(do func(a *Turn)) {
	f.root.Tell(familyTurn{do})
	synctest.Wait()
}

// sleep lets time pass. The parent takes a turn before, so that what a timer has it do comes after what the test looked at.
func (f *family) sleep(d time.Duration) {
	f.turn(func(*Turn) {})
	time.Sleep(d)
	synctest.Wait()
}

func (f *family) run() {
	f.turn(func(a *Turn) {
		f.Run(a, &f.a)
		f.Run(a, &f.b)
	})
}

func (f *family) panics(c *Child[string]) {
	f.turn(func(*Turn) { c.Ref().Tell(childPanics{}) })
}

func (f *family) ended(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.ends); diff != "" {
		t.Fatal(diff)
	}
	f.ends = nil
}

func TestAChildThatFailsIsStartedAgainAndThenLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		f := newFamily(rt, 2)
		f.run()
		for range 2 {
			f.panics(&f.a)
			f.sleep(5 * time.Second) // The longest usual pause.
		}
		f.panics(&f.a)
		f.ended(t, "a 1 0 false", "a 2 0 false", "a 3 1 true")
		if f.lives["a"] != 3 || f.lives["b"] != 1 || f.a.Left == "" || f.b.Left != "" || f.b.Ref().Nobody() {
			t.Fatalf("lives %v, left %q and %q", f.lives, f.a.Left, f.b.Left)
		}
		f.sleep(time.Hour + time.Second) // It is tried once.
		f.panics(&f.a)
		f.ended(t, "a 4 2 true")
		f.turn(func(a *Turn) { f.Run(a, &f.a) }) // An operator wants it; the pause ends nothing then.
		var was bool
		f.turn(func(*Turn) { was = f.Works(&f.a, true) })
		f.sleep(3 * time.Hour)
		if !was || f.lives["a"] != 5 || f.a.Left != "" {
			t.Fatalf("was left alone: %v; life %d, left %q", was, f.lives["a"], f.a.Left)
		}
		f.panics(&f.a)
		f.ended(t, "a 1 0 false")
	})
}

func TestAChildThatIsBrokenIsLeftAloneAtOnce(t *testing.T) {
	for most, want := range map[int]map[error]string{
		2: {errBroken: "a 1 1 true", ErrUnreadable: "a 1 1 true"},
		0: {errBroken: "a 1 0 false", ErrUnreadable: "a 1 1 true"},
	} {
		for err, want := range want {
			bubble(t, func(t *testing.T, rt *Runtime) {
				f := newFamily(rt, most)
				f.run()
				first := f.broken["a"]
				first(err)
				synctest.Wait()
				f.ended(t, want)
				if !f.a.Ref().Nobody() {
					t.Fatal("it runs")
				}
				first(err) // Its life is over.
				f.turn(func(a *Turn) { f.Run(a, &f.a) })
				first(err)
				synctest.Wait()
				f.ended(t)
				if f.a.Ref().Nobody() {
					t.Fatal("an earlier life ended this one")
				}
			})
		}
	}
}

func TestAChildThatIsStoppedOrForgottenIsNotStartedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		f := newFamily(rt, 2)
		f.run()
		f.panics(&f.a)
		f.turn(func(*Turn) { f.Stop(&f.a) }) // In its pause.
		f.forget = true
		f.panics(&f.b)
		f.sleep(time.Hour)
		if f.lives["a"] != 1 || f.lives["b"] != 1 {
			t.Fatalf("lives %v", f.lives)
		}
		f.ended(t, "a 1 0 false", "b 1 0 false")
	})
}

func TestFailuresAreForgottenOfAChildThatRanForLong(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		f := newFamily(rt, 1)
		f.run()
		f.panics(&f.a)
		time.Sleep(25 * time.Hour)
		f.panics(&f.a)
		f.ended(t, "a 1 0 false", "a 1 0 false")
	})
}
