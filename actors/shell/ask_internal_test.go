package shell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// asking is an actor that answers a number with its double, "later" when it is told "now",
// and "twice" with two answers.
func asking() Behavior {
	var later Answer
	return behaviorFunc(func(a *Turn, msg any) {
		switch m := msg.(type) {
		case int:
			a.Asker()(2*m, nil)
		case string:
			switch m {
			case "later":
				later = a.Asker()
			case "now":
				later(7, nil)
			case "twice":
				a.Asker()(1, nil)
				a.Asker()(2, nil)
			case "refused":
				a.Asker()(nil, errDiskBusy)
			}
		}
	})
}

func TestAQuestionIsAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		r := rt.Root("asked", asking())
		if v, err := AskActor[int](r, 21).Wait(t.Context()); v != 42 || err != nil {
			t.Errorf("answered %d, %v", v, err)
		}
		if v, err := AskActor[int](r, "twice").Wait(t.Context()); v != 1 || err != nil {
			t.Errorf("of two answers %d, %v", v, err)
		}
		if _, err := AskActor[int](r, "refused").Wait(t.Context()); !errors.Is(err, errDiskBusy) {
			t.Errorf("refused with %v", err)
		}
		if _, err := AskActor[string](r, 21).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "int") {
			t.Errorf("another type: %v", err)
		}
		r.Tell(21) // Nobody asked, so nothing happens.
		synctest.Wait()
	})
}

// A caller that stops waiting may wait for the answer again.
func TestAQuestionOutlivesAnImpatientWait(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		r := rt.Root("asked", asking())
		q := AskActor[int](r, "later")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errDiskBusy)
		if _, err := q.Wait(ctx); !errors.Is(err, errDiskBusy) {
			t.Errorf("given up with %v", err)
		}
		r.Tell("now")
		if v, err := q.Wait(t.Context()); v != 7 || err != nil {
			t.Errorf("answered %d, %v", v, err)
		}
		if _, open := rt.system.ProcessRegistry.Get(q.asked.pid); open {
			t.Error("an answered question still waits for an answer")
		}
	})
}

// An address leads to its actor, and the zero address to nobody.
func TestAnAddressLeadsToItsActor(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		r := rt.Root("asked", asking())
		if v, err := AskActor[int](rt.At(r.Address()), 4).Wait(t.Context()); v != 8 || err != nil {
			t.Errorf("answered %d, %v", v, err)
		}
		if !rt.At(r.Address()).Is(r) || !rt.At(Ref{}.Address()).Nobody() {
			t.Error("an address leads elsewhere")
		}
	})
}
