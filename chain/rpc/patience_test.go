package rpc

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestASlowNodeGetsMoreTimeUntilItNeedsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patience{usual: 3 * time.Second}
		is := func(what string, want time.Duration) {
			t.Helper()
			if got := p.limit(); got != want {
				t.Fatalf("%s: %s, want %s", what, got, want)
			}
		}
		is("at first", 3*time.Second)
		for range 4 { // They were sent together.
			p.note(3*time.Second, 3*time.Second, true)
		}
		is("after messages that were late together", 6*time.Second)
		p.note(6*time.Second, 6*time.Second, true)
		p.note(12*time.Second, 12*time.Second, true)
		p.note(24*time.Second, 24*time.Second, true)
		is("a node that never answers", 24*time.Second)
		for range 20 {
			time.Sleep(time.Minute)
			p.note(24*time.Second, 13*time.Second, false)
			p.note(24*time.Second, time.Millisecond, false)
		}
		is("while it is needed", 24*time.Second)
		for range 50 {
			time.Sleep(time.Minute)
			p.note(24*time.Second, time.Millisecond, false)
		}
		is("after an hour of quick answers", 3*time.Second)
		p.note(3*time.Second, 3*time.Second, true)
		p.forget()
		is("a node that was away", 3*time.Second)
	})
}
