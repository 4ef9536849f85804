package selling

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// What ended a try decides what the client is blamed for, not how long the try takes to end
// after that.
func TestATryEndsForOneReason(t *testing.T) {
	const limit = 10 * time.Minute
	fails := errors.New("a source says no")
	tests := []struct {
		name    string
		meter   sale.PaceMeter
		missing int64         // of what arrives; negative: nothing does
		idle    time.Duration // from then to the end of the try
		stalled bool
		want    error
	}{
		{"too slow, and ended at once", sale.PaceMeter{Interval: time.Minute}, 1 << 20, 0, false, errSlow},
		{"too slow, and ended late", sale.PaceMeter{Interval: time.Minute}, 1 << 20, 2 * limit, false, errSlow},
		{"nothing new", sale.PaceMeter{}, -1, limit, true, fails},
		{"nothing new after something", sale.PaceMeter{}, 1, limit, true, fails},
		{"not for long", sale.PaceMeter{}, -1, limit - 1, false, fails},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clock := &handClock{now: time.Unix(1_700_000_000, 0)}
			e := &Deps{
				Rules:          &admission.Rules{Chain: chainview.New(&shell.Base{Clock: clock}, nil, duty.Margin{})},
				GiveUpDownload: limit,
			}
			clock.pass(0, e.View)
			s := &watchdog{}
			test.meter.By = clock.Now().Add(time.Hour)
			s.measure(1, test.meter)
			stalled, err := s.watch(t.Context(), e, 1, func(ctx context.Context) error {
				if test.missing >= 0 {
					s.arrived(e.instant(), events.Bytes(test.missing+1))
					clock.pass(5*time.Minute, e.View)
					s.arrived(e.instant(), events.Bytes(test.missing))
				}
				clock.pass(test.idle, e.View)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fails
			})
			if stalled != test.stalled || !errors.Is(err, test.want) {
				t.Fatalf("stalled %t, %v; slow %q", stalled, err, s.tooSlow())
			}
		})
	}
}
