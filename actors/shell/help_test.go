package shell

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quietLog discards everything.
func quietLog() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// bubble runs a test in fake time with a runtime that ends with it.
func bubble(t *testing.T, test func(t *testing.T, rt *Runtime)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rt := NewRuntime(context.Background(), quietLog())
		defer func() {
			rt.Kill()
			time.Sleep(time.Minute) // The actor library's last timers run out.
		}()
		test(t, rt)
	})
}

// fakeTime is the clock of a bubble.
type fakeTime struct{}

func (fakeTime) Now() time.Time { return time.Now() }

func (fakeTime) After(d time.Duration, f func()) func() {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// noYield lets a task go on at once.
func noYield(context.Context, string) {}

// behaviorFunc is an actor of one function.
type behaviorFunc func(a *Turn, msg any)

func (f behaviorFunc) Receive(a *Turn, msg any) { f(a, msg) }
