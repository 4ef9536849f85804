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
	for _, how := range []mood{refuses, hangs} {
		inWorld(t, func(r *rig) {
			s := r.moody()
			r.start()
			s.set(how)
			time.Sleep(15 * time.Second)
			if a := r.away(); !a.Away {
				r.Fatalf("mood %d: the status says %+v", how, a)
			}
			s.set(well)
			time.Sleep(15 * time.Second)
			if a := r.away(); a.Away {
				r.Fatalf("mood %d: back, but the status says %+v", how, a)
			}
		})
	}
}

func TestAHostStartsWhenTheStoreIsBackAndNotTwice(t *testing.T) {
	for _, how := range []mood{refuses, forgets, hangs} {
		inWorld(t, func(r *rig) {
			s := r.moody()
			s.set(how)
			impatient, cancel := context.WithTimeout(r.Context(), time.Minute)
			defer cancel()
			if _, err := actors.Start(impatient, r.cfg, r.ports, silent()); !errors.Is(err, context.DeadlineExceeded) ||
				how == refuses && !errors.Is(err, events.ErrAway) {
				r.Fatalf("mood %d: %v", how, err)
			}
			go func() {
				time.Sleep(time.Minute)
				s.set(well)
			}()
			r.start()
			if n := r.count("HostStarted"); n != 1 {
				r.Fatalf("mood %d: %d starts", how, n)
			}
		})
	}
}

func TestAStopDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	for _, how := range []mood{refuses, hangs} {
		inWorld(t, func(r *rig) {
			s := r.moody()
			slot := r.hosting()
			s.leaveAt("ProofDue", how)
			r.mineUntil("the store goes", s.gone)
			r.mine(5)
			began := time.Now()
			err := r.host.Stop(context.Background())
			stream := events.SaleStream(r.ports.Market.Account(), slot)
			if !errors.Is(err, shell.ErrRecordAway) || !strings.Contains(err.Error(), stream) {
				r.Fatalf("mood %d: %v", how, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				r.Fatalf("mood %d: the stop took %s", how, took)
			}
			s.set(well)
			r.start()
			r.settled(slot)
		})
	}
}
