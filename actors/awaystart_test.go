package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

func TestAnIdleHostKnowsThatTheStoreIsAway(t *testing.T) {
	for _, how := range []failure{refuses, hangs} {
		inWorld(t, func(r *rig) {
			s := r.flaky()
			r.start()
			s.set(how)
			time.Sleep(15 * time.Second)
			if a := r.away(); !a.Away {
				r.Fatalf("failure %d: the status says %+v", how, a)
			}
			s.set(up)
			time.Sleep(15 * time.Second)
			if a := r.away(); a.Away {
				r.Fatalf("failure %d: back, but the status says %+v", how, a)
			}
		})
	}
}

func TestAHostStartsWhenTheStoreIsBackAndNotTwice(t *testing.T) {
	for _, how := range []failure{refuses, forgets, hangs} {
		inWorld(t, func(r *rig) {
			s := r.flaky()
			s.set(how)
			impatient, cancel := context.WithTimeout(r.Context(), time.Minute)
			defer cancel()
			if _, err := actors.Start(impatient, r.cfg, r.ports, silent()); !errors.Is(err, context.DeadlineExceeded) ||
				how == refuses && !errors.Is(err, events.ErrAway) {
				r.Fatalf("failure %d: %v", how, err)
			}
			go func() {
				time.Sleep(time.Minute)
				s.set(up)
			}()
			r.start()
			if n := r.count("HostStarted"); n != 1 {
				r.Fatalf("failure %d: %d starts", how, n)
			}
		})
	}
}

func TestAStopDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	for _, how := range []failure{refuses, hangs} {
		inWorld(t, func(r *rig) {
			s := r.flaky()
			slot := r.hosting()
			s.leaveAt("ProofDue", how)
			r.mineUntil("the store goes", s.gone)
			r.mine(5)
			began := time.Now()
			err := r.host.Stop(context.Background())
			stream := events.SaleStream(r.ports.Market.Account(), slot)
			if !errors.Is(err, shell.ErrStoreAway) || !strings.Contains(err.Error(), stream) {
				r.Fatalf("failure %d: %v", how, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				r.Fatalf("failure %d: the stop took %s", how, took)
			}
			s.set(up)
			r.start()
			r.settled(slot)
		})
	}
}
