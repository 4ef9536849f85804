package alerting

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
)

// What may have ended before this process began is said once to be over; what lasts is not.
func TestWhatKeepsTransactionsBackIsClearedOnceItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var limited, unsigned atomic.Bool
		var cleared []string
		unsigned.Store(true)
		go clearSending(ctx, limited.Load, unsigned.Load, func(a health.Alert) { cleared = append(cleared, string(a.Kind)) })
		for _, step := range []struct {
			limited, unsigned bool
			want              string
		}{
			{false, true, "fee-limit"},
			{true, true, "fee-limit"},
			{false, true, "fee-limit fee-limit"},
			{false, false, "fee-limit fee-limit not-signing"},
			{false, false, "fee-limit fee-limit not-signing"},
		} {
			limited.Store(step.limited)
			unsigned.Store(step.unsigned)
			time.Sleep(lookEvery + time.Second)
			synctest.Wait()
			if got := strings.Join(cleared, " "); got != step.want {
				t.Errorf("%+v: cleared %s", step, got)
			}
		}
	})
}

// Without a signer nothing is said of one.
func TestAHostWithAKeyFileClearsNothingOfASigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go clearSending(ctx, func() bool { return false }, nil, func(a health.Alert) {
			if a.Kind != health.AlertFeeLimit {
				t.Errorf("cleared: %+v", a)
			}
		})
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}
