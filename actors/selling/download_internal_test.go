package selling

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

var errDiskBusy = errors.New("the disk is busy")

// trying gives up a download after ten minutes.
func trying() *Deps {
	base := &shell.Base{RetryMost: 30 * time.Second, Clock: shelltest.Clock{}}
	return &Deps{
		Rules: &admission.Rules{Chain: chainview.New(base, nil, duty.Margin{})}, GiveUpDownload: 10 * time.Minute,
	}
}

func TestADownloadIsGivenUpWhenNothingNewComesForTooLong(t *testing.T) {
	tests := []struct {
		name string
		try  func(ctx context.Context, s *watchdog) error
		// How long it is tried before it is given up.
		want time.Duration
	}{
		{"a source that hangs", func(ctx context.Context, _ *watchdog) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, 10 * time.Minute},
		{"tries that fail after a minute", func(ctx context.Context, _ *watchdog) error {
			return errors.Join(shell.Sleep(ctx, shelltest.Clock{}, time.Minute), errDiskBusy)
		}, 10 * time.Minute},
		{"a block after nine minutes, then none", func() func(context.Context, *watchdog) error {
			came := false
			return func(ctx context.Context, s *watchdog) error {
				if err := shell.Sleep(ctx, shelltest.Clock{}, 9*time.Minute); err != nil || came {
					return errors.Join(err, errDiskBusy)
				}
				came = true
				s.arrived(sale.Instant{Machine: time.Now()}, 1)
				return errDiskBusy
			}
		}(), 19 * time.Minute},
		{"the same bytes granted again and again", func(ctx context.Context, s *watchdog) error {
			err := shell.Sleep(ctx, shelltest.Clock{}, 4*time.Minute)
			s.granted(time.Now(), 5)
			return errors.Join(err, errDiskBusy)
		}, 14 * time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
				s, began := &watchdog{}, time.Now()
				for {
					stalled, err := s.watch(t.Context(), trying(), 1, func(ctx context.Context) error { return test.try(ctx, s) })
					if err == nil {
						t.Fatal("it succeeded")
					}
					if stalled {
						break
					}
					if time.Since(began) > time.Hour {
						t.Fatal("it is never given up")
					}
				}
				if took := time.Since(began); took != test.want {
					t.Fatalf("given up after %s, want %s", took, test.want)
				}
			})
		})
	}
}

func TestAnOutageBetweenTwoTriesIsNotHeldAgainstTheClient(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
		s := &watchdog{}
		fails := func(context.Context) error { return errDiskBusy }
		for range 3 {
			if stalled, _ := s.watch(t.Context(), trying(), 1, fails); stalled {
				t.Fatal("given up after an outage")
			}
			time.Sleep(5 * time.Hour) // The event store is away, or the machine sleeps.
		}
		if idle := s.idleFor(time.Now()); idle > 2*trying().RetryMost {
			t.Fatalf("%s count as idle", idle)
		}
	})
}

func TestAnotherAttemptHasPatienceOfItsOwn(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
		s := &watchdog{}
		hangs := func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if stalled, err := s.watch(t.Context(), trying(), 1, hangs); !stalled || !errors.Is(err, errStalled) {
			t.Fatalf("stalled %t: %v", stalled, err)
		}
		if stalled, _ := s.watch(t.Context(), trying(), 2, func(context.Context) error { return events.ErrNoSource }); stalled {
			t.Fatal("the second attempt was given up for the first")
		}
		if !s.reachesNobody() {
			t.Fatal("that no source was reached is forgotten")
		}
	})
}

func TestAWindowIsOpenWhenAFillJustFitsBeforeTheExpiry(t *testing.T) {
	start := time.Unix(1_700_000_000, 0).UTC()
	rapid.Check(t, func(t *rapid.T) {
		var q admission.MayReserve
		q.Host[0], q.Slot[0] = rapid.Byte().Draw(t, "host"), rapid.Byte().Draw(t, "slot")
		q.Request.Expiry, q.MinFill = time.Hour, time.Duration(rapid.IntRange(0, 3600).Draw(t, "fill"))*time.Second
		q.ExpiresAt, q.EndsAt = start.Add(time.Hour), start.Add(24*time.Hour)
		q.Repair = rapid.Bool().Draw(t, "repair")
		q.Now = q.ExpiresAt
		if q.Repair {
			q.Now = q.EndsAt
		}
		q.Now = q.Now.Add(-q.MinFill)
		if p := admission.ReserveInWindow(q); !p.Open(q.Now) {
			t.Fatalf("at %s: %s", q.Now, p.Reason)
		}
		if p := admission.ReserveInWindow(q); p.Opens.Before(start) || !admission.ReserveAlways(q).Open(q.Now) {
			t.Fatalf("opens at %s, before the request", p.Opens)
		}
	})
}
