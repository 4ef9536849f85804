// Package shelltest holds what tests of actors share: a runtime in fake time, a clock, a silent
// log, and actors made of one function. It is for tests only.
package shelltest

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/shell"
)

// QuietLog discards everything.
func QuietLog() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// Bubble runs a test in fake time with a runtime that ends with it.
func Bubble(t *testing.T, test func(t *testing.T, rt *shell.Runtime)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rt := shell.NewRuntime(context.Background(), QuietLog())
		test(t, rt)
		rt.Kill()
		time.Sleep(time.Minute) // The actor library's last timers run out.
	})
}

// Clock is the clock of a bubble.
type Clock struct{}

// Now is the bubble's time.
func (Clock) Now() time.Time { return time.Now() }

// After calls f once after d, unless it is stopped.
func (Clock) After(d time.Duration, f func()) func() {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// NoYield lets a task go on at once.
func NoYield(context.Context, string) {}

// BehaviorFunc is an actor of one function.
type BehaviorFunc func(a *shell.Turn, msg any)

// Receive calls it.
func (f BehaviorFunc) Receive(a *shell.Turn, msg any) { f(a, msg) }
